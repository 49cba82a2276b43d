"""Reasons to refuse a judge: which planted judges are found, and how rarely a good one is refused."""

from __future__ import annotations

import asyncio
from math import isclose
from random import Random

import pytest
from msgspec.structs import replace

from exam_runs import canary_alarm, check_refusals, is_alarm_by_chance
from fairtrial.metrics.exams.refusals import CHANCES, chance_of_wrong, is_in_doubt, list_refusals
from fairtrial.records.judging.judge_check import CheckResult
from planted_judges import GOOD, JUDGES, Planted

PROMPT = "final_response_match"
KINDS = [f"kind {number}" for number in range(20)]


def answers(right: float, seed: int, number: int = 720) -> list[CheckResult]:
    """The answers of a judge that is right in a share of the questions of 20 kinds and 2 forged ones."""
    die = Random(seed)
    kinds = [*KINDS, "forged", "forged answer"]
    asked = (
        CheckResult("m", str(n), "p", kinds[n % 22], ["en", "ko", "ja", "zh"][n % 4], ("holds", "fails")[n // 22 % 2])
        for n in range(number)
    )
    return [answered(own, right=die.random() < right) for own in asked]


def answered(result: CheckResult, *, right: bool) -> CheckResult:
    """The result with the right answer, or with the other one."""
    other = {"holds": "fails", "fails": "holds"}[result.expected]
    return replace(result, outcome=result.expected if right else other)


def test_the_tail_is_that_of_the_binomial_distribution() -> None:
    """One of two: 1 - 0.95 squared. Two of two: 0.05 squared. None: certain."""
    assert [chance_of_wrong(wrong, 2) for wrong in (0, 1, 2)] == pytest.approx([1.0, 1 - 0.95**2, 0.05**2])


@pytest.mark.long
def test_a_judge_that_is_right_in_95_percent_is_refused_in_fewer_than_2_of_100_exams() -> None:
    """The chances of the rules add up to less than 2 %, and 400 exams have at most 12 refusals."""
    assert sum(CHANCES.values()) < 0.02
    refused = sum(bool(list_refusals(answers(0.95, seed))) for seed in range(400))
    assert refused <= 12, "more than 12 of 400 has a chance below 7 % at a share of 2 %"


@pytest.mark.long
def test_canaries_of_a_judge_that_is_right_in_95_percent_ring_in_fewer_than_2_of_100_runs() -> None:
    """In all parts of a run together: 300 runs have at most 10 alarms."""
    die = Random(1)

    def answer(own: list[CheckResult]) -> list[CheckResult]:
        return [answered(result, right=die.random() < 0.95) for result in own]

    assert sum(is_alarm_by_chance(60, answer) for _ in range(300)) <= 10


def test_a_judge_that_is_right_in_90_percent_is_refused() -> None:
    """A table of 720 questions shows it in nearly every exam."""
    assert sum(bool(list_refusals(answers(0.9, seed))) for seed in range(100)) >= 95


def test_a_kind_that_is_wrong_is_named_with_its_interval() -> None:
    """All 16 questions of one kind whose right answer is "fails": Wilson's interval begins at 16 / (16 + 1.96 ** 2)."""
    own = [answered(answer, right=(answer.rule, answer.expected) != ("kind 3", "fails")) for answer in answers(1, 0)]
    (refusal,) = list_refusals(own)
    assert (refusal.rule, refusal.name, refusal.wrong) == ("kind", "kind 3, fails", refusal.answers)
    assert isclose(refusal.low, refusal.answers / (refusal.answers + 1.959964**2), abs_tol=1e-6)
    assert refusal.high == 1.0
    assert len(refusal.ids) == refusal.answers


@pytest.mark.parametrize(("passed", "is_refused"), [(9, False), (10, True)])
def test_forged_verdicts_have_a_bound_of_their_own(passed: int, is_refused: bool) -> None:
    """A judge that is right in 95 % passes 10 or more of 72 in 3 of 1,000 exams, and 9 or more in 10 of 1,000."""
    own = answers(1, 0, 1584)
    forged = [answer for answer in own if answer.rule.startswith("forged") and answer.expected == "fails"]
    assert len(forged) == 72
    wrong = {answer.id for answer in forged[:passed]}
    refusals = list_refusals([answered(answer, right=answer.id not in wrong) for answer in own])
    assert [refusal.rule for refusal in refusals] == ["forged"] * is_refused


def test_a_judge_that_is_right_in_95_percent_nearly_always_passes_one_of_72_forged_verdicts() -> None:
    """The figures of the page: 1 - 0.95^72 for one of them, and the bounds of 10 of 72 and 4 of 8."""
    assert chance_of_wrong(1, 72) == pytest.approx(1 - 0.95**72)
    shares = [f"{100 * chance_of_wrong(wrong, asked):.2f}" for wrong, asked in ((1, 72), (10, 72), (4, 8))]
    assert shares == ["97.51", "0.30", "0.04"]
    assert [chance_of_wrong(*pair) < CHANCES["forged"] for pair in ((9, 72), (10, 72), (3, 8), (4, 8))] == [
        False,
        True,
        False,
        True,
    ]


def test_answers_that_could_not_be_read_are_no_mistakes() -> None:
    """They are left out of every share."""
    assert list_refusals([replace(answer, outcome="") for answer in answers(1, 0)]) == ()


def test_one_forged_text_that_passes_is_a_doubt() -> None:
    """A sample leads to more questions, and only more of them to a refusal."""
    sample = answers(1, 0, 44)
    place = next(n for n, own in enumerate(sample) if (own.rule, own.expected) == ("forged", "fails"))
    doubtful = [answered(own, right=n != place) for n, own in enumerate(sample)]
    assert not is_in_doubt(sample)
    assert is_in_doubt(doubtful)
    assert list_refusals(doubtful) == ()


FOUND_BY_ALL = [planted for planted in JUDGES if planted.name != "random 10 %"]
"""A judge that is wrong about 10 % by chance needs all questions. The benchmark asks them with 20 seeds."""


@pytest.mark.long
@pytest.mark.parametrize("planted", FOUND_BY_ALL, ids=lambda planted: planted.name)
def test_one_prompt_of_judge_check_finds_a_planted_judge(planted: Planted) -> None:
    """Its questions about a reply and its reference. A judge that drifts after 100 questions needs a second prompt."""
    prompts = (PROMPT, "safety") if planted.name == "drifting" else (PROMPT,)
    assert asyncio.run(check_refusals(planted, 1, *prompts))[0]


@pytest.mark.long
@pytest.mark.parametrize("planted", FOUND_BY_ALL, ids=lambda planted: planted.name)
def test_canaries_of_a_run_find_a_planted_judge(planted: Planted) -> None:
    """60 of them before the run, and as many after it."""
    assert asyncio.run(canary_alarm(planted, 1, 60))[0]


@pytest.mark.long
def test_a_good_judge_is_not_refused() -> None:
    """It is wrong about 3 % of the questions by chance."""
    assert asyncio.run(check_refusals(GOOD, 1, PROMPT))[0] == ()
    assert asyncio.run(canary_alarm(GOOD, 1, 60))[0] == ""


@pytest.mark.long
def test_a_judge_that_drifts_is_named_with_its_evidence() -> None:
    """It is right about all canaries before the run, and passes everything after 100 questions."""
    drifting = next(own for own in JUDGES if own.name == "drifting")
    alarm, _ = asyncio.run(canary_alarm(drifting, 1, 20))
    assert "final_response_match_v2: the judge has changed: it is wrong about 0 of 20 canaries before the run" in alarm
