"""Timing of invocations: start, end, and the durations of model and tool calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from fairtrial.formats.conversation.first_tokens import seconds_to_first_token
from fairtrial.records.trace import Durations, Message

if TYPE_CHECKING:
    from fairtrial.formats.conversation.draft import Draft
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.formats.spans.span import Span

NANOSECONDS = 1e9
_START = attrgetter("start")
_ORDER = attrgetter("order")


def spans_of_drafts(drafts: Sequence[Draft]) -> list[list[Node]]:
    """Return for each invocation its calls and tools, and the spans above that belong to no other invocation."""
    invocations_below: dict[Node, set[int]] = defaultdict(set)
    for number, draft in enumerate(drafts):
        for node in draft.nodes:
            for above in node.ancestors():
                if number in invocations_below[above]:
                    break  # so are those above it
                invocations_below[above].add(number)
    nodes = [list(draft.nodes) for draft in drafts]
    for above, numbers in invocations_below.items():
        if len(numbers) == 1:
            nodes[next(iter(numbers))].append(above)
    return nodes


def measure_durations(nodes: Iterable[Node]) -> tuple[float | None, Durations | None]:
    """Return the start of an invocation in seconds since 1970, and its durations. Parallel calls count once.

    If a span never ended, the durations that it is part of are not known.
    """
    timed = [node for node in nodes if node.span.start]
    if not timed:
        return None, None
    start = min([node.span.start for node in timed])
    ends = [node.span.end for node in timed if node.span.end is not None]
    total = (max(ends) - start) / NANOSECONDS if len(ends) == len(timed) else None
    model = _union([node.span for node in timed if node.facts.kind == "model"])
    tool = _union([node.span for node in timed if node.facts.kind == "tool"])
    return start / NANOSECONDS, Durations(total, model, tool, _find_first_token(timed, start))


def _find_first_token(nodes: Iterable[Node], start: int) -> float | None:
    """Return the seconds until the first model call with a text began to stream it.

    An answer without a text, for example a call, shows nothing to the user.
    """
    for node in sorted(nodes, key=_ORDER):
        output = node.facts.output
        if node.facts.kind == "model" and (output is None or any(isinstance(step, Message) for step in output)):
            seconds = seconds_to_first_token(node.span)
            return None if seconds is None else (node.span.start - start) / NANOSECONDS + seconds
    return None


def _union(spans: list[Span]) -> float | None:
    """Return how long at least one of some spans lasts, in seconds. None without a span, or if one never ended."""
    total = end = 0
    for span in sorted(spans, key=_START):
        if span.end is None:
            return None
        total += max(0, span.end - max(span.start, end))
        end = max(end, span.end)
    return total / NANOSECONDS if spans else None
