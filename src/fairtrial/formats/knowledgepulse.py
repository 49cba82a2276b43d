"""How do KnowledgePulse's JSON-LD files say a ReasoningTrace, and what is wrong with one that cannot be read?"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from fairtrial.errors import FormatError
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

CONTEXT = "https://openknowledgepulse.org/schema/v1"
TYPE = "ReasoningTrace"
DEPTH = 200  # no honest trace nests deeper; a bomb would exhaust the stack of whoever walks it next
_ORIGINAL = "reasoning_trace"
MARKS = frozenset({"@context", "@type"})
"""A document with one of these keys says that it is JSON-LD, and so a ReasoningTrace or nothing."""
_HEADER = {"@context": CONTEXT, "@type": TYPE}


def loads(data: bytes | str, path: str = "<memory>") -> ReasoningTrace:
    """Return the trace that one JSON document holds; FormatError names every problem with its JSON pointer."""
    found = parse(data)
    if isinstance(found, RefusedTrace):
        raise FormatError(path, [str(problem) for problem in found.problems])
    return found


def dumps(trace: ReasoningTrace) -> bytes:
    """Return the JSON document of a trace on one line, unknown keys included."""
    return msgspec.json.encode(document(trace))


def parse(data: bytes | str) -> ReasoningTrace | RefusedTrace:
    """Return the trace that one JSON document holds, or all that is wrong with it; never raises for its content."""
    raw = decode(data)
    return raw if isinstance(raw, RefusedTrace) else build(raw)


def decode(data: bytes | str) -> Json:
    """Return the JSON value of untrusted bytes, or why there is none, as RefusedTrace."""
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
    """Return the trace that a JSON value says, or all that is wrong with it."""
    if not isinstance(raw, dict):
        return _refuse(None, f"must be an object, got {_kind(raw)}")
    if raw.get("@context") == CONTEXT and raw.get("@type") == TYPE and _plain(raw):
        try:
            return msgspec.convert(raw, ReasoningTrace)
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


def _flatten(noun: Record) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for name in noun.__struct_fields__:
        value = getattr(noun, name)
        if value is None or name == "extra":
            continue
        result[name] = _flatten_value(value)
    extra = getattr(noun, "extra", None)
    return result | extra if extra else result


def _flatten_value(value: Json) -> Json:
    if isinstance(value, Record):
        return _flatten(value)
    if isinstance(value, tuple):
        return [_flatten_value(one) for one in value]
    return value


@cache
def _known(noun: type[Record]) -> frozenset[str]:
    return frozenset(noun.__struct_fields__) - {"extra"}


@cache
def _fields(noun: type[Record]) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, type and whether it must be there, of each field that the schema knows."""
    known = _known(noun)
    fields = msgspec.structs.fields(noun)
    return tuple((field.name, _without_none(field.type), field.required) for field in fields if field.name in known)


def _misspelt(name: str, unknown: Iterable[str]) -> str:
    """Return a hint at the unknown key that looks like a missing one, or nothing."""
    close = difflib.get_close_matches(name, list(unknown), n=1, cutoff=0.7)
    return f"; is {_show(close[0])} meant?" if close else ""


_TOP = _known(ReasoningTrace) | _HEADER.keys()
_PARTS = (
    ("metadata", _known(ReasoningMetadata)),
    ("task", _known(ReasoningTask)),
    ("outcome", _known(ReasoningOutcome)),
)
_STEP, _TOOL, _DELTA = _known(ReasoningStep), _known(ReasoningTool), _known(KnowledgeGraphDelta)
_ENTITY, _RELATIONSHIP = _known(Entity), _known(Relationship)


def _plain(raw: dict[str, Json]) -> bool:
    """Whether only known keys that are not null stand where the schema has objects, so that nothing would be lost."""
    return (
        _bare(raw, _TOP)
        and all(_bare(raw.get(name), known) for name, known in _PARTS)
        and _plain_steps(raw.get("steps"))
        and ("knowledge_graph_delta" not in raw or _plain_delta(raw["knowledge_graph_delta"]))
    )


def _plain_steps(steps: Json) -> bool:
    # Written out, because this is half of the time that a trace takes.
    if type(steps) is not list:
        return False
    for step in steps:
        if type(step) is not dict or not step.keys() <= _STEP or None in step.values():
            return False
        if "tool" in step and not _bare(step["tool"], _TOOL):
            return False
    return True


def _plain_delta(delta: Json) -> bool:
    return (
        _bare(delta, _DELTA)
        and all(isinstance(group, list) for group in delta.values())
        and all(_bare(one, _ENTITY) for one in delta.get("entities", ()))
        and all(_bare(one, _RELATIONSHIP) for one in delta.get("relationships", ()))
    )


