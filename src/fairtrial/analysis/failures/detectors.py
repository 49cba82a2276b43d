"""Find the decisive step of a failed attempt: the table of sources, in the order in which they count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fairtrial.analysis.failures.call_differences import (
    CallDifference,
    Reads,
    aligned_differences,
    equal_normally,
    expected_in,
    own_differences,
    shown_fields,
    tool_reads,
)
from fairtrial.analysis.failures.error_templates import error_text, make_template
from fairtrial.analysis.failures.events import Conversation
from fairtrial.analysis.failures.findings import Attempt, Finding
from fairtrial.analysis.failures.reply_comparison import collect_facts
from fairtrial.analysis.failures.reply_differences import (
    reply_findings,
    state_findings,
    statement_findings,
    turn_findings,
)
from fairtrial.analysis.failures.symptoms import SYMPTOMS, unrepaired_errors
from fairtrial.records.failure_mode import Evidence, Signature
from fairtrial.records.result import Verdict
from fairtrial.records.trace import ToolResult
from fairtrial.text.display import compact, shorten

_TRAJECTORY = "tool_trajectory_avg_score"
_SHOWN = 100
_SOFT = 2
"""The rank of findings about the words of replies. An error of a tool before them is their cause."""


class Ranked(NamedTuple):
    """A finding with its rank in its source. The lowest rank counts, and in a rank the earliest place."""

    rank: int
    finding: Finding


Detector = Callable[[Attempt, Conversation], Iterator[Ranked]]


def find_decisive(attempt: Attempt, conversation: Conversation) -> Finding:
    """Return the first fault, by the first source that knows it."""
    for detector in DETECTORS:
        ranked = sorted(
            detector(attempt, conversation),
            key=lambda own: (own.rank, -1 if own.finding.place is None else own.finding.place),
        )
        if ranked:
            return _cause_before(attempt, conversation, ranked[0])
    return _unknown(attempt)


def _cause_before(attempt: Attempt, conversation: Conversation, ranked: Ranked) -> Finding:
    """Return the error of a tool if it came before a difference in words, otherwise the difference."""
    place = ranked.finding.place
    if ranked.rank >= _SOFT and ranked.finding.evidence == "expectation" and place is not None:
        error = next(unrepaired_errors(attempt, conversation), None)
        if error is not None and error.place is not None and error.place < place:
            return error
    return ranked.finding


def _unknown(attempt: Attempt) -> Finding:
    names = [outcome.criterion for outcome in attempt.failed]
    failed = f"{', '.join(names)} failed, and nothing known says where" if names else "nothing known says where"
    if attempt.recording is None:
        failed = f"{failed}: the conversation is not stored"
    return Finding(Signature("criterion", criterion=", ".join(sorted(names))), None, failed, "expectation")


def other_sides(attempt: Attempt, conversation: Conversation) -> Iterator[Ranked]:
    """Yield the first side with evidence against it, if it is not the agent."""
    fault = next(iter(attempt.result.invalidations or ()), None)
    if fault is None:
        return
    text = fault.evidence[0] if fault.evidence else fault.side
    template = make_template(text)
    place = _place_of_fault(conversation)
    signature = Signature("side", field=fault.side, template=template)
    yield Ranked(0, Finding(signature, place, f"{fault.side}: {shorten(text, 300)}", "side", fault.side))


def _place_of_fault(conversation: Conversation) -> int | None:
    """Return the last result of a tool that was injected or failed, or the last event."""
    for place in range(len(conversation.events) - 1, -1, -1):
        item = conversation.events[place].item
        if isinstance(item, ToolResult) and (item.injected or item.is_error):
            return place
    return len(conversation.events) - 1 if conversation.events else None


def breaks(attempt: Attempt, conversation: Conversation) -> Iterator[Ranked]:
    """Yield the error with which the agent broke off the conversation."""
    failure = attempt.result.failure
    if failure is None:
        return
    template = make_template(error_text(failure.cause))
    place = len(conversation.events) - 1 if conversation.events else None
    reason = f"the attempt failed: {shorten(failure.cause, 300)}"
    yield Ranked(0, Finding(Signature("break", template=template), place, reason, "break"))


def expectations(attempt: Attempt, conversation: Conversation) -> Iterator[Ranked]:
    """Yield the differences from the case: calls that write, the state, replies, and calls that read.

    Replies are not read if a difference of a lower rank is known.
    """
    case = attempt.case
    reads = tool_reads(attempt.hints)
    if case is None or not conversation.events:
        return
    done = len(conversation.trace.invocations)
    ranked = [
        Ranked(_rank(attempt, difference, reads), _describe(conversation, difference, "expectation", "expected"))
        for difference in _call_differences(attempt, conversation)
        if difference.invocation is None or difference.invocation < done  # otherwise the turn itself is missing
    ]
    ranked += [Ranked(0, finding) for finding in state_findings(attempt, conversation, reads)]
    yield from ranked
    if any(own.rank == 0 for own in ranked):
        return
    sources = (turn_findings(attempt, conversation), statement_findings(attempt, conversation))
    of_turns = [Ranked(1, finding) for source in sources for finding in source]
    yield from of_turns
    if not of_turns:
        for finding in reply_findings(attempt, conversation):
            yield Ranked(_SOFT + 2 if finding.signature.kind == "criterion" else _SOFT, finding)


def _rank(attempt: Attempt, difference: CallDifference, reads: Reads) -> int:
    """Return the rank of a difference in calls. A call that reads counts last unless a criterion compared the calls."""
    if difference.kind == "forbidden" or not reads(difference.tool):
        return 0
    return _SOFT if _trajectory_failed(attempt) else _SOFT + 1


def _trajectory_failed(attempt: Attempt) -> bool:
    return any(
        verdict is Verdict.FAILED and (outcome.criterion == _TRAJECTORY or outcome.score.calls)
        for outcome, verdict in attempt.verdicts
    )


def _call_differences(attempt: Attempt, conversation: Conversation) -> list[CallDifference]:
    """Return the differences by the alignment of a criterion, or by our own if no criterion compared the calls."""
    if attempt.case is None:
        return []
    reads = tool_reads(attempt.hints)
    compared = False
    for outcome, verdict in attempt.verdicts:
        findings = aligned_differences(conversation, attempt.case, outcome.score, reads)
        if findings is not None:
            return findings
        compared = compared or (outcome.criterion == _TRAJECTORY and verdict is Verdict.PASSED)
    expected = expected_in(attempt.case)
    return [] if compared or expected is None else own_differences(conversation, expected, reads)


def _describe(conversation: Conversation, difference: CallDifference, evidence: Evidence, by: str) -> Finding:
    tool = difference.tool
    place = difference.place
    if difference.kind == "missing":
        text = f"{tool} was not called, {by} {_call(difference)}"
    elif difference.kind == "changed":
        text = f"{tool}: {_argument(difference)}"
    elif difference.kind == "moved":
        text = f"{tool} was called before {difference.before}"
    elif difference.kind == "call_failed":
        error = None if place is None else conversation.find_error(place)
        text = f"{tool} was called as {by}, and answered with an error: {_error(error)}"
    elif difference.kind == "repeated":
        text = f"{tool} was called again with equal arguments"
    else:
        text = f"{tool} was called, which was {'forbidden' if difference.kind == 'forbidden' else f'not {by}'}"
    template = ""
    if place is not None and difference.kind == "call_failed":
        error = conversation.find_error(place)
        template = "" if error is None else make_template(error_text(error.response))
    field = shown_fields(difference.fields) if difference.kind == "changed" else difference.before
    return Finding(Signature(difference.kind, tool=tool, field=field, template=template), place, text, evidence)


def _call(difference: CallDifference) -> str:
    args = {} if difference.expected is None else difference.expected.args
    return shorten(f"with {compact(args)}", _SHOWN)


def _error(error: ToolResult | None) -> str:
    return "" if error is None else shorten(error_text(error.response), _SHOWN)


def _argument(difference: CallDifference) -> str:
    ours, theirs = difference.actual, difference.expected
    if not difference.fields or ours is None or theirs is None:
        return "arguments differ"
    name = difference.fields[0]
    got = shorten(compact(ours.args[name]), _SHOWN) if name in ours.args else "nothing"
    expected_value = shorten(compact(theirs.args[name]), _SHOWN) if name in theirs.args else "nothing"
    more = f", and {len(difference.fields) - 1} more arguments differ" if len(difference.fields) > 1 else ""
    return f"argument {name}: expected {expected_value}, got {got}{more}"


def contrasts(attempt: Attempt, conversation: Conversation) -> Iterator[Ranked]:
    """Yield the points at which the attempt leaves the common way of all attempts that passed."""
    shared = attempt.passes
    if shared is None or not conversation.events:
        return
    reads = tool_reads(attempt.hints)
    passed = "the attempt that passed" if shared.passes == 1 else f"all {shared.passes} attempts that passed"
    expected = [(None, call) for call in shared.calls]
    for difference in own_differences(conversation, expected, reads, may_call=shared.made, equal=equal_normally):
        finding = _describe(conversation, difference, "contrast", "shared")
        rank = int(reads(difference.tool))
        if difference.kind == "missing":
            reason = f"{passed} called {difference.tool} here {_call(difference)}, and this attempt did not"
        elif difference.kind in ("unexpected", "repeated"):
            reason = f"{difference.tool} was called, which no attempt that passed did"
        else:
            reason = f"{finding.reason} ({passed} did so)"
        yield Ranked(rank, finding._replace(reason=reason))
    at = conversation.last_reply()
    own_facts = collect_facts(conversation.reply_texts) if shared.facts else {}
    missing = next((key for key in shared.facts if key not in own_facts), None)
    if at is not None and missing is not None:
        reason = f"no reply states {shared.facts[missing]}, which {passed} did"
        yield Ranked(2, Finding(Signature("value_missing"), at, reason, "contrast"))


def symptoms(attempt: Attempt, conversation: Conversation) -> Iterator[Ranked]:
    """Yield the symptoms, each with its own rank."""
    for rank, symptom in enumerate(SYMPTOMS):
        for finding in symptom(attempt, conversation):
            yield Ranked(rank, finding)


DETECTORS: tuple[Detector, ...] = (other_sides, breaks, expectations, contrasts, symptoms)
"""The sources in the order in which they count. A new source is a function and a row."""
