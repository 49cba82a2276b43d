"""Coverage of judge intervals. `benchmarks/judged_means.py` counts in full."""

from __future__ import annotations

import json
import random
import re
import string
from itertools import combinations
from math import sqrt
from pathlib import Path

import pytest

from fairtrial.stats.agreement import krippendorff_interval
from fairtrial.stats.clustered import mean_of_rates
from judge_situations import JudgeSituation, finite_correction, graded_correction

REPETITIONS = 300


def at_least(share: float) -> float:
    """The share less three standard errors of its estimate."""
    return share - 3 * sqrt(share * (1 - share) / REPETITIONS)


@pytest.mark.long
@pytest.mark.parametrize(
    "situation",
    [JudgeSituation(0.5, 0.9, 0.9, 50), JudgeSituation(0.9, 0.95, 0.7, 100), JudgeSituation(0.5, 0.6, 0.6, 100)],
    ids=lambda situation: situation.name,
)
def test_agreement_is_covered(situation: JudgeSituation) -> None:
    """Accuracy, kappa, Matthews' correlation and J: at least 93 %, unless judge and people hardly ever differ."""
    assert min(situation.agreement(REPETITIONS, seed=1).values()) >= at_least(0.93)


@pytest.mark.long
def test_agreement_on_attempts_of_the_same_cases_is_covered() -> None:
    """Four labels on each of 25 cases, of which most are alike. Intervals of 100 cases hold four times in five."""
    situation = JudgeSituation(0.5, 0.9, 0.9, 100, attempts=4, alike=0.7)
    assert min(situation.agreement(REPETITIONS, seed=1).values()) >= at_least(0.93)


@pytest.mark.long
def test_agreement_of_people_is_covered() -> None:
    """Three people see the truth with a chance of 0.85, on three similar items of each of 30 cases.

    Two of them differ with a chance of 2 x 0.85 x 0.15 = 0.255, and by chance in half of the items: alpha is 0.49.
    """
    source = random.Random(1)
    held = {"raw": 0, "alpha": 0}
    for _ in range(REPETITIONS):
        cases = [_labelled_case(source) for _ in range(30)]
        ends = krippendorff_interval(cases)
        assert ends is not None
        held["alpha"] += ends[0] <= 0.49 <= ends[1]
        pairs = [[pair for answers in items for pair in combinations(answers, 2)] for items in cases]
        share = mean_of_rates([{"equal": (sum(a == b for a, b in own), len(own))} for own in pairs])
        assert share is not None
        assert share[1] is not None
        held["raw"] += share[1][0] <= 0.745 <= share[1][1]
    assert min(held.values()) / REPETITIONS >= at_least(0.93)


def _labelled_case(source: random.Random) -> list[list[float]]:
    common = source.random() < 0.5
    truths = [common if source.random() < 0.5 else source.random() < 0.5 for _ in range(3)]
    return [[float(truth == (source.random() < 0.85)) for _ in range(3)] for truth in truths]


@pytest.mark.long
def test_youden_of_a_nearly_perfect_judge_is_covered() -> None:
    """The state of a judge rests on J, whose interval holds also if judge and people hardly ever differ."""
    assert JudgeSituation(0.7, 0.99, 0.99, 200).agreement(REPETITIONS, seed=1)["youden"] >= at_least(0.93)


@pytest.mark.long
@pytest.mark.parametrize(
    "situation",
    [
        JudgeSituation(0.3, 0.6, 0.55, 20, 200),
        JudgeSituation(0.7, 0.95, 0.9, 50, 200),
        JudgeSituation(0.95, 0.9, 0.6, 50, 400),
        JudgeSituation(0.7, 0.99, 0.99, 20, 200),
    ],
    ids=lambda situation: situation.name,
)
def test_corrected_means_are_covered(situation: JudgeSituation) -> None:
    """At least 94 %, also with 20 labels and with a judge that is nearly useless or nearly perfect."""
    assert situation.correction(REPETITIONS, seed=1)["corrected"] >= at_least(0.94)


def test_corrected_means_of_grades_are_covered() -> None:
    """A judge that lifts a third of the grades."""
    assert graded_correction(50, 200, REPETITIONS, seed=1) >= at_least(0.94)


@pytest.mark.shared
def test_a_judge_by_containment_is_corrected(shared: Path) -> None:
    """EVOUNA's gpt4: the judge's own interval never holds people's rate, the corrected one does, and it is narrower."""
    people, judge = evouna(shared, "gpt4")
    corrected, own, width = finite_correction(people, judge, 100, REPETITIONS, seed=1)
    assert round(sum(judge) / len(judge), 2) == 0.61
    assert round(sum(people) / len(people), 2) == 0.78
    assert own == 0
    assert corrected >= at_least(0.95)
    assert width < 0.9


def evouna(shared: Path, model: str) -> tuple[list[float], list[float]]:
    """The verdicts of people, and of a judge that looks whether a reference is contained in the answer."""
    people, judge = [], []
    for line in (shared / "data" / "evouna" / "nq.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        answer = row["answers"].get(model)
        if answer is not None:
            people.append(float(answer["correct"]))
            judge.append(float(any(plain(reference) in plain(answer["text"]) for reference in row["references"])))
    return people, judge


def plain(text: str) -> str:
    """A text in lower case, without punctuation, articles and surplus spaces."""
    letters = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())
