"""Find the field in which a graph or a chain without messages takes the user's text, and the field of its reply."""

from __future__ import annotations

import inspect
import itertools
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from fairtrial.agents.graphs.graph_functions import read_keys, read_kind
from fairtrial.agents.plain import as_text
from fairtrial.errors import UsageError, nearest

TEXT, MESSAGE, MESSAGES = "(text)", "(message)", "(messages)"
"""The fields of a chain that takes the text itself, the latest message, or the list of all messages."""
_STATE = "messages"
_SCRATCHPAD = "agent_scratchpad"
_MEMORY = "history_factory_config"  # only a RunnableWithMessageHistory has it
_INPUTS = ("question", "input", "query", "prompt", "request", "user_input", "task", "topic", "text", "message")
_OUTPUTS = ("answer", "output", "response", "reply", "result", "final_answer", "final_output", "final_report")


def find_input(runnable: Any, asked: str = "") -> str:
    """Return the field that takes the user's text, or an empty text if it takes a state with `messages`.

    `TEXT`, `MESSAGE` and `MESSAGES` stand for a chain that takes no fields. `asked` is the field that the user names.
    Raises UsageError if the field cannot be known.
    """
    fields = _fields(runnable, asked)
    if fields is None or _STATE in fields:
        return ""
    if asked:
        if fields and asked not in fields:
            names = ", ".join(map(repr, fields))
            raise UsageError(
                f"input: must be a field of the state, {names}, got {asked!r}{nearest(asked, fields)}",
                code="unusable-agent",
            )
        return asked
    whole = next((name for name in (TEXT, MESSAGE, MESSAGES) if name in fields), "")
    if whole:
        return whole
    texts = [name for name, is_text in fields.items() if is_text]
    if len(texts) == 1:
        return texts[0]
    known = next((name for name in _INPUTS if name in texts), "")
    if not known:
        names = ", ".join(map(repr, fields)) or "nothing"
        raise UsageError(
            f"the state of a graph must hold 'messages', or a field for the user's text; its fields are {names}; name "
            "the field in a function that returns the pair of the graph and {'input': NAME}",
            code="unusable-agent",
        )
    return known


def find_reply(output: Any, before: Mapping[str, Any], asked: str = "", latest: str = "") -> str:
    """Return the reply in an output.

    It is the field that the user names, a field such as `answer`, or the `latest` field that the graph has written. A
    value that is no text is written as JSON.
    """
    if not isinstance(output, Mapping):
        return _write_text(output)
    names = (asked,) if asked else (*(name for name in _OUTPUTS if output.get(name) != before.get(name)), latest)
    for name in names:
        if name in output and output[name] is not None:
            return _write_text(output[name])
    return as_text({name: value for name, value in output.items() if value != before.get(name)})


