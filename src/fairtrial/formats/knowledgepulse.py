"""Read and write ReasoningTraces in KnowledgePulse's JSON-LD, and report the problems of invalid files."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from fairtrial.errors import FormatError
from fairtrial.records.decoding import convert
from fairtrial.records.reasoning import (
    Entity,
    KnowledgeGraphDelta,
    Problem,
    ReasoningMetadata,
    ReasoningOutcome,
    ReasoningStep,
    ReasoningTask,
    ReasoningTool,
    ReasoningTrace,
    RefusedTrace,
    Relationship,
)
from fairtrial.records.record import Json, Record
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace
from fairtrial.text.pointer import escape

R = TypeVar("R", bound=Record)
CONTEXT = "https://openknowledgepulse.org/schema/v1"
TYPE = "ReasoningTrace"
DEPTH = 200  # real traces nest less deeply; a malicious file would exhaust the stack of a recursive function
_ORIGINAL = "reasoning_trace"
_HEADER = {"@context": CONTEXT, "@type": TYPE}


def loads(data: bytes | str, path: str = "<memory>") -> ReasoningTrace:
    """Return the trace in a JSON document. FormatError names every problem with its JSON pointer."""
    trace = parse(data)
    if isinstance(trace, RefusedTrace):
        raise FormatError(path, [str(problem) for problem in trace.problems])
    return trace


def dumps(trace: ReasoningTrace) -> bytes:
    """Return the JSON document of a trace on one line, unknown keys included."""
    return msgspec.json.encode(document(trace))


def parse(data: bytes | str) -> ReasoningTrace | RefusedTrace:
    """Return the trace in a JSON document, or all problems of the document. Never raises for its content."""
    raw = decode(data)
    return raw if isinstance(raw, RefusedTrace) else build(raw)


def decode(data: bytes | str) -> Json:
    """Return the JSON value of untrusted bytes, or the reason why they hold none."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        return _refuse(None, f"nested deeper than {DEPTH} levels")
    except (msgspec.MsgspecError, ValueError) as error:
        return _refuse(None, f"not JSON: {error}")
    if data.count(b"[") + data.count(b"{") > DEPTH and _deeper(value, DEPTH):
        return _refuse(None, f"nested deeper than {DEPTH} levels")
    return value


def build(raw: Json) -> ReasoningTrace | RefusedTrace:
    """Return the trace in a JSON value, or all problems of the value."""
    if not isinstance(raw, dict):
        return _refuse(None, f"must be an object, got {_kind(raw)}")
    if raw.get("@context") == CONTEXT and raw.get("@type") == TYPE and _simple(raw):
        try:
            return _with_extras(convert(raw, ReasoningTrace), raw)
        except (msgspec.ValidationError, OverflowError):
            pass
    problems = _header_problems(raw)
    trace = _explain({key: value for key, value in raw.items() if key not in _HEADER}, ReasoningTrace, "", problems)
    if problems:
        own = raw.get("id")
        return RefusedTrace(id=own if isinstance(own, str) else None, problems=tuple(problems))
    assert isinstance(trace, ReasoningTrace)  # noqa: S101  # without problems there is a value; mypy cannot know
    return trace


def document(trace: ReasoningTrace) -> dict[str, Json]:
    """Return the JSON object of a trace, in the schema's order, unknown keys of each object last."""
    plain: dict[str, Json] = _flatten(trace)
    return _HEADER | plain


def _flatten(record: Record) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if value is None or name == "extra":
            continue
        result[name] = _flatten_value(value)
    extra = getattr(record, "extra", None)
    return result | extra if extra else result


def _flatten_value(value: Json) -> Json:
    if isinstance(value, Record):
        return _flatten(value)
    if isinstance(value, tuple):
        return [_flatten_value(item) for item in value]
    return value


@cache
def _known_keys(record: type[Record]) -> frozenset[str]:
    return frozenset(record.__struct_fields__) - {"extra"}