def _bare(value: Json, known: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() <= known and None not in value.values()


def _header_problems(raw: dict[str, Json]) -> list[Problem]:
    problems = []
    for key, wanted in _HEADER.items():
        if key not in raw:
            problems.append(Problem(f"/{escape(key)}", f"is missing; must be {wanted!r}"))
        elif raw[key] != wanted:
            problems.append(Problem(f"/{escape(key)}", f"must be {wanted!r}, got {_show(raw[key])}"))
    return problems


def _explain(raw: Json, noun: type[Record], pointer: str, problems: list[Problem]) -> Record | None:
    """Return the noun that an object says, its unknown keys in `extra`; append every problem and return None else."""
    if not isinstance(raw, dict):
        problems.append(Problem(pointer, f"must be an object, got {_kind(raw)}"))
        return None
    before = len(problems)
    known = _known(noun)
    values: dict[str, Any] = {}
    for name, kind, required in _fields(noun):
        if name in raw:
            values[name] = _explain_value(raw[name], kind, f"{pointer}/{name}", problems)
        elif required:
            problems.append(Problem(f"{pointer}/{name}", f"is missing{_misspelt(name, raw.keys() - known)}"))
    if len(problems) > before:
        return None
    extra = {key: value for key, value in raw.items() if key not in known}
    return noun(**values, extra=extra or None)


def _explain_value(value: Json, inner: Any, pointer: str, problems: list[Problem]) -> Any:
    if isinstance(inner, type) and issubclass(inner, Record):
        return _explain(value, inner, pointer, problems)
    nouns = _nouns_in(inner)
    if nouns is not None and isinstance(value, list) and value:
        return tuple(_explain(one, nouns, f"{pointer}/{index}", problems) for index, one in enumerate(value))
    if isinstance(value, float) and value.is_integer() and int in get_args(inner):
        value = int(value)
    try:
        return msgspec.convert(value, inner)
    except (msgspec.ValidationError, OverflowError) as error:
        problems.append(Problem(pointer + _below(error), f"must be {_wanted(inner)}, got {_show(value)}"))
        return None


def _below(error: Exception) -> str:
    """Return the pointer to the place inside a list that a message of msgspec names, or nothing."""
    place = re.search(r"at `\$((?:\[\d+\])+)`$", str(error))
    return "".join(f"/{index}" for index in re.findall(r"\d+", place[1])) if place else ""


def _without_none(kind: Any) -> Any:
    """Return the type of a field that may be absent; null is not the same as absent, and is refused."""
    if get_origin(kind) in {types.UnionType, Union}:
        return next(one for one in get_args(kind) if one is not type(None))
    return kind


def _nouns_in(kind: Any) -> type[Record] | None:
    listed = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    item = get_args(listed)[0] if get_origin(listed) is tuple else None
    return item if isinstance(item, type) and issubclass(item, Record) else None


def _wanted(kind: Any) -> str:
    """Return a type of the schema in words."""
    if get_origin(kind) is Annotated:
        base, meta = get_args(kind)[:2]
        return _wanted(base) + _bounds(meta)
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
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def to_trace(reasoning: ReasoningTrace) -> Trace:
    """Return a conversation that tells the same: the objective as the user's message, the result as the reply.

    A step with a tool is a call, and an answer too where it carries an output; observations answer the oldest open
    call. The document itself is kept in `extra`, so that `original` gives it back unchanged.
    """
    steps: list[Step] = []
    waiting: list[ToolCall] = []
    for step in reasoning.steps:
        _append_step(step, steps, waiting)
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
    kept = (trace.extra or {}).get(_ORIGINAL)
    found = None if kept is None else build(kept)
    return None if isinstance(found, RefusedTrace) else found


def _append_step(step: ReasoningStep, steps: list[Step], waiting: list[ToolCall]) -> None:
    text = step.content or ""
    seconds = None if step.latency_ms is None else step.latency_ms / 1000
    if step.type == "observation":
        answer = step.output_summary or text
        name = step.tool.name if step.tool else ""
        call = next((one for one in waiting if not name or one.name == name), None)
        if call is None and not name:
            steps.append(Message(text=answer, author="agent", seconds=seconds))
            return
        if call is not None:
            waiting.remove(call)
        call_id = call.id if call else ""
        steps.append(ToolResult(call.name if call else name, answer, call_id, seconds=seconds))
        return
    if text:
        steps.append(Thought(text=text, author="agent", seconds=None if step.tool else seconds))
    if step.tool is not None:
        call = ToolCall(step.tool.name, step.input or {}, str(step.step_id), "agent", seconds=seconds)
        steps.append(call)
        if step.output_summary is None:
            waiting.append(call)
        else:
            steps.append(ToolResult(name=call.name, response=step.output_summary, id=call.id))
