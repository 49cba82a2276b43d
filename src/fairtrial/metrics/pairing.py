"""Pair recorded invocations with expected invocations, and score those that are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairtrial.records.contents import withheld_reason
from fairtrial.records.score import PartKey, Score, average_parts, invocation_key, invocation_keys
from fairtrial.records.trace import Invocation, Trace

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase

_UNKNOWN_CALLS = "the recording does not say which tools were called; record messages with `tool_calls`, or spans"
NEVER_REACHED = "never reached: the recording ends before this invocation"
NO_CONVERSATION = Score(applicable=False, reason="the case holds no fixed conversation to compare with")

EMPTY_CONVERSATION = Score(None, "the conversation of the case is empty", side="expectation")

Compare = Callable[[Invocation, Invocation, PartKey], Score]
"""Scores an actual invocation against the expected invocation at the same position, and gives the score its key."""

Surplus = Callable[[Invocation, PartKey], Score | None]
"""Scores an actual invocation that is not expected. The result is None if the invocation does not count."""

Excluded = Callable[[Invocation], str]
"""Returns the reason why an expected invocation cannot be compared with, or an empty text if it can."""


def no_reference(expected: Invocation) -> str:
    """Return a reason if an expected invocation has no reference, otherwise an empty text."""
    return "no reference" if expected.final_response is None else ""


def positions(trace: Trace, case: EvalCase) -> range:
    """Return the positions at which a conversation was recorded, or expected, or both."""
    return range(max(len(case.conversation or ()), len(trace.invocations)))


def structural_score(trace: Trace, case: EvalCase, index: int, *, excluded: Excluded, worst: float) -> Score | None:
    """Return the score of a position that needs no comparison, or None if both invocations must be compared.

    Invocations are paired by position. A surplus invocation is not applicable. Neither is an expected invocation that
    is `excluded`, even if the conversation broke before it. A missing invocation gets the `worst` value, for example 0,
    if the recording has no failure. Otherwise it is unscored, as is the invocation in which the conversation broke, and
    as are invocations of a recording that does not show its turns.
    """
    key = invocation_key(index)
    expected = case.conversation or ()
    if index >= len(expected):
        return Score(applicable=False, reason="a surplus invocation: none is expected here", key=key)
    if reason := excluded(expected[index]):
        return Score(applicable=False, reason=reason, key=key)
    if unknown := _unknown_turns(trace, len(expected), index):
        return Score(None, unknown, side="infrastructure", key=key)
    if index < len(trace.invocations):
        return broke_here(trace, index)
    return (
        Score(None, f"not reached: {trace.broken}", key=key) if trace.broken else Score(worst, NEVER_REACHED, key=key)
    )


def _unknown_turns(trace: Trace, expected_count: int, index: int) -> str:
    """Return why nobody knows which turn was recorded at a position, or an empty text."""
    if trace.turns_unknown and expected_count != len(trace.invocations):
        return f"the recording does not show where a turn begins: {withheld_reason(trace.invocations)}"
    return rest_elsewhere(trace) if index >= len(trace.invocations) else ""


def missing_calls(trace: Trace) -> str:
    """Return why calls and tokens may be missing in a recording, also inside tools, or an empty text if none is."""
    if trace.incomplete:
        return f"calls and turns may be missing: {trace.incomplete}"
    inner = trace.inner_incomplete
    return f"calls and tokens may be missing: {inner}" if inner else ""


def unknown_calls(invocations: Sequence[Invocation]) -> str:
    """Return why nobody knows which tools were called, or an empty text. Texts alone say nothing of calls."""
    return _UNKNOWN_CALLS if any(invocation.steps is None for invocation in invocations) else ""


def rest_elsewhere(trace: Trace) -> str:
    """Return why a conversation may go on in another recording, or an empty text if it does not.

    Without a text and without a session id, nothing joins the traces of a conversation. If an SDK dropped attributes,
    the id may be among them.
    """
    if trace.incomplete:
        return f"calls and turns may be missing: {trace.incomplete}"
    if trace.session_id or not trace.invocations or not all(each.user.withheld for each in trace.invocations):
        return ""
    return f"the conversation may go on in a trace that no session id joins: {withheld_reason(trace.invocations)}"


def broke_here(trace: Trace, index: int) -> Score | None:
    """Return the score of a recorded invocation in which the conversation broke, or None if it was completed.

    A conversation broke in the last invocation of a broken trace if that invocation has no reply.
    """
    is_last = index == len(trace.invocations) - 1
    if trace.broken and is_last and trace.invocations[index].final_response is None:
        return Score(None, f"broke here: {trace.broken}", key=invocation_key(index))
    return None


def compare_each(
    trace: Trace, case: EvalCase, compare: Compare, *, excluded: Excluded, surplus: Surplus = lambda *_: None
) -> Score:
    """Return the mean over the invocations of a fixed conversation. An invocation that was never reached is 0.

    A surplus invocation counts if `surplus` gives it a score.
    """
    expected = case.conversation
    if not expected:
        return NO_CONVERSATION if expected is None else EMPTY_CONVERSATION
    if len(trace.invocations) == len(expected) and not trace.broken and not any(map(excluded, expected)):
        # The common case, in which the structure settles nothing, and a run spends most of its time.
        return average_parts(map(compare, trace.invocations, expected, invocation_keys(len(expected))))

    def is_surplus(index: int) -> bool:
        return len(expected) <= index < len(trace.invocations)

    return average_parts(
        (surplus(trace.invocations[index], invocation_key(index)) if is_surplus(index) else None)
        or structural_score(trace, case, index, excluded=excluded, worst=0.0)
        or compare(trace.invocations[index], expected[index], invocation_key(index))
        for index in positions(trace, case)
    )


def score_each(trace: Trace, score: Callable[[Invocation, PartKey], Score]) -> Score:
    """Return the mean over the recorded invocations, each scored by `score(invocation, key)`."""
    invocations, keys = trace.invocations, invocation_keys(len(trace.invocations))
    if not invocations:
        return nothing_recorded(trace)
    if not trace.broken:
        return average_parts(map(score, invocations, keys))
    return average_parts(broke_here(trace, i) or score(invocations[i], key) for i, key in enumerate(keys))


def nothing_recorded(trace: Trace) -> Score:
    """Return the score of a conversation without any recorded invocation."""
    return Score(None, f"broke before a reply: {trace.broken}" if trace.broken else "no invocation is recorded")
