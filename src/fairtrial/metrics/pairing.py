"""Which recorded invocation answers which expected one, and what of those that answer none?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from fairtrial.records.case import EvalCase
from fairtrial.records.record import Record
from fairtrial.records.score import Score, mean_of
from fairtrial.records.trace import Invocation, Trace

NEVER_REACHED = "never reached: the recording ends before this invocation"
NO_CONVERSATION = Score(applicable=False, reason="the case holds no fixed conversation to compare with")


@cache
def labels(count: int) -> tuple[str, ...]:
    """Return what the invocations of a conversation are called in its scores."""
    return tuple([f"invocation {i + 1}" for i in range(count)])


class Slot(Record, frozen=True):
    """One position of a conversation. `settled` is its score where the structure alone decides it."""

    label: str
    actual: Invocation | None = None
    expected: Invocation | None = None
    settled: Score | None = None


def slots(trace: Trace, case: EvalCase, *, worst: float) -> Iterator[Slot]:
    """Yield the invocations of both sides, paired by position.

    Settled are: a missing invocation (`worst` in a recording without failure, else unscored), the one that broke
    (unscored), a surplus one (not applicable).
    """
    expected = case.conversation or ()
    for i in range(max(len(expected), len(trace.invocations))):
        label = f"invocation {i + 1}"
        actual = trace.invocations[i] if i < len(trace.invocations) else None
        if i >= len(expected):
            surplus = Score(applicable=False, reason="a surplus invocation: none is expected here", label=label)
            yield Slot(label, actual, None, surplus)
        elif actual is None:
            reason = f"not reached: {trace.broken}" if trace.broken else NEVER_REACHED
            yield Slot(label, None, expected[i], Score(None if trace.broken else worst, reason, label))
        elif broke(trace, i):
            yield Slot(label, actual, expected[i], Score(None, f"broke here: {trace.broken}", label))
        else:
            yield Slot(label, actual, expected[i])


def broke(trace: Trace, i: int) -> bool:
    """Whether the trace broke in its invocation i: the last one of a broken trace, if it has no reply."""
    last = i == len(trace.invocations) - 1
    return bool(trace.broken) and last and trace.invocations[i].final_response is None


def compare_each(
    trace: Trace, case: EvalCase, compare: Callable[[Invocation, Invocation, str], Score], *, worst: float = 0.0
) -> Score:
    """Return the mean over a fixed conversation's invocations; `compare(actual, expected, label)` scores a pair."""
    if case.conversation is None:
        return NO_CONVERSATION
    if len(trace.invocations) == len(case.conversation) and not trace.broken:
        return mean_of(map(compare, trace.invocations, case.conversation, labels(len(trace.invocations))))
    parts: list[Score] = []
    for slot in slots(trace, case, worst=worst):
        if slot.settled is not None:
            # What the reference alone excludes stays excluded, whether or not the invocation was reached.
            alone = compare(slot.expected, slot.expected, slot.label) if slot.expected else None
            parts.append(alone if alone and not alone.applicable else slot.settled)
        elif slot.actual is not None and slot.expected is not None:
            parts.append(compare(slot.actual, slot.expected, slot.label))
    return mean_of(parts)


def score_each(trace: Trace, score: Callable[[Invocation, str], Score]) -> Score:
    """Return the mean over the recorded invocations; `score(invocation, label)` scores one."""
    parts = [
        Score(None, f"broke here: {trace.broken}", f"invocation {i + 1}")
        if broke(trace, i)
        else score(invocation, f"invocation {i + 1}")
        for i, invocation in enumerate(trace.invocations)
    ]
    return mean_of(parts) if parts else nothing_of(trace)


def nothing_of(trace: Trace) -> Score:
    """Return the score of a conversation of which no invocation is recorded."""
    return Score(None, f"broke before a reply: {trace.broken}" if trace.broken else "no invocation is recorded")
