"""Split labelled outcomes into those that choose a judge and those that test the choice."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class LabelledOutcome:
    """An outcome that people labelled. `passed` is the verdict of most people.

    `key` is unique among the outcomes. Outcomes of the same `case` stay together in a split. `weight` is the number of
    outcomes that this one stands for in its sample.
    """

    key: str
    case: Hashable
    passed: bool
    language: str = ""
    weight: float = 1.0


def split_labels(outcomes: Iterable[LabelledOutcome], seed: int) -> tuple[list[LabelledOutcome], list[LabelledOutcome]]:
    """Return the outcomes to choose with and those to test with, each about half of the cases.

    The halves have about equal shares of each verdict and each language. The outcomes of a case are in the same half.
    """
    cases: defaultdict[Hashable, list[LabelledOutcome]] = defaultdict(list)
    for outcome in outcomes:
        cases[outcome.case].append(outcome)
    strata: defaultdict[tuple[str, bool, bool], list[list[LabelledOutcome]]] = defaultdict(list)
    for own in cases.values():
        verdicts = {outcome.passed for outcome in own}
        strata[own[0].language, True in verdicts, False in verdicts].append(own)
    dice = random.Random(f"labels {seed}")  # noqa: S311  (a sample, not a secret)
    halves: tuple[list[LabelledOutcome], list[LabelledOutcome]] = ([], [])
    turn = 0
    for _, stratum in sorted(strata.items()):
        dice.shuffle(stratum)
        for own in stratum:
            halves[turn % 2].extend(own)
            turn += 1
    return halves


def count_verdicts(outcomes: Iterable[LabelledOutcome]) -> tuple[int, int]:
    """Return how many cases have an outcome that people pass, and how many have an outcome that they fail.

    Cases are counted, because the outcomes of a case stay in one half.
    """
    cases: tuple[set[Hashable], set[Hashable]] = (set(), set())
    for outcome in outcomes:
        cases[not outcome.passed].add(outcome.case)
    return len(cases[0]), len(cases[1])