@cache
def _fields(record: type[Record]) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, type and whether it must be there, of each field that the schema knows."""
    known_keys = _known_keys(record)
    fields = msgspec.structs.fields(record)
    return tuple(
        (field.name, _type_of_value(field.type), field.required) for field in fields if field.name in known_keys
    )


def _misspelt(name: str, unknown: Iterable[str]) -> str:
    """Return a hint at the unknown key that looks like a missing one, or nothing."""
    close = difflib.get_close_matches(name, list(unknown), n=1, cutoff=0.7)
    return f"; is {_show(close[0])} meant?" if close else ""


_TOP = _known_keys(ReasoningTrace) | _HEADER.keys()
_PARTS = (
    ("metadata", _known_keys(ReasoningMetadata)),
    ("task", _known_keys(ReasoningTask)),
    ("outcome", _known_keys(ReasoningOutcome)),
)
_STEP, _TOOL, _DELTA = _known_keys(ReasoningStep), _known_keys(ReasoningTool), _known_keys(KnowledgeGraphDelta)
_ENTITY, _RELATIONSHIP = _known_keys(Entity), _known_keys(Relationship)


def _simple(raw: dict[str, Json]) -> bool:
    """Whether all objects of the schema are objects without nulls and without a key `extra`.

    The fast way then reads them as the slow way does. It differs in these, which are rare.
    """
    return (
        _is_simple(raw)
        and all(_is_simple(raw.get(name)) for name, _ in _PARTS)
        and _has_simple_steps(raw.get("steps"))
        and ("knowledge_graph_delta" not in raw or _has_simple_delta(raw["knowledge_graph_delta"]))
    )


def _has_simple_steps(steps: Json) -> bool:
    # Loops are written out here, because this function takes half of the time of a trace.
    if type(steps) is not list:
        return False
    for step in steps:
        if type(step) is not dict or None in step.values() or "extra" in step:
            return False
        if "tool" in step and not _is_simple(step["tool"]):
            return False
    return True


def _has_simple_delta(delta: Json) -> bool:
    return (
        _is_simple(delta)
        and all(isinstance(delta.get(name, []), list) for name in ("entities", "relationships"))
        and all(map(_is_simple, delta.get("entities", ())))
        and all(map(_is_simple, delta.get("relationships", ())))
    )


def _is_simple(value: Json) -> bool:
    return isinstance(value, dict) and None not in value.values() and "extra" not in value


def _with_extras(trace: ReasoningTrace, raw: dict[str, Any]) -> ReasoningTrace:
    """Return a trace with the unknown keys of its objects. Only objects with unknown keys are made anew."""
    changes: dict[str, Any] = {}
    for name, known_keys in _PARTS:
        if not raw[name].keys() <= known_keys:
            changes[name] = _with_extra(getattr(trace, name), raw[name], known_keys)
    if not all(step.keys() <= _STEP and ("tool" not in step or step["tool"].keys() <= _TOOL) for step in raw["steps"]):
        changes["steps"] = tuple(map(_step_with_extra, trace.steps, raw["steps"]))
    if trace.knowledge_graph_delta is not None:
        changes["knowledge_graph_delta"] = _delta_with_extra(trace.knowledge_graph_delta, raw["knowledge_graph_delta"])
    trace = _with_extra(trace, raw, _TOP)
    return msgspec.structs.replace(trace, **changes) if changes else trace


def _step_with_extra(step: ReasoningStep, raw: dict[str, Any]) -> ReasoningStep:
    if step.tool is not None and not raw["tool"].keys() <= _TOOL:
        step = msgspec.structs.replace(step, tool=_with_extra(step.tool, raw["tool"], _TOOL))
    return _with_extra(step, raw, _STEP)


def _delta_with_extra(delta: KnowledgeGraphDelta, raw: dict[str, Any]) -> KnowledgeGraphDelta:
    entities = [_with_extra(*pair, _ENTITY) for pair in zip(delta.entities, raw["entities"], strict=True)]
    facts = [_with_extra(*pair, _RELATIONSHIP) for pair in zip(delta.relationships, raw["relationships"], strict=True)]
    delta = msgspec.structs.replace(delta, entities=tuple(entities), relationships=tuple(facts))
    return _with_extra(delta, raw, _DELTA)


def _with_extra(record: R, raw: dict[str, Json], known_keys: frozenset[str]) -> R:
    """Return a record with the unknown keys of its object in `extra`."""
    if raw.keys() <= known_keys:
        return record
    extra = {key: value for key, value in raw.items() if key not in known_keys}
    return msgspec.structs.replace(record, extra=extra)


def _header_problems(raw: dict[str, Json]) -> list[Problem]:
    problems = []
    for key, required_value in _HEADER.items():
        if key not in raw:
            problems.append(Problem(f"/{escape(key)}", f"is missing; must be {required_value!r}"))
        elif raw[key] != required_value:
            problems.append(Problem(f"/{escape(key)}", f"must be {required_value!r}, got {_show(raw[key])}"))
    return problems


def _explain(raw: Json, record: type[Record], pointer: str, problems: list[Problem]) -> Record | None:
    """Return the record in an object, with its unknown keys in `extra`. With problems, append them and return None."""
    if not isinstance(raw, dict):
        problems.append(Problem(pointer, f"must be an object, got {_kind(raw)}"))
        return None
    before = len(problems)
    known_keys = _known_keys(record)
    values: dict[str, Any] = {}
    for name, kind, required in _fields(record):
        if name in raw:
            values[name] = _explain_value(raw[name], kind, f"{pointer}/{name}", problems)
        elif required:
            problems.append(Problem(f"{pointer}/{name}", f"is missing{_misspelt(name, raw.keys() - known_keys)}"))
    if len(problems) > before:
        return None
    extra = {key: value for key, value in raw.items() if key not in known_keys}
    return record(**values, extra=extra or None)


def _explain_value(value: Json, inner: Any, pointer: str, problems: list[Problem]) -> Any:
    if isinstance(inner, type) and issubclass(inner, Record):
        return _explain(value, inner, pointer, problems)
    records = _records_in(inner)
    if records is not None and isinstance(value, list) and value:
        return tuple(_explain(item, records, f"{pointer}/{index}", problems) for index, item in enumerate(value))
    if isinstance(value, float) and value.is_integer() and int in get_args(inner):
        value = int(value)
    try:
        return convert(value, inner)
    except (msgspec.ValidationError, OverflowError) as error:
        problems.append(Problem(pointer + _below(error), f"must be {_list_allowed(inner)}, got {_show(value)}"))
        return None


def _below(error: Exception) -> str:
    """Return the pointer to the place inside a list that a message of msgspec names, or nothing."""
    place = re.search(r"at `\$((?:\[\d+\])+)`$", str(error))
    return "".join(f"/{index}" for index in re.findall(r"\d+", place[1])) if place else ""


def _type_of_value(kind: Any) -> Any:
    """Return the type of a field without None. A field may be absent, but null is not the same and is refused."""
    if get_origin(kind) in {types.UnionType, Union}:
        return next(member for member in get_args(kind) if member is not type(None))
    return kind


def _records_in(kind: Any) -> type[Record] | None:
    listed = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    item = get_args(listed)[0] if get_origin(listed) is tuple else None
    return item if isinstance(item, type) and issubclass(item, Record) else None


def _list_allowed(kind: Any) -> str:
    """Return a type of the schema in words."""
    if get_origin(kind) is Annotated:
        base, meta = get_args(kind)[:2]
        return _list_allowed(base) + _bounds(meta)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of strings" if get_args(kind)[0] is str else "a list"
    if get_origin(kind) is dict:
        return "an object"
    return {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}[kind]


def _bounds(meta: msgspec.Meta) -> str:
    if meta.pattern is not None:
        return " that starts with 'kp:trace:'" if "kp" in meta.pattern else ", an ISO 8601 date and time ending in Z"
    if meta.min_length is not None:
        return " that is not empty"
    if meta.le is not None:
        return f" from {meta.ge:g} to {meta.le:g}"
    return f" of at least {meta.ge:g}"


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")


def _show(value: Json, limit: int = 60) -> str:
    if isinstance(value, dict | list):
        return _kind(value) if value else f"an empty {'object' if isinstance(value, dict) else 'list'}"
    if isinstance(value, int) and abs(value) >= 10**limit:
        return "a number out of range"
    text = "null" if value is None else repr(value)
    return text if len(text) <= limit else text[:limit] + "…"


def _refuse(own: str | None, problem: str) -> RefusedTrace:
    return RefusedTrace(id=own, problems=(Problem("", problem),))


def _deeper(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True


def to_trace(reasoning: ReasoningTrace) -> Trace:
    """Return the trace as a conversation: the objective is the user's message, the result is the reply.

    A step with a tool is a call, and also an answer if it has an output. An observation answers the oldest open call.
    The document itself stays in `extra`, so that `original` returns it unchanged.
    """
    steps: list[Step] = []
    open_calls: list[ToolCall] = []
    for step in reasoning.steps:
        _append_step(step, steps, open_calls)
    return Trace(
        invocations=(
            Invocation(
                user=Message(text=reasoning.task.objective),
                steps=tuple(steps),
                final_response=Message(text=reasoning.outcome.result_summary, author="agent"),
            ),
        ),
        session_id=reasoning.id.removeprefix("kp:trace:"),
        extra={_ORIGINAL: document(reasoning)},
        outcome="success" if reasoning.metadata.success else "failure",
    )


def original(trace: Trace) -> ReasoningTrace | None:
    """Return the ReasoningTrace that a trace was loaded from, or None."""
    raw = (trace.extra or {}).get(_ORIGINAL)
    reasoning = None if raw is None else build(raw)
    return None if isinstance(reasoning, RefusedTrace) else reasoning


def _append_step(step: ReasoningStep, steps: list[Step], open_calls: list[ToolCall]) -> None:
    text = step.content or ""
    seconds = None if step.latency_ms is None else step.latency_ms / 1000
    if step.type == "observation":
        answer = step.output_summary or text
        name = step.tool.name if step.tool else ""
        call = next((open_call for open_call in open_calls if not name or open_call.name == name), None)
        if call is None and not name:
            steps.append(Message(text=answer, author="agent", seconds=seconds))
            return
        if call is not None:
            open_calls.remove(call)
        call_id = call.id if call else ""
        steps.append(ToolResult(call.name if call else name, answer, call_id, seconds=seconds))
        return
    if text:
        steps.append(Thought(text=text, author="agent", seconds=None if step.tool else seconds))
    if step.tool is not None:
        call = ToolCall(step.tool.name, step.input or {}, str(step.step_id), "agent", seconds=seconds)
        steps.append(call)
        if step.output_summary is None:
            open_calls.append(call)
        else:
            steps.append(ToolResult(name=call.name, response=step.output_summary, id=call.id))
