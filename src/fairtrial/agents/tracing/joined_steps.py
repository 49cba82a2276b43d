"""Join the report of an adapter about a turn with the spans of the turn, and compare both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.conversation.span_conversations import single_conversation
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span, SpanItem
from fairtrial.records.trace import (
    AgentDetails,
    Durations,
    Event,
    Invocation,
    Message,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
)
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.protocols import Item

_STEPS = Message | Thought | ToolCall | ToolResult


class JoinedTurn(NamedTuple):
    """The items of a turn. `agents` are those that only the spans describe, and `gap` says what may be missing."""

    items: tuple[Item, ...]
    agents: tuple[AgentDetails, ...] = ()
    gap: str = ""


def join_turn(items: Sequence[Item], spans: Sequence[SpanItem], began: float) -> JoinedTurn:
    """Return the items of an adapter with those that only spans hold.

    If one source holds every call of the other, its steps are taken, with the adapter's own objects for the calls that
    both hold. If each holds a call that the other lacks, the adapter's steps stay, and the turn has a gap. The same
    applies to the calls of models. The reply is the adapter's, if it has one. The turn `began` so many seconds after
    1970.
    """
    turn = JoinedTurn(tuple(items))
    # A client below the OpenAI Agents SDK may be instrumented too: each of both then tells of every call.
    for source in (filter(_is_of_agents_sdk, spans), filter(lambda span: not _is_of_agents_sdk(span), spans)):
        earlier = turn
        turn = _join_source(earlier.items, list(source), began)
        turn = JoinedTurn(turn.items, earlier.agents or turn.agents, earlier.gap or turn.gap)
    return turn


def _is_of_agents_sdk(span: SpanItem) -> bool:
    return isinstance(span, Span) and any(name.startswith("openai_agents.") for name in span.attributes)


def _join_source(items: Sequence[Item], spans: Sequence[SpanItem], began: float) -> JoinedTurn:
    conversation = single_conversation(spans, [], Diagnostics("spans"), TraceOptions()) if spans else None
    if conversation is None:
        return JoinedTurn(tuple(items))
    trace = conversation.trace
    span_steps = [step for own in trace.invocations for step in _list_steps(own)]
    span_usages = [usage for own in trace.invocations for usage in own.usages or ()]
    own_steps = [item for item in items if isinstance(item, _STEPS)]
    steps, gap = _choose_steps(own_steps, span_steps)
    usages = [item for item in items if isinstance(item, Usage)]
    if _count_usages(own_steps, usages) < _count_usages(span_steps, span_usages):
        usages = span_usages
        steps = steps if steps is not own_steps else _with_inner(own_steps, span_steps)
    others = [item for item in items if not isinstance(item, (*_STEPS.__args__, Usage))]
    if steps is not own_steps:
        # Events group the adapter's own steps, which are no longer the steps of the turn.
        others = [item for item in others if not isinstance(item, Event)]
    others = _with_first_token(others, trace, began)
    return JoinedTurn((*usages, *steps, *others), trace.agents, gap or trace.incomplete or trace.inner_incomplete)


def _with_first_token(items: list[Item], trace: Trace, began: float) -> list[Item]:
    """Return items with the time to the first token of the spans, if the adapter has none."""
    first = next((own for own in trace.invocations if own.durations and own.durations.first_token is not None), None)
    if first is None or first.created is None or first.durations is None or first.durations.first_token is None:
        return items
    seconds = max(first.created + first.durations.first_token - began, 0.0)
    own = [item for item in items if isinstance(item, Durations)]
    if any(item.first_token is not None for item in own):
        return items
    times = replace(own[-1], first_token=seconds) if own else Durations(first_token=seconds)
    return [*(item for item in items if not own or item is not own[-1]), times]


def _list_steps(invocation: Invocation) -> Iterator[Step]:
    yield from invocation.steps or ()
    if invocation.final_response is not None:
        yield invocation.final_response


def _choose_steps(own: list[Step], span_steps: list[Step]) -> tuple[list[Step], str]:
    """Return the steps of the source that holds all calls, and the gap if neither does."""
    own_calls, span_calls = Counter(map(_key, _all_calls(own))), Counter(map(_key, _all_calls(span_steps)))
    missing_calls, extra_calls = span_calls - own_calls, own_calls - span_calls
    if not missing_calls:
        return own, ""
    if extra_calls:
        gap = f"the spans hold {_name(missing_calls)}, and the messages do not; the messages hold {_name(extra_calls)}"
        return own, f"{gap}, and the spans do not"
    return _merge(own, span_steps), ""


def _merge(own: list[Step], span_steps: list[Step]) -> list[Step]:
    """Return the steps of the spans, with the adapter's own objects for the calls and results that both hold."""
    waiting: dict[str, list[ToolCall]] = {}
    for step in own:
        if isinstance(step, ToolCall):
            waiting.setdefault(_key(step), []).append(step)
    results = {step.id: step for step in own if isinstance(step, ToolResult) and step.id}
    ids: dict[str, str] = {}
    merged: list[Step] = []
    for step in span_steps:
        if isinstance(step, ToolCall) and waiting.get(_key(step)):
            mine = waiting[_key(step)].pop(0)
            ids[step.id] = mine.id
            merged.append(mine)
        elif isinstance(step, ToolResult) and ids.get(step.id) in results:
            mine_result = results[ids[step.id]]
            merged.append(mine_result if mine_result.inner is not None else replace(mine_result, inner=step.inner))
        else:
            merged.append(step)
    reply = next((step for step in reversed(own) if isinstance(step, Message)), None)
    if reply is None:
        return merged
    if merged and isinstance(merged[-1], Message):
        merged.pop()
    return [*merged, reply]


def _with_inner(own: list[Step], span_steps: list[Step]) -> list[Step]:
    """Return the adapter's steps, with the work inside of tools that only the spans hold."""
    inner = {step.id: step.inner for step in span_steps if isinstance(step, ToolResult) and step.inner is not None}
    return [
        replace(step, inner=inner[step.id])
        if isinstance(step, ToolResult) and step.inner is None and step.id in inner
        else step
        for step in own
    ]


def _all_calls(steps: Iterable[Step]) -> Iterator[ToolCall]:
    """Yield the calls of steps, and those of agents inside tools."""
    for step in steps:
        if isinstance(step, ToolCall):
            yield step
        elif isinstance(step, ToolResult) and step.inner is not None:
            yield from _all_calls(_inner_steps(step.inner))


def _inner_steps(trace: Trace) -> Iterator[Step]:
    for invocation in trace.invocations:
        yield from _list_steps(invocation)


def _count_usages(steps: Iterable[Step], usages: Sequence[Usage]) -> int:
    """Return the number of calls of models, with those of agents inside tools."""
    inner = [step.inner for step in steps if isinstance(step, ToolResult) and step.inner is not None]
    nested = (
        _count_usages(list(_list_steps(invocation)), invocation.usages or ())
        for trace in inner
        for invocation in trace.invocations
    )
    return len(usages) + sum(nested)


def _key(call: ToolCall) -> str:
    return f"{call.name} {compact(call.args)}"


def _name(calls: Counter[str]) -> str:
    return f"a call of {next(iter(calls)).partition(' ')[0]!r}"
