"""Test results of cases: the verdict over all attempts, and the text that explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from fairtrial.errors import UsageError, nearest
from fairtrial.records.attempt_rule import ALL, AttemptRule, case_evidence, make_evidence
from fairtrial.records.record import Record
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import against, format_estimate, interval
from fairtrial.reports.terminal import case
from fairtrial.reports.terminal_text import plain_text
from fairtrial.reports.transcript import Transcript
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.interval import wilson
from fairtrial.text.display import count

_MOST_PROBLEMS = 5


class CaseCheck(Record, frozen=True):
    """The verdict on a case as a test, and its explanation: the attempts that did not pass, with their differences."""

    verdict: Verdict
    text: str = ""


def check_case(
    results: Sequence[CaseResult],
    criteria: Sequence[str] = (),
    *,
    pass_rate: float | None = None,
    rule: AttemptRule = ALL,
) -> CaseCheck:
    """Return the verdict over the attempts at a case by some criteria, or by all criteria that have a threshold.

    Without `pass_rate`, the rule of the case decides. With it, the share of attempts that passed decides: an attempt
    that the agent broke has failed, and an attempt without a verdict may count either way.
    """
    chosen = [_with_criteria(result, criteria) for result in results]
    verdicts = [_verdict(result) for result in chosen]
    counted = [verdict for verdict in verdicts if verdict is not Verdict.NOT_APPLICABLE]
    if not counted:
        reasons = dict.fromkeys(outcome.score.reason for result in chosen for outcome in result.outcomes)
        return CaseCheck(Verdict.NOT_APPLICABLE, "; ".join(["not applicable", *filter(None, reasons)]))
    verdict: Verdict
    if pass_rate is None:
        applicable = [pair for pair in zip(chosen, verdicts, strict=True) if pair[1] is not Verdict.NOT_APPLICABLE]
        verdict = case_evidence(rule, [make_evidence(result, own, rule) for result, own in applicable]).verdict
    else:
        verdict = _verdict_by_rate(chosen, verdicts, pass_rate)
    lines = [verdict.value] if len(counted) == 1 else [_counts(verdict, counted, pass_rate, rule)]
    problems = [
        result
        for result, own in zip(chosen, verdicts, strict=True)
        if own in (Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED)
    ]
    several = len(results) > 1
    lines += [
        plain_text(case(Transcript(result), several=several, everything=result.failure is not None))
        for result in problems[:_MOST_PROBLEMS]
    ]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"… and {count(len(problems) - _MOST_PROBLEMS, 'more attempt')} that did not pass")
    return CaseCheck(verdict, "\n".join(lines))


def _with_criteria(result: CaseResult, criteria: Sequence[str]) -> CaseResult:
    """Return a result with the outcomes of some criteria only. Raises UsageError for a criterion that it lacks."""
    names = [outcome.criterion for outcome in result.outcomes]
    for name in criteria:
        if name not in names:
            raise UsageError(
                f"check: no criterion {name!r}{nearest(name, names)}; the case has {', '.join(names)}",
                code="unknown-name",
            )
    return replace(result, outcomes=tuple(own for own in result.outcomes if not criteria or own.criterion in criteria))


def _verdict(result: CaseResult) -> Verdict:
    """Return the verdict on an attempt, which is "not applicable" if no criterion applies to it."""
    verdicts = {outcome.verdict for outcome in result.outcomes}
    if verdicts == {Verdict.NOT_APPLICABLE} and result.failure is None and result.ended_by != "expected_failure":
        return Verdict.NOT_APPLICABLE
    return result.verdict


def _verdict_by_rate(results: Sequence[CaseResult], verdicts: Sequence[Verdict], pass_rate: float) -> Verdict:
    passed = open_attempts = total = 0
    for result, verdict in zip(results, verdicts, strict=True):
        total += verdict is not Verdict.NOT_APPLICABLE
        passed += verdict in (Verdict.PASSED, Verdict.INFORMATIONAL)
        is_broken_by_others = verdict is Verdict.ERROR and result.failure is not None and result.failure.side != "agent"
        open_attempts += verdict is Verdict.UNSCORED or is_broken_by_others
    if passed / total >= pass_rate:
        return Verdict.PASSED
    # If even the open attempts cannot lift the rate, the case has failed.
    return Verdict.UNSCORED if (passed + open_attempts) / total >= pass_rate else Verdict.FAILED


def _counts(verdict: Verdict, verdicts: Sequence[Verdict], pass_rate: float | None, rule: AttemptRule) -> str:
    """Return how many attempts passed, with the interval of the pass rate."""
    numbers = Counter(verdicts)
    passed, total = numbers[Verdict.PASSED] + numbers[Verdict.INFORMATIONAL], len(verdicts)
    low, high = wilson(passed / total, total, NORMAL)
    share = Estimate(passed / total, low, high)
    condition = f"needed: {rule}"
    if pass_rate is not None:
        condition = f"needs {against(passed / total, pass_rate, percent=True)[1]}"
    return (
        f"{verdict}: {passed} of {count(total, 'attempt')} passed, {format_estimate(share, pass_rate, percent=True)} "
        f"(95 % interval {interval(share, percent=True)}); {condition}"
    )
