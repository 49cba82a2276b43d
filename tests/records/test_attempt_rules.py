"""Attempt rules make the verdict of a case from its attempts, whatever is missing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fairtrial.analysis.aggregation import aggregate
from fairtrial.records.attempt import Failure
from fairtrial.records.attempt_rule import AttemptRule, AttemptRules, RuleName, case_evidence, make_evidence
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.score import Range, Score

P, F, E, U = Verdict.PASSED, Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED


def attempts(*values: float | str | None) -> list[CaseResult]:
    """Attempts with these values against a threshold of 0.8. A side is an attempt that this side broke."""
    results = []
    for number, value in enumerate(values, 1):
        failure = Failure(value, "boom") if isinstance(value, str) else None  # type: ignore[arg-type]
        score = Score(None if isinstance(value, str) else value)
        results.append(CaseResult("a", 0, (Outcome("match", score, 0.8),), number, failure))
    return results


def verdict(name: RuleName, number: float, *values: float | str | None) -> Verdict:
    """The verdict of a case with these attempts."""
    rule = AttemptRule(name, number)
    return case_evidence(rule, [make_evidence(result, result.verdict, rule) for result in attempts(*values)]).verdict


@pytest.mark.parametrize(
    ("name", "number", "values", "expected"),
    [
        ("all", 0, [1, 1, 1], P),
        ("all", 0, [1, 0, 1], F),
        ("all", 0, [1, "agent"], E),
        ("all", 0, [1, None], U),
        ("any", 0, [0, 0, 1], P),
        ("any", 0, [0, 0], F),
        ("any", 0, [0, None], U),
        ("any", 0, ["agent", "agent"], E),
        ("at_least", 2, [1, 1, 0], P),
        ("at_least", 2, [1, 0, 0], F),
        ("at_least", 2, [1, None, 0], U),
        ("at_least", 2, [1, 1, None], P),
        ("rate", 0.7, [1] * 7 + [0] * 3, P),
        ("rate", 0.7, [1] * 6 + [0] * 4, F),
        ("rate", 0.5, [1, "infrastructure"], P),
        ("mean", 0, [1] * 9 + [0], P),
        ("mean", 0, [1, 0], F),
        ("mean", 0, [0.8, 0.8, 0.8], P),
        ("mean", 0, [1] * 9 + [None], P),
        ("mean", 0, [1, None], U),
        ("mean", 0, [None, None], U),
        ("mean", 0, [1] * 9 + ["agent"], P),
        ("mean", 0, [1, "agent"], E),
        ("mean", 0, [1, "infrastructure"], U),
    ],
)
def test_a_rule_decides(name: RuleName, number: float, values: list[float | str | None], expected: Verdict) -> None:
    """What is missing is counted as passed and as failed; an attempt that the agent broke is the worst value."""
    assert verdict(name, number, *values) is expected


@pytest.mark.parametrize("name", ["all", "any", "mean"])
@pytest.mark.parametrize("value", [1, 0, None, "agent", "simulator"])
def test_a_single_attempt_decides_alone(name: RuleName, value: float | str | None) -> None:
    """No rule changes a run with one attempt of each case."""
    (result,) = attempts(value)
    assert verdict(name, 0, value) is result.verdict


def test_lower_is_better_in_a_mean() -> None:
    """An attempt that the agent broke has the highest value of the range, which may be unbounded."""
    scale = Range(0, None)
    results = [
        CaseResult("a", 0, (Outcome("cost", Score(value), 5.0, True, scale),), number)
        for number, value in enumerate((2.0, 7.0), 1)
    ]
    rules = AttemptRules({"": AttemptRule("mean")})
    assert aggregate(results, rules=rules).verdict is P
    broken = replace(results[1], failure=Failure("agent", "boom"))
    assert aggregate([results[0], broken], rules=rules).verdict is F


def test_more_attempts_do_not_make_a_build_redder() -> None:
    """One wrong attempt of ten: by the mean the case passes, and the run does, although an attempt failed."""
    results = attempts(*[1] * 9, 0)
    by_mean, strict = aggregate(results, rules=AttemptRules({"": AttemptRule("mean")})), aggregate(results)
    assert [by_mean.verdict, strict.verdict] == [P, F]
    assert [by_mean.case_verdicts, by_mean.cases] == [{"passed": 1}, {"passed": 9, "failed": 1}]
    assert strict.reasons == ("1 case failed",)


def test_each_case_has_its_own_rule() -> None:
    """The rule of a case counts before the rule of its eval set, and the rule without a name is "all"."""
    rules = AttemptRules({"s": AttemptRule("mean")}, {"s": {"b": AttemptRule("any")}})
    assert [str(rules.find_rule(*key)) for key in (("s", "a"), ("s", "b"), ("t", "b"))] == [
        "the mean of each criterion reaches its threshold",
        "any attempt passes",
        "all attempts pass",
    ]
