"""Export recordings as spans. Ids come from the content, so that a second export is equal.

The root span is the conversation. Below it is a span for each invocation, and below that the answers of the agent and
the calls of tools, in their order. The form, OpenTelemetry's conventions or OpenInference's, gives the attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from fairtrial.formats.conversation.failures import TOOL_FAILED
from fairtrial.formats.dialects.fairtrial_exports import ATTEMPT, CASE_ID, INVOCATION
from fairtrial.formats.exports.missing_fields import add_missing_fields
from fairtrial.records.trace import AgentDetails, Invocation, Message, Step, ToolCall, ToolResult, Trace, Usage

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json

_NANOSECONDS = 1_000_000_000


RoleStep = tuple[str, Step]
"""A step of the past, and its role: user, assistant or tool."""


class Answer(NamedTuple):
    """An answer of an agent: its input, its steps, and its tokens if a model call is recorded.

    `past` are the steps before the invocation.
    """

    past: tuple[RoleStep, ...]
    user: Message
    steps: tuple[Step, ...]
    agent: AgentDetails
    usage: Usage | None
    model: str


class SpanForm(Protocol):
    """The attributes of spans in some conventions."""

    def conversation(self, session_id: str) -> dict[str, Json]:
        """Return the attributes of the root span."""
        ...

    def invocation(self, agent: str) -> dict[str, Json]:
        """Return the attributes of the span around an invocation."""
        ...

    def answer(self, answer: Answer) -> dict[str, Json]:
        """Return the attributes of an answer."""
        ...

    def tool(self, call: ToolCall, result: ToolResult) -> dict[str, Json]:
        """Return the attributes of the call of a tool."""
        ...


@dataclass
class _Spans:
    """The spans of one trace so far."""

    trace_id: str
    form: SpanForm
    spans: list[dict[str, Json]] = field(default_factory=list)

    def add(
        self,
        name: str,
        parent: str,
        attributes: dict[str, Json],
        start: float | None,
        seconds: float | None,
        failure: str = "",
    ) -> str:
        """Add a span, and return its id. An unknown start is 0, and an unknown end is left out."""
        span_id = hashlib.sha256(f"{self.trace_id}/{len(self.spans)}".encode()).hexdigest()[:16]
        begin = 0 if start is None else round(start * _NANOSECONDS)
        span: dict[str, Json] = {
            "traceId": self.trace_id,
            "spanId": span_id,
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(begin),
            **({} if seconds is None else {"endTimeUnixNano": str(begin + round(seconds * _NANOSECONDS) or 1)}),
            "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
            **({"status": {"code": 2, "message": failure}} if failure else {}),
        }
        self.spans.append(span)
        return span_id

    def add_trace(self, trace: Trace, parent: str, start: float | None) -> list[int]:
        """Add the invocations of a trace below a span. Return the place of the first answer of each."""
        names: set[str] = set()
        first_answers: list[int] = []
        for number, invocation in enumerate(trace.invocations):
            is_last = number == len(trace.invocations) - 1
            past = tuple(_past(trace)) if number == 0 else ()
            name = _unused_name(invocation.id, number + 1, names)
            names.add(name)
            start = start if invocation.created is None else invocation.created
            first_answers.append(len(self.spans) + 1)  # after the span of the invocation
            self._add_invocation(invocation, parent, name, past, trace.broken if is_last else "", start)
        return first_answers

    def _add_invocation(
        self,
        invocation: Invocation,
        parent: str,
        name: str,
        past: tuple[RoleStep, ...],
        failure: str,
        start: float | None,
    ) -> None:
        about = invocation.about.agents if invocation.about else ()
        durations = invocation.durations
        total = durations.total if durations else None
        agent = next((step.author for step in _all_steps(invocation) if step.author), about[0].name if about else "")
        span_id = self.add(
            f"invocation {name}", parent, self.form.invocation(agent), start, 0.0 if total is None else total
        )
        blocks = list(_blocks(invocation)) or [()]
        usages: list[Usage | None] = [*(invocation.usages or ())]
        count = max(len(blocks), len(usages))
        for i in range(count):
            steps = blocks[i] if i < len(blocks) else ()
            usage = usages[i] if i < len(usages) else None
            answer = _answer(invocation, steps, past if i == 0 else (), about[i : i + 1], usage)
            attributes = self.form.answer(answer) | {INVOCATION: name}
            seconds = durations.model if durations and durations.model and i == 0 and usages else 0.0
            is_last = i == count - 1
            self.add("answer", span_id, attributes, start, seconds, failure if is_last else "")
            results = [step for step in steps if isinstance(step, ToolResult)]
            for call, result in _pairs(steps, results):
                self._add_tool(call, result, span_id, start)

    def _add_tool(self, call: ToolCall, result: ToolResult, parent: str, start: float | None) -> None:
        # Spans are read in the order of their times. A time among unknown times would move the call to another place.
        begin = start if start is None or result.started is None else result.started
        seconds = None if begin is None else result.seconds
        problem = TOOL_FAILED if result.is_error else ""
        attributes = self.form.tool(call, result)
        span_id = self.add(f"execute_tool {call.name}", parent, attributes, begin, seconds, problem)
        if result.inner is not None:
            self.add_trace(result.inner, span_id, begin)


def make_spans(recording: Recording, form: SpanForm, taken: Collection[str] = ()) -> list[dict[str, Json]]:
    """Return the spans of a recording as OTLP writes them.

    Their conversation gets an id that is not in `taken`. Two conversations with one id would be read as one.
    """
    trace = recording.trace
    spans = _Spans(hashlib.sha256(msgspec.json.encode(recording)).hexdigest()[:32], form)
    session = conversation_name(recording, taken)
    own = {CASE_ID: recording.case_id, ATTEMPT: recording.attempt}
    timed = [invocation for invocation in trace.invocations if invocation.created is not None]
    start = min((invocation.created or 0.0 for invocation in timed), default=None)
    ends = [
        (invocation.created or 0.0) + ((invocation.durations.total or 0.0) if invocation.durations else 0.0)
        for invocation in timed
    ]
    seconds = max(ends) - start if start is not None else 0.0
    root = spans.add("conversation", "", form.conversation(session) | own, start, seconds)
    add_missing_fields(spans.spans, spans.add_trace(trace, root, None), recording)
    return spans.spans


def conversation_name(recording: Recording, taken: Collection[str]) -> str:
    """Return the id of the conversation in spans: that of the session, with a number if another one has it.

    It is empty without a session.
    """
    session, number = recording.trace.session_id, recording.attempt
    name = session if number == 1 else f"{session}#{number}"
    while session and name in taken:
        number += 1
        name = f"{session}#{number}"
    return name if session else ""


def _unused_name(name: str, number: int, names: Collection[str]) -> str:
    """Return a name that no earlier invocation has. Two invocations with one name would be read as one invocation."""
    while not name or name in names:
        name = f"{name}'" if name else str(number)
    return name


def _past(trace: Trace) -> Iterator[RoleStep]:
    """Yield the steps before the first invocation."""
    for message in trace.opening:
        yield "assistant", message
    for invocation in trace.history:
        yield "user", invocation.user
        for step in _all_steps(invocation):
            yield ("tool" if isinstance(step, ToolResult) else "assistant"), step


def _all_steps(invocation: Invocation) -> tuple[Step, ...]:
    reply = invocation.final_response
    return (*(invocation.steps or ()), *((reply,) if reply is not None else ()))


def _blocks(invocation: Invocation) -> Iterator[tuple[Step, ...]]:
    """Yield the answers of the agent: steps up to the results of their calls."""
    block: list[Step] = []
    for step in _all_steps(invocation):
        if block and isinstance(block[-1], ToolResult) and not isinstance(step, ToolResult):
            yield tuple(block)
            block = []
        block.append(step)
    if block:
        yield tuple(block)


def _answer(
    invocation: Invocation,
    steps: tuple[Step, ...],
    past: tuple[RoleStep, ...],
    about: Sequence[AgentDetails],
    usage: Usage | None,
) -> Answer:
    own_steps = tuple(step for step in steps if not isinstance(step, ToolResult))
    models = [step.model for step in own_steps if step.model]
    model = usage.model if usage is not None and usage.model else next(iter(models), "")
    return Answer(past, invocation.user, own_steps, about[0] if about else AgentDetails(""), usage, model)


def _pairs(steps: Sequence[Step], results: Sequence[ToolResult]) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield each result with its call: by id, or else the first call with its name that has no result yet."""
    calls = [step for step in steps if isinstance(step, ToolCall)]
    for result in results:
        by_id = [call for call in calls if result.id and call.id == result.id]
        namesakes = [call for call in calls if call.name == result.name]
        call = next(iter([*by_id, *namesakes]), ToolCall(result.name, id=result.id))
        if call in calls:
            calls.remove(call)
        yield call, result


def any_value(value: Any) -> Json:
    """Return a value as OTLP writes it. Objects and lists are JSON in a text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value if isinstance(value, str) else msgspec.json.encode(value).decode()}


def document(spans: Sequence[dict[str, Json]]) -> bytes:
    """Return spans as a line of OTLP."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "fairtrial"}}]}
    scope = {"scope": {"name": "fairtrial"}, "spans": list(spans)}
    return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}) + b"\n"