def last_changed(state: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    """Return the last field whose value differs from an earlier state, or an empty text."""
    return next((name for name in reversed(list(state)) if state[name] is not earlier.get(name)), "")


def _write_text(value: Any) -> str:
    return as_text(value.text) if hasattr(value, "content_blocks") else as_text(value)


def list_variables(chain: Any) -> Sequence[str]:
    """Return the fields that a chain must get because its prompt has these variables."""
    first = next(iter(getattr(chain, "steps", ())), chain)
    variables = getattr(first, "input_variables", None)
    return variables if isinstance(variables, list) else ()


def find_history(chain: Any) -> str:
    """Return the field in which a chain takes the messages before the latest one, or an empty text.

    It is the only field that takes a list of messages, for example that of a `MessagesPlaceholder`. If the field is
    optional, its name must say `history`. It is never `agent_scratchpad`, which takes the calls of one turn.
    """
    if hasattr(chain, "stream_channels"):
        return ""
    schema = _read_schema(chain)
    lists = [
        name
        for name, own in (schema.get("properties") or {}).items()
        if own.get("type") == "array"
        and "HumanMessage" in as_text(own)
        and name != _SCRATCHPAD
        and (name in schema.get("required", ()) or "history" in name)
    ]
    return lists[0] if len(lists) == 1 else ""


def keeps_history(chain: Any) -> bool:
    """Whether a chain adds the earlier messages itself, so that it must get the new message only."""
    return any(hasattr(own, _MEMORY) for own in _list_runnables(chain))


def list_memory_keys(chain: Any) -> list[str]:
    """Return the keys of `configurable` that name a conversation for each `RunnableWithMessageHistory` in a chain.

    For example, `session_id`. A key is left out if the chain binds a value for it, or if its values are no texts.
    """
    runnables = list(_list_runnables(chain))
    configs = [config for own in runnables if isinstance(config := getattr(own, "config", None), dict)]
    bound = {key for config in configs for key in config.get("configurable") or {}}
    specs = [spec for own in runnables for spec in getattr(own, _MEMORY, ())]
    return [spec.id for spec in specs if spec.id not in bound and is_text(spec.annotation)]


def _list_runnables(chain: Any) -> Iterator[Any]:
    """Yield a chain and the runnables inside it. Nodes of graphs, functions and classes of users stay closed."""
    yield chain
    if not type(chain).__module__.startswith("langchain_core."):
        return
    branches = [runnable for _, runnable in getattr(chain, "branches", ())]
    steps = (*getattr(chain, "steps", ()), *getattr(chain, "steps__", {}).values())
    wrapped = (getattr(chain, name, None) for name in ("bound", "runnable", "default", "mapper"))
    for own in (*steps, *branches, *getattr(chain, "fallbacks", ()), *wrapped):
        if own is not None:
            yield from _list_runnables(own)


def _fields(runnable: Any, asked: str = "") -> dict[str, bool] | None:
    """Return the fields of the input, and whether each takes a text. It is None if nothing is known."""
    builder: Any = getattr(runnable, "builder", None)
    if isinstance(getattr(builder, "schemas", None), dict):
        channels = builder.schemas.get(getattr(builder, "input_schema", None)) or {}
        if not channels or "__root__" in channels:
            return None
        try:
            hints = typing.get_type_hints(builder.input_schema)
            return {name: is_text(hints.get(name, str)) for name in channels}
        except Exception:  # noqa: BLE001  (annotations are code of users)
            return dict.fromkeys(channels, True)
    return None if hasattr(runnable, "stream_channels") else _fields_of_chain(runnable, asked)


def _fields_of_chain(chain: Any, asked: str) -> dict[str, bool] | None:
    try:
        takes = _read_type(chain)
    except Exception:  # noqa: BLE001  (types are code of users)
        return None
    kind = read_kind(takes)
    if kind in ("any", "state") and any(_STATE in read_keys(function) for function in _list_functions(chain)):
        return {_STATE: False}
    properties = _read_schema(chain).get("properties") or {}
    if list(properties) == ["root"] and kind != "state":  # every branch of a parallel step gets the text
        return {TEXT: True}
    if properties and list(properties) != ["root"] and kind != "message":
        return {name: own.get("type", "string") == "string" for name, own in properties.items()}
    whole = {"text": TEXT, "message": MESSAGE, "messages": MESSAGES}.get(str(kind))
    if whole:
        return {whole: True}
    return _read_open_input(chain, kind, takes, asked)


def _read_open_input(chain: Any, kind: str | None, takes: Any, asked: str) -> dict[str, bool] | None:
    """Return the input of a chain whose type does not tell it, by its first step or by its function."""
    if kind == "any" and (inner := _first_step(chain)) is not None:
        return _fields_of_chain(inner, asked)
    function = _function(chain)
    if asked and (inspect.isroutine(function) or kind is None):
        return {asked: True}
    if kind is None:
        return _refuse(f"it takes {takes!r}")
    is_known = not inspect.isroutine(function) or (kind == "state" and not read_keys(function))
    return None if is_known else _read_function(function)


def _read_schema(chain: Any) -> dict[str, Any]:
    """Return the schema of the input. It is empty if its types are out of reach."""
    try:
        return dict(chain.get_input_jsonschema())
    except Exception:  # noqa: BLE001  (schemas are made by code of users)
        return {}


def _function(chain: Any) -> Any:
    return getattr(chain, "func", None) or getattr(chain, "afunc", None)


def is_function(chain: Any) -> bool:
    """Whether a runnable is a function of the user."""
    return _function(chain) is not None


def _list_functions(chain: Any) -> Iterator[Any]:
    """Yield the functions inside a chain that get its input, for example those of a parallel step."""
    function = _function(chain)
    if inspect.isroutine(function):
        yield function
    branches = [runnable for pair in getattr(chain, "branches", ()) for runnable in pair]
    steps = getattr(chain, "steps__", {})  # those of a parallel step
    inner = (_first_step(chain), getattr(chain, "mapper", None), *branches, *steps.values())
    for own in inner:
        if own is not None:
            yield from _list_functions(own)


def _read_type(chain: Any) -> Any:
    """Return the type of the input of a chain. LangChain leaves the annotation of a function unread."""
    if not isinstance(chain.InputType, str):
        return chain.InputType
    hints = typing.get_type_hints(_function(chain))
    return next((hint for name, hint in hints.items() if name != "return"), Any)


def _read_function(function: Any) -> dict[str, bool]:
    """Return the input of a function without a telling annotation, by the keys that it reads or by its parameter."""
    if keys := read_keys(function):
        return dict.fromkeys(keys, True)
    name = next(iter(inspect.signature(function).parameters), "")
    if "messages" in name or "history" in name:
        return {MESSAGES: True}
    if "state" in name or not name.strip("_"):
        return {_STATE: False}
    return {TEXT: True} if name in _INPUTS else _refuse(f"nothing says what its parameter {name!r} takes")


def _refuse(problem: str) -> typing.NoReturn:
    raise UsageError(
        f"the runnable must take a text, messages, or fields of which one is the user's text; {problem}; "
        "`.with_types(input_type=str)` says it, and a function that returns the pair of the runnable and "
        "{'input': NAME} names a field",
        code="unusable-agent",
    )


def _first_step(chain: Any) -> Any:
    """Return the runnable inside a chain that gets its input, or None. A passthrough hands the input on."""
    steps = list(getattr(chain, "steps", ()))
    if len(steps) > 1 and type(steps[0]).__name__ == "RunnablePassthrough":
        return steps[1]
    inner = (getattr(chain, name, None) for name in ("bound", "runnable", "default"))
    return steps[0] if steps else next((own for own in inner if own is not None), None)


def is_text(annotation: Any) -> bool:
    """Whether a field with an annotation takes a text, for example `str | None`."""
    return any(member in (str, Any) for member in list_types(annotation))


def list_types(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation allows, without names and constraints: `Annotated[str | None, …]` has two."""
    origin: Any = typing.get_origin(annotation)
    members: Iterable[Any] = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        yield from itertools.chain.from_iterable(map(list_types, members))
    elif origin is Annotated:
        yield from list_types(annotation.__origin__)
    elif isinstance(annotation, typing.NewType):
        yield from list_types(annotation.__supertype__)
    elif type(annotation).__name__ == "TypeAliasType":  # that of typing_extensions has another class
        yield from list_types(annotation.__value__)
    else:
        yield annotation
