"""Sessions with workflows of LangGraph's functional API. Their tasks return messages, not a state."""

from __future__ import annotations

import dis
import inspect
import types
import typing
import uuid
from collections import abc
from collections.abc import AsyncGenerator, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Literal

from fairtrial.agents.plain import as_text
from fairtrial.errors import UsageError
from fairtrial.system.importing import import_extra

INTERRUPT = "__interrupt__"


def is_workflow(runnable: Any) -> bool:
    """Whether a runnable is a function with `@entrypoint`. A graph has the builder that compiled it."""
    return hasattr(runnable, "stream_channels") and not hasattr(runnable, "builder")


async def workflow_states(
    workflow: Any, graph_input: Any, earlier: Sequence[Any], config: dict[str, Any], options: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the messages of a conversation after each task, as the state of a graph would hold them.

    `earlier` are the messages before a run that goes on with an answer of the user.
    """
    is_new = isinstance(graph_input, dict)
    messages = list(graph_input["messages"] if is_new else earlier)
    known = {message.id for message in messages}
    given = _input(workflow, graph_input) if is_new else graph_input
    async for mode, value in workflow.astream(given, config, stream_mode=["updates", "values"], **options):
        if isinstance(value, dict) and INTERRUPT in value:
            yield {"messages": list(messages), INTERRUPT: value[INTERRUPT]}
            continue
        returned = value.values() if mode == "updates" else (value,)
        for message in (message for part in returned for message in _messages(part, is_end=mode == "values")):
            message.id = message.id or str(uuid.uuid4())
            if message.id not in known:
                known.add(message.id)
                messages.append(message)
        yield {"messages": list(messages)}


Input = Literal["text", "message", "messages", "state"]
"""What the function of a workflow takes: the latest text or message, all messages, or a state with all messages."""
_LISTS = (list, tuple, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
_TAKES = "must take a text, a message, a list of messages, or a state with 'messages'"


def workflow_input(workflow: Any) -> Input:
    """Return what the function of a workflow takes. Raises UsageError if that can be no conversation.

    The annotation of its parameter tells. Without one, the name of the parameter does.
    """
    name, annotation = _parameter(workflow)
    kind = read_kind(annotation)
    if kind == "any" or isinstance(annotation, str):
        return "state" if "messages" not in name else "messages"
    if kind is not None:
        return kind
    raise UsageError(
        f"a workflow with @entrypoint {_TAKES}; the parameter {name!r} is {annotation!r}", code="unusable-agent"
    )


def read_kind(annotation: Any) -> Input | Literal["any"] | None:
    """Return the input that a type asks for: the one with most of a conversation, `any` if it is open, or None."""
    kinds = {_kind(part) for part in _alternatives(annotation)}
    known: tuple[Input | Literal["any"], ...] = ("any", "messages", "state", "message", "text")
    return next((kind for kind in known if kind in kinds), None)


def read_keys(function: Any) -> Sequence[str]:
    """Return the keys that the code of a function reads from its first parameter, with `x[KEY]` or `x.get(KEY)`.

    A function that is not written in Python has none.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ()
    name = next(iter(inspect.signature(function).parameters), "")
    return list(dict.fromkeys(_keys_in(code, name)))


def _keys_in(code: Any, name: str) -> Iterator[str]:
    steps = list(dis.get_instructions(code))
    for first, second, third in zip(steps, steps[1:], steps[2:], strict=False):
        is_variable = "LOAD_FAST" in first.opname or first.opname == "LOAD_DEREF"
        # An instruction of Python 3.13 loads two variables. The second one is on top.
        loaded = first.argval[-1] if isinstance(first.argval, tuple) else first.argval
        if not is_variable or loaded != name:
            continue
        is_subscript = third.opname == "BINARY_SUBSCR" or (third.opname == "BINARY_OP" and third.argrepr == "[]")
        key = second if is_subscript else third if second.argval == "get" else None
        if key is not None and key.opname == "LOAD_CONST" and isinstance(key.argval, str):
            yield key.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and name in inner.co_freevars:
            yield from _keys_in(inner, name)


def _parameter(workflow: Any) -> tuple[str, Any]:
    """Return the name and the type of the parameter of a workflow. A type that is not known is its text."""
    annotation = getattr(workflow.channels["__start__"], "UpdateType", Any)
    bound = getattr(next(iter(workflow.nodes.values()), None), "bound", None)
    function = getattr(bound, "func", None) or getattr(bound, "afunc", None)
    name = next(iter(inspect.signature(function).parameters), "") if callable(function) else ""
    try:
        return name, typing.get_type_hints(function).get(name, annotation)
    except Exception:  # noqa: BLE001  (an annotation is any code, and its names may be out of reach)
        return name, annotation


def _alternatives(annotation: Any) -> Sequence[Any]:
    """Return the types that an annotation allows."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [part for one in typing.get_args(annotation) for part in _alternatives(one)]
    return [annotation]


def _kind(annotation: Any) -> Input | Literal["any"] | None:
    """Return what a type without alternatives asks for, or None if it is another thing."""
    if annotation in (Any, object, inspect.Parameter.empty) or isinstance(annotation, typing.TypeVar):
        return "any"
    origin = typing.get_origin(annotation) or annotation
    if not inspect.isclass(origin):
        return None
    if issubclass(origin, str):
        return "text"
    if hasattr(origin, "content_blocks"):
        return "message"
    fields = [name for base in origin.__mro__ for name in inspect.get_annotations(base)]
    if origin in (dict, Mapping, MutableMapping) or "messages" in fields:
        return "state"
    return "messages" if origin in _LISTS and _are_messages(typing.get_args(annotation)) else None


def _are_messages(items: Sequence[Any]) -> bool:
    """Whether a list of items of these types may hold messages."""
    alternatives = [part for item in items for part in _alternatives(item) if part is not Ellipsis]
    return not alternatives or any(_kind(part) in ("any", "message", "state") for part in alternatives)


def _input(workflow: Any, graph_input: dict[str, Any]) -> Any:
    """Return what the function takes of a conversation."""
    annotation, messages = workflow_input(workflow), graph_input["messages"]
    if annotation == "text":
        return str(messages[-1].text)
    return graph_input if annotation == "state" else messages[-1] if annotation == "message" else messages


def _messages(value: Any, *, is_end: bool) -> Iterator[Any]:
    """Yield the messages in what a task or the workflow returned. A result of another kind is the reply."""
    if isinstance(value, dict) and "messages" in value:
        value = value["messages"]
    if hasattr(value, "content_blocks"):
        yield value
    elif isinstance(value, list | tuple) and all(hasattr(part, "content_blocks") for part in value):
        yield from value
    elif is_end and value is not None:
        yield import_extra("langchain_core.messages", "agents-langgraph").AIMessage(as_text(value))
