"""The differences between the replies of an attempt, its final state and its rubrics, and what the case expects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.failures.events import Conversation, item_text, json_text, numbers
from fairtrial.analysis.failures.findings import Attempt, Finding
from fairtrial.analysis.failures.reply_comparison import compare_replies, lacking_sentence
from fairtrial.records.equality import equal_json
from fairtrial.records.failure_mode import Signature
from fairtrial.records.result import Outcome, Verdict
from fairtrial.text.display import compact, shorten

if TYPE_CHECKING:
    from fairtrial.analysis.failures.call_differences import Reads
    from fairtrial.records.score import Score

_SHOWN = 80
NO_REPLY_CRITERIA = frozenset(
    [
        "tool_trajectory_avg_score",
        "final_state_match_v1",
        "tool_call_count_v1",
        "inference_call_count_v1",
        "token_usage_v1",
        "agent_cost_v1",
        "invocation_duration_v1",
        "time_to_first_token_v1",
        "trace_value_v1",
        "per_turn_user_simulator_quality_v1",
    ]
)
"""Criteria that are not about the content of replies."""
_SHAPE = re.compile(r"\d")


class FailedPart(NamedTuple):
    """A part of an outcome that failed. `invocation` counts from 0 and is None if the part is about the whole."""

    outcome: Outcome
    score: Score
    invocation: int | None
    rubric: str


def failed_parts(outcome: Outcome) -> list[FailedPart]:
    """Return the innermost parts of an outcome that miss its threshold, or the whole if no part does."""
    return list(_walk(outcome, outcome.score, None, "")) or [FailedPart(outcome, outcome.score, None, "")]


def _walk(outcome: Outcome, score: Score, invocation: int | None, rubric: str) -> Iterator[FailedPart]:
    if score.key is not None and score.key.kind == "invocation":
        invocation = score.key.index
    if score.key is not None and score.key.kind in ("rubric", "question"):
        rubric = score.key.id or score.title
    inner = [part for child in score.parts for part in _walk(outcome, child, invocation, rubric)]
    if inner or not score.parts:
        yield from inner
        if not inner and score.key is not None and _misses(outcome, score):
            yield FailedPart(outcome, score, invocation, rubric)


def _misses(outcome: Outcome, score: Score) -> bool:
    if score.value is None or not score.applicable or outcome.threshold is None:
        return False
    return score.value > outcome.threshold if outcome.lower_is_better else score.value < outcome.threshold


def reply_findings(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:
    """Yield the faults of the replies that failed, for each the most telling one."""
    for outcome in attempt.failed:
        if outcome.criterion in NO_REPLY_CRITERIA:
            continue
        for part in failed_parts(outcome):
            yield from _part_findings(attempt, conversation, part)


def _part_findings(attempt: Attempt, conversation: Conversation, part: FailedPart) -> Iterator[Finding]:
    place = _place(conversation, part)
    if part.score.key is not None and part.score.key.kind == "fact":
        yield Finding(_sign_fact(part.score), place, " ".join(part.score.reason.split()), "expectation")
        return
    turns = () if attempt.case is None else attempt.case.conversation or ()
    indexes = range(len(turns)) if part.invocation is None else [part.invocation]
    sentence = ""
    for index in indexes:
        reference = turns[index].final_response if index < len(turns) else None
        at = conversation.last_reply(index)
        if reference is None or reference.withheld or at is None:
            continue
        reply = item_text(conversation.events[at].item)
        findings = compare_replies(reply, reference.text)
        if findings is not None:
            yield Finding(findings[0], at, findings[1], "expectation")
            return
        sentence = sentence or lacking_sentence(reply, reference.text)
    reason = shorten(" ".join(part.score.reason.split()), 300)
    if part.rubric:
        name = part.rubric
        yield Finding(Signature("rubric", field=name), place, f"the rubric {name} failed: {reason}", "expectation")
    elif part.invocation is not None and place is not None:
        signature = Signature("criterion", criterion=part.outcome.criterion)
        reason = f'"{reason}"' if reason and part.outcome.has_own_words else reason
        text = f"{part.outcome.criterion} failed" + (f": {reason}" if reason else "")
        text += f"; the reply does not say {shorten(sentence, _SHOWN)!r}" if sentence else ""
        yield Finding(signature, place, text, "expectation")


def _sign_fact(score: Score) -> Signature:
    """Return the signature of a fact that a criterion found wrong. The origins of its quotes say in which way."""
    origins = {quote.source for quote in score.quotes}
    kind = score.label.partition(":")[0] if ": " in score.label else ""
    if origins == {"reply"}:
        return Signature("claim", field=kind)
    if origins == {"actual"}:
        return Signature("value_forbidden")
    return Signature("value_differs" if "actual" in origins else "value_missing", field=kind)


def _place(conversation: Conversation, part: FailedPart) -> int | None:
    """Return the event that the judge quoted, or the reply of the invocation."""
    for quote in _quotes(part.score):
        for place, event in enumerate(conversation.events):
            if part.invocation in (None, event.invocation) and quote in item_text(event.item):
                return place
    at = conversation.last_reply(part.invocation)
    if at is None and part.invocation is not None:
        return conversation.find_end(part.invocation)
    return at


def _quotes(score: Score) -> Iterator[str]:
    yield from (
        quote.text for quote in score.quotes if len(quote.text) >= 10 and quote.source not in ("expected", "both")
    )
    for part in score.parts:
        yield from _quotes(part)


def statement_findings(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:
    """Yield the first number that the agent had to tell the user, and that no reply states.

    The place is the first reply that states another number written like it, or the last reply.
    """
    rubrics = () if attempt.case is None else attempt.case.rubrics
    wanted_values = [value for rubric in rubrics if rubric.statement for value in numbers(rubric.statement)]
    if not wanted_values:
        return
    stated = {place: numbers(item_text(conversation.events[place].item)) for place in conversation.replies}
    missing = next((value for value in wanted_values if all(value not in own for own in stated.values())), None)
    if missing is None or not stated:
        return
    shape = _SHAPE.sub("0", missing)
    for place, own in stated.items():
        candidate = next(
            (value for value in own if _SHAPE.sub("0", value) == shape and value not in wanted_values), None
        )
        if candidate is not None:
            reason = (
                f"the agent states {shorten(candidate, _SHOWN)}, and had to tell the user {shorten(missing, _SHOWN)}"
            )
            yield Finding(Signature("value_differs"), place, reason, "expectation")
            return
    reason = f"no reply states {shorten(missing, _SHOWN)}, which the agent had to tell the user"
    yield Finding(Signature("value_missing"), conversation.last_reply(), reason, "expectation")


def state_findings(attempt: Attempt, conversation: Conversation, reads: Reads) -> Iterator[Finding]:
    """Yield the first key of the final state that differs, at the call that wrote its value."""
    expected = None if attempt.case is None else attempt.case.final_session_state
    actual = conversation.trace.final_state
    names = {outcome.criterion for outcome, verdict in attempt.verdicts if verdict is Verdict.FAILED}
    if expected is None or actual is None or "final_state_match_v1" not in names:
        return
    for key, wanted_values in expected.items():
        if key in actual and equal_json(actual[key], wanted_values):
            continue
        got = shorten(compact(actual[key]), _SHOWN) if key in actual else "nothing"
        reason = f"the final state differs at {key}: expected {shorten(compact(wanted_values), _SHOWN)}, got {got}"
        place = _writer(conversation, actual.get(key), wanted_values, reads)
        yield Finding(Signature("state", field=str(key)), place, reason, "expectation")
        return


def _writer(conversation: Conversation, value: object, wanted_values: object, reads: Reads) -> int | None:
    """Return the last call with the differing value in its arguments, or the last call that writes, or the reply."""
    leaves = _differing_leaves(value, wanted_values)
    writing = [place for place in conversation.calls if not reads(conversation.call_at(place).name)]
    for place in reversed(writing):
        values = set(_leaves(conversation.call_at(place).args))
        if any(leaf in values for leaf in leaves):
            return place
    return writing[-1] if writing else conversation.last_reply()


def _differing_leaves(value: object, wanted_values: object) -> list[str]:
    ours, theirs = list(_leaves(value)), set(_leaves(wanted_values))
    return [leaf for leaf in ours if leaf not in theirs]


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    if depth > 20:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, depth + 1)
    elif value is not None:
        yield json_text(value)


def turn_findings(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:
    """Yield that the conversation ended before all expected messages of the user were answered."""
    turns = () if attempt.case is None else attempt.case.conversation or ()
    done = len(conversation.trace.invocations)
    if 0 < done < len(turns) and not conversation.trace.turns_unknown:
        reason = f"the conversation ends after {done} of {len(turns)} messages of the user"
        yield Finding(Signature("turns"), len(conversation.events) - 1, reason, "expectation")
