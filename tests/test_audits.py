"""Audits report how often a gate is right, and which cases and criteria tell nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from commands import enter, fairtrial, write
from fairtrial import Claim, Criterion, EvalCase, Run, Trace
from fairtrial.api import audit_gate, audit_suite, gate
from fairtrial.store import DEFAULT_URL
from graded_runs import graded, graded_run

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, with its own store."""
    enter(tmp_path, monkeypatch)


def make_run(values: Sequence[float], **more: object) -> Run:
    """A run with one attempt of each case."""
    cases = {f"case {number:02}": [value] for number, value in enumerate(values)}
    return graded_run(cases, store=DEFAULT_URL, **more)  # type: ignore[arg-type]


def binomial(cases: int, truth: float, passes: Sequence[int]) -> float:
    """The probability that so many of these cases pass."""
    return sum(math.comb(cases, k) * truth**k * (1 - truth) ** (cases - k) for k in passes)


def test_the_error_and_the_power_of_a_claim_are_counted() -> None:
    """They are sums of binomial probabilities over the results with which the gate itself passes or fails."""
    claim = Claim("at_least", 0.8)
    verdicts = {k: gate(make_run([1.0] * k + [0.0] * (20 - k)), [claim]).verdict for k in range(21)}
    (audit,) = audit_gate(make_run([1.0] * 19 + [0.0]), [claim], drop=0.3).claims
    passing, failing = ([k for k in verdicts if verdicts[k] == word] for word in ("passed", "failed"))
    assert audit.error == pytest.approx(binomial(20, 0.8, passing))
    assert audit.passes == pytest.approx(binomial(20, 0.95, passing))
    assert audit.noticed == pytest.approx(binomial(20, 0.5, failing))
    assert (audit.method, audit.cases) == ("enumeration", 20)


def test_as_many_cases_as_are_named_notice_the_drop() -> None:
    """A run of that size fails in about 80 of 100 releases."""
    claim = Claim("at_least", 0.8)
    needed = audit_gate(make_run([1.0] * 18 + [0.0] * 2), [claim], drop=0.15).claims[0].needed
    assert needed is not None
    (again,) = audit_gate(make_run([1.0] * (needed - 5) + [0.0] * 5), [claim], drop=0.15).claims
    assert again.noticed == pytest.approx(0.8, abs=0.05)


def test_a_difference_is_drawn_again_and_keeps_its_promise() -> None:
    """The error is at most 5 % and noise, two audits say the same, and more cases notice more."""
    claim = [Claim("not_worse_by", 0.1)]
    audits = []
    for cases in (30, 120):
        base = make_run([float(k % 5 > 0) for k in range(cases)])
        run = make_run([float(k % 5 > 0 or k % 10 == 0) if k % 15 else 0.0 for k in range(cases)])
        first, second = (audit_gate(run, claim, against=base, drop=0.2).claims[0] for _ in range(2))
        assert first == second
        assert first.error <= 0.06
        audits.append(first)
    assert audits[0].method == "simulation"
    assert audits[0].noticed < audits[1].noticed
    assert audits[0].passes < audits[1].passes


def test_gate_audit_speaks_in_words() -> None:
    """The claims may be those of a file, and no exit code but 0 comes from an audit."""
    run = make_run([1.0] * 18 + [0.0] * 2).info.id
    write("gates.json", [{"at_least": 0.85}, {"measure": "quality", "at_least": 0.5}])
    done = fairtrial("gate", run, "--gates", "gates.json", "--audit", "--json", "audit.json")
    text = " ".join(done.out.split())
    assert done.code == 0
    assert "cases at least 85 %, with 20 cases:" in text
    assert "An agent exactly at the limit would pass in 3.9 of 100 releases; promised are at most 5." in text
    assert "would notice a drop of 5 points below the limit in" in text
    assert "cases would notice it in 80." in text
    assert fairtrial("gate", run, "--at-least", "0.8", "--audit", "--about", "these-cases").code == 2


def half(trace: Trace, case: EvalCase) -> float:
    """Half of the quality: another number with the same meaning."""
    del case
    return float(trace.invocations[-1].reply) / 2


