"""Gates pass, fail or stay undecided as documented, and never leave a missing attempt out."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import pytest

from fairtrial import Claim, GateDecision, Range, Run, UsageError, gate
from fairtrial.records.gate import ClaimDecision, ClaimKind
from graded_runs import Value, graded, graded_run


def make_run(values: Sequence[Value], attempts: int = 1, **more: object) -> Run:
    """A run of cases with these values, the same in every attempt."""
    names = {f"case {number}": [value] * attempts for number, value in enumerate(values)}
    return graded_run(names, **more)  # type: ignore[arg-type]


def only_claim(decision: GateDecision) -> ClaimDecision:
    """The only claim of a decision."""
    (claim,) = decision.claims
    return claim


def test_a_run_that_is_clearly_good_enough_passes() -> None:
    """48 of 50 cases: at the lower limit, 48 or more passes have a chance of 5 %. It clears 0.8."""
    claim = only_claim(gate(make_run([1] * 48 + [0] * 2), [Claim("at_least", 0.8)]))
    assert claim.verdict == "passed"
    low = claim.low or 0.0
    assert sum(comb(50, k) * low**k * (1 - low) ** (50 - k) for k in (48, 49, 50)) == pytest.approx(0.05)
    assert (claim.p or 1) < 0.05


def test_a_run_that_is_clearly_too_bad_fails() -> None:
    """The upper limit does not reach the claim."""
    assert gate(make_run([1] * 10 + [0] * 40), [Claim("at_least", 0.8)]).verdict == "failed"


def test_between_the_two_it_is_undecided() -> None:
    """And the number of cases that would decide it is given: more than there are."""
    claim = only_claim(gate(make_run([1] * 43 + [0] * 7), [Claim("at_least", 0.8)]))
    assert claim.verdict == "undecided"
    assert claim.needed is not None
    assert (claim.needed.cases or 0) > 50


def test_the_p_value_agrees_with_the_limit() -> None:
    """At the limit itself, p is alpha."""
    run = make_run([1] * 43 + [0] * 7)
    low = only_claim(gate(run, [Claim("at_least", 0.8)])).low or 0
    assert only_claim(gate(run, [Claim("at_least", low)])).p == pytest.approx(0.05)


def test_missing_attempts_count_for_both_sides() -> None:
    """48 of 50 pass. With the 15 missing attempts as failures, the claim would fail; so it is undecided."""
    run = make_run([*[1.0] * 48, 0, 0, *[None] * 15])
    claim = only_claim(gate(run, [Claim("at_least", 0.8)]))
    assert claim.verdict == "undecided"
    assert claim.missing == (0, 15)
    assert claim.why == "the 15 attempts without a value could decide it either way"
    assert claim.estimate == 0.96
    assert claim.needed is None, "more cases decide nothing as long as these attempts are missing"


def test_a_missing_attempt_that_changes_nothing_is_no_obstacle() -> None:
    """One of 100."""
    assert gate(make_run([*[1.0] * 99, None]), [Claim("at_least", 0.8)]).verdict == "passed"


@pytest.mark.long
def test_not_worse_than_a_base() -> None:
    """The same 200 cases pass: worse by 5 % is excluded, better by anything is not shown."""
    base, run = make_run([1] * 190 + [0] * 10), make_run([1] * 190 + [0] * 10)
    assert gate(run, [Claim("not_worse_by", 0.05)], against=base).verdict == "passed"
    assert gate(run, [Claim("better_by", 0)], against=base).verdict == "undecided"
    assert gate(run, [Claim("better_by", 0.05)], against=base).verdict == "failed"


def test_a_much_worse_run_fails() -> None:
    """Half of the cases broke."""
    assert gate(make_run([1, 0] * 50), [Claim("not_worse_by", 0.05)], against=make_run([1] * 100)).verdict == "failed"


def test_missing_attempts_of_the_base_are_the_best_for_it() -> None:
    """Eight of 100 attempts of the base are missing: it could have been better by 8 %."""
    base = make_run([*[1.0] * 92, *[None] * 8])
    claim = only_claim(gate(make_run([1.0] * 92 + [0.0] * 8), [Claim("not_worse_by", 0.05)], against=base))
    assert (claim.verdict, claim.missing) == ("undecided", (8, 0))


def test_a_claim_about_a_criterion_whose_lower_values_are_better() -> None:
    """A claim is about the end that is good: at most 0.3."""
    criteria = [graded(0.5, lower_is_better=True)]
    run = make_run([0.1] * 30, criteria=criteria)
    claim = only_claim(gate(run, [Claim("at_most", 0.3, "quality")]))
    assert claim.verdict == "passed"
    assert claim.high is not None
    assert claim.high < 0.3
    worse = make_run([0.9] * 30, criteria=criteria)
    assert gate(worse, [Claim("not_worse_by", 0.1, "quality")], against=run).verdict == "failed"


@pytest.mark.parametrize(("kind", "lower"), [("at_least", True), ("at_most", False)])
def test_a_claim_about_the_wrong_end_is_refused(kind: ClaimKind, lower: bool) -> None:
    """Nobody wants a good measure to be small."""
    run = make_run([0.5] * 30, criteria=[graded(0.5, lower_is_better=lower)])
    with pytest.raises(UsageError, match=f"claim {'at_most' if lower else 'at_least'}"):
        gate(run, [Claim(kind, 0.3, "quality")])


def test_a_claim_in_the_unit_of_its_criterion() -> None:
    """Grades from 1 to 5."""
    run = make_run([4.5] * 40, criteria=[graded(3, span=Range(1, 5))])
    claim = only_claim(gate(run, [Claim("at_least", 4, "quality")]))
    assert claim.verdict == "passed"
    assert 4 <= (claim.low or 0) <= 4.5


def test_about_these_cases_repeated_attempts_decide() -> None:
    """Ten cases that always pass: ten such cases say little about others, and much about themselves."""
    run = make_run([1] * 10, attempts=8)
    assert gate(run, [Claim("at_least", 0.9)]).verdict == "undecided"
    assert gate(run, [Claim("at_least", 0.9)], about="these-cases").verdict == "passed"


def test_about_these_cases_more_attempts_would_decide() -> None:
    """The claim is undecided with 4 attempts, and decided with as many as are named."""

    def run(attempts: int) -> Run:
        return graded_run({f"case {case}": [float(n % 4 > 0) for n in range(attempts)] for case in range(10)})

    needed = only_claim(gate(run(4), [Claim("at_least", 0.65)], about="these-cases")).needed
    assert needed is not None
    assert needed.cases is None
    assert (needed.attempts or 0) > 4
    assert gate(run(needed.attempts or 0), [Claim("at_least", 0.65)], about="these-cases").verdict == "passed"


def test_all_claims_must_hold() -> None:
    """One that fails decides, one that is undecided leaves the gate undecided."""
    run = make_run([1] * 48 + [0] * 2)
    claims = [Claim("at_least", limit) for limit in (0.8, 0.95, 0.999)]
    assert gate(run, claims[:2]).verdict == "undecided"
    assert gate(run, claims).verdict == "failed"


def test_one_case_decides_nothing() -> None:
    """It is no error, and the reason is given."""
    claim = only_claim(gate(make_run([1]), [Claim("at_least", 0.1)]))
    assert (claim.verdict, claim.low) == ("undecided", None)
    assert claim.why == "there are too few cases with a value for an interval"


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (Claim("at_least", 0.8, "qualty"), "did you mean 'quality'"),
        (Claim("at_least", 1.5), "cases: at_least: must be from 0 to 1, got 1.5"),
        (Claim("at_least", 0.5, alpha=0.5), "alpha must be above 0 and below 0.5, got 0.5"),
        (Claim("not_worse_by", 0), "not_worse_by: must be above 0 and below 1, got 0"),
        (Claim("better_by", 1), "better_by: must be 0 or more and below 1, got 1"),
    ],
)
def test_claims_that_cannot_be_asked_are_refused(claim: Claim, problem: str) -> None:
    """The message says which values are allowed."""
    with pytest.raises(UsageError, match=problem):
        gate(make_run([1, 0]), [claim], against=make_run([1, 0]))


def test_every_problem_is_in_one_message() -> None:
    """A wrong number, and a base run that is missing."""
    with pytest.raises(UsageError) as refused:
        gate(make_run([1, 0]), [Claim("at_least", -1), Claim("better_by", 0.1)])
    assert len(str(refused.value).splitlines()) == 2


def test_an_unbounded_measure_is_refused() -> None:
    """The message names the measures that have bounds."""
    run = make_run([1, 0], criteria=[graded(None, span=Range(0, None))])
    with pytest.raises(UsageError, match="these have bounds: cases"):
        gate(run, [Claim("at_least", 1, "quality")])
