"""The numbers that others printed are reproduced."""

from __future__ import annotations

from math import comb, isclose
from pathlib import Path

import pytest

from builders import load
from fairtrial.api import score
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace
from fairtrial.stats.interval import wilson
from fairtrial.stats.student import student_quantile
from fairtrial.text.rouge import rouge

T_TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228} | {
    15: 2.131,
    20: 2.086,
    25: 2.060,
    29: 2.045,
    30: 2.042,
    40: 2.021,
    60: 2.000,
    100: 1.984,
}


@pytest.mark.parametrize(("df", "value"), T_TABLE.items())
def test_students_t(df: int, value: float) -> None:
    """The column of 0.975 in NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2."""
    assert round(student_quantile(0.975, df), 3) == value


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals(passed: int, n: int, low: float, high: float) -> None:
    """The four examples of Newcombe (1998), Statistics in Medicine 17, table I, method 3."""
    found = wilson(passed / n, n, 1.959963984540054)
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


def test_rouge_l_and_rouge_2() -> None:
    """The example of Lin (2004), section 3.1: 3/4 and 2/4 in ROUGE-L; one bigram of three, "the gunman", in ROUGE-2."""
    reference = ["police", "killed", "the", "gunman"]
    second, third = ["police", "kill", "the", "gunman"], ["the", "gunman", "kill", "police"]
    assert rouge(second, reference, kind="rougeL").f == 0.75
    assert rouge(third, reference, kind="rougeL").f == 0.5
    assert isclose(rouge(second, reference, kind="rouge2").f, 1 / 3)
    assert isclose(rouge(third, reference, kind="rouge2").f, 1 / 3)


TAU = Path("tau-bench") / "gpt-4o-airline.json"


def reward(trace: Trace, case: EvalCase) -> float:  # noqa: ARG001
    """What tau-bench said of a dialogue."""
    assert trace.reward is not None
    return trace.reward


@pytest.mark.shared
def test_tau_bench_holds_fifty_tasks_in_four_trials(shared: Path) -> None:
    """One file is expectations and recordings."""
    found = load((shared / "data" / TAU).read_bytes(), TAU.name)
    assert found.eval_set is not None
    assert len(found.eval_set.cases) == 50
    assert len(found.recordings) == 200
    assert {one.attempt for one in found.recordings} == {1, 2, 3, 4}


@pytest.mark.shared
def test_tau_bench_pass_hat_k(shared: Path) -> None:
    """pass^1..4 of gpt-4o on airline: 0.420, 0.273, 0.220, 0.200, the mean of C(c, k) / C(4, k) over the tasks.

    Published in tau-bench's repository (Yao et al. 2024, arXiv 2406.12045).
    """
    run = score(shared / "data" / TAU, criteria={"reward": reward})
    successes: dict[str, int] = {}
    for case in run.cases:
        (outcome,) = (one for one in case.outcomes if one.criterion == "reward")
        successes[case.case_id] = successes.get(case.case_id, 0) + (outcome.score.value == 1)
    assert len(successes) == 50
    hats = [sum(comb(c, k) for c in successes.values()) / comb(4, k) / 50 for k in (1, 2, 3, 4)]
    assert [round(hat, 3) for hat in hats] == [0.420, 0.273, 0.220, 0.200]


@pytest.mark.long
@pytest.mark.shared
def test_tau_bench_calls_against_the_gold_actions(shared: Path) -> None:
    """Over whole conversations, what is matched in order is matched in any order too; some dialogues match."""
    found: dict[str, list[Score]] = {}
    for name in ("ANY_ORDER", "IN_ORDER"):
        options = {"threshold": 1.0, "match_type": name, "scope": "conversation"}
        run = score(shared / "data" / TAU, criteria={"tool_trajectory_avg_score": options})
        found[name] = [case.outcomes[0].score for case in run.cases]
    pairs = list(zip(found["ANY_ORDER"], found["IN_ORDER"], strict=True))
    assert len(pairs) == 200
    assert all(loose.value in {0, 1} and strict.value in {0, 1} for loose, strict in pairs)
    assert all((loose.value or 0) >= (strict.value or 0) for loose, strict in pairs)
    assert sum(strict.value or 0 for _, strict in pairs) > 0