CASES = 40
GOOD = [1.0] * 30 + [0.0] * 5 + [1.0, 1.0, 1.0, 1.0, 0.0]
BAD = [1.0] * 10 + [0.0] * 20 + [0.0] * 5 + [1.0, 1.0, 1.0, 0.0, 1.0]


def suite(criteria: Sequence[Criterion] = ()) -> tuple[Run, Run]:
    """Two runs of forty cases: ten never fail, five never pass, and one is passed by the worse run only."""
    return make_run(GOOD, criteria=criteria or None), make_run(BAD, criteria=criteria or None)


def test_cases_that_tell_nothing_are_named() -> None:
    """Those that never fail or never pass, and those that agents of different quality share."""
    found = audit_suite(suite())
    always = [f"case {number:02}" for number in (*range(10), 35, 36, 37)]
    assert [case.case for case in found.never_fail] == always
    assert [case.case for case in found.never_pass] == [f"case {number:02}" for number in range(30, 35)]
    assert all(0 < case.low < 0.5 < case.high == 1 for case in found.never_fail)
    assert sorted(found.never_separate or ()) == sorted([*always, *(f"case {number:02}" for number in range(30, 35))])
    assert [case.case for case in found.opposed_cases] == ["case 39"]


def test_as_many_cases_could_go_as_never_separate() -> None:
    """A comparison of the rest notices no fewer broken cases."""
    found = audit_suite(suite())
    assert found.removable == len(found.never_separate or ()) == 18
    assert found.noticed_now is not None
    assert found.noticed_without is not None
    assert found.noticed_without <= found.noticed_now


def test_a_criterion_that_copies_another_is_named() -> None:
    """`half` says what `quality` says."""
    more = [graded(), Criterion("half", half, 0.25)]
    (copy,) = audit_suite(suite(more)).copies
    assert (copy.criterion, copy.other) == ("half", "quality")
    assert copy.correlation.value == pytest.approx(1)
    assert copy.correlation.low is not None
    assert 0.8 < copy.correlation.low < 1


def tone(trace: Trace, case: EvalCase) -> float:
    """A criterion that fails the reply 0.9."""
    del case
    return float(trace.invocations[-1].reply != "0.9")


def test_a_criterion_that_the_better_agent_fails_is_named() -> None:
    """The run that passes 28 of 40 cases fails `tone` in 12, and the run that passes 15 never fails it."""
    criteria = [graded(), Criterion("tone", tone, 0.5)]
    good = make_run([0.9] * 12 + [1.0] * 28, criteria=criteria)
    bad = make_run([0.0] * 25 + [1.0] * 15, criteria=criteria)
    (found,) = audit_suite([bad, good]).opposed_criteria
    assert (found.criterion, found.better, found.worse) == ("tone", good.info.id, bad.info.id)
    assert found.difference.value == pytest.approx(-12 / 40)
    assert (found.difference.high or 0) < 0


def test_one_run_is_audited_without_a_comparison() -> None:
    """Nothing is known about separation, and that is said."""
    (good, _) = suite()
    done = fairtrial("plan", "--audit", good.info.id, "--json", "audit.json")
    assert done.code == 0
    assert "no two runs differ in `cases`, so nothing says which case separates agents" in " ".join(done.out.split())
    assert '"never_separate": null' in Path("audit.json").read_text(encoding="utf-8")


def test_plan_audit_speaks_in_words() -> None:
    """Names, bounds, and how many cases could go."""
    good, bad = (run.info.id for run in suite([graded(), Criterion("half", half, 0.25)]))
    text = " ".join(fairtrial("plan", "--audit", good, bad).out.split())
    for part in (
        "40 cases in 2 runs",
        "13 cases never failed: case 00, case 01",
        "18 cases never separated agents of different quality",
        f"case 39: {bad} passes it more often than the better {good}: -100 points",
        "half copies quality: correlation 1.00",
        "18 cases could go without losing power",
    ):
        assert part in text, part
    assert fairtrial("plan", good, bad, good, "--detect", "0.1").code == 2
