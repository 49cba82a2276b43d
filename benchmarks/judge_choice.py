"""Measure the choice of a judge: is its gain unbiased, does its interval hold the truth, and is "better" true?

Run: python benchmarks/judge_choice.py [--draws 400] [--labels 60]

A population is a table of recorded judges with known labels. A draw takes labelled items from it with replacement,
chooses a judge on one half of the draw, and tests it on the other half. The true gain is that of the chosen judge in
the population. For two equal judges, the verdicts of two judges change places by a coin for each item.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from math import fsum
from pathlib import Path
from statistics import stdev
from typing import NamedTuple

import mutation_weights

from fairtrial.analysis.alignment.judge_selection import Candidate, ChoiceTerms, choose_judge
from fairtrial.analysis.alignment.label_split import LabelledOutcome
from fairtrial.stats.agreement import share_interval

LLMBAR = Path(__file__).parents[2] / "shared" / "data" / "llmbar" / "judgements.csv"
_STRATEGIES = ("Vanilla", "Vanilla_NoRules", "CoT")
Verdicts = Mapping[str, bool | None]


class Population(NamedTuple):
    """The labels of items, and the verdicts of each judge on them. The first judge is the current one."""

    name: str
    labels: Mapping[str, bool]
    judges: Mapping[str, Verdicts]


def llmbar() -> Population:
    """Return six judges with three prompts each, and their panels of three with one prompt."""
    labels: dict[str, bool] = {}
    judges: defaultdict[str, dict[str, bool | None]] = defaultdict(dict)
    with LLMBAR.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["strategy"] in _STRATEGIES:
                item = f"{row['subset']} {row['item']}"
                labels[item] = row["label"] == "1"
                verdict = {"1": True, "2": False}.get(row["winner"])
                judges[f"{row['judge']} {row['strategy']}"][item] = verdict
    plain = [name for name in judges if name.endswith(" Vanilla")]
    panels = {
        " + ".join(members): {item: _majority([judges[name].get(item) for name in members]) for item in labels}
        for members in combinations(plain, 3)
    }
    first = "ChatGPT Vanilla"
    return Population("LLMBar", labels, {first: judges[first], **judges, **panels})


def _majority(verdicts: list[bool | None]) -> bool | None:
    passes, fails = verdicts.count(True), verdicts.count(False)
    return None if passes + fails < len(verdicts) / 2 else passes > fails


def evouna() -> Population:
    """Return criteria without a model on the answers of four systems, beside the verdicts of people."""
    evaluators, natural, _ = mutation_weights.evouna()
    failed = mutation_weights.failures(evaluators, natural)
    labels = {str(number): not pair.is_bad for number, pair in enumerate(natural)}
    judges = {
        f"{family} {row}": {str(number): not fails for number, fails in enumerate(failed[row])}
        for row, family in enumerate(evaluators.families)
    }
    return Population("EVOUNA", labels, judges)


def draw(population: Population, size: int, dice: random.Random) -> Iterator[tuple[LabelledOutcome, str]]:
    """Yield items of a population, drawn with replacement. Each draw is an outcome and a case of its own."""
    items = list(population.labels)
    for number in range(size):
        item = dice.choice(items)
        yield LabelledOutcome(str(number), number, population.labels[item]), item


class Measured(NamedTuple):
    """The mean error of the gain, its standard error, and shares of draws: the truth held, "better" said and false."""

    error: float
    deviation: float
    held: tuple[float, float, float]
    better: float
    false: tuple[float, float, float]


def measure(population: Population, size: int, draws: int, *, is_equal: bool = False) -> Measured:
    """Choose in many draws. With `is_equal` there are two judges with the same true loss."""
    dice = random.Random(f"{population.name} {size} {is_equal}")
    losses = {name: _loss(population, own) for name, own in population.judges.items()}
    pair = sorted(losses, key=losses.__getitem__)[:2]
    errors, held, better, false = [], [], [], []
    for seed in range(draws):
        drawn = list(draw(population, size, dice))
        if is_equal:
            candidates = _swap(population, pair, drawn, dice)
            truths = dict.fromkeys(("first", "second"), 0.0)
        else:
            candidates = [
                Candidate(name, {outcome.key: own.get(item) for outcome, item in drawn})
                for name, own in population.judges.items()
            ]
            truths = losses
        choice = choose_judge("match", [outcome for outcome, _ in drawn], candidates, ChoiceTerms(seed=seed))
        truth = truths[choice.before.name] - truths[choice.after.name]
        errors.append((choice.gain.value or 0.0) - truth)
        low, high = choice.gain.low, choice.gain.high
        held.append(low is not None and high is not None and low <= truth <= high)
        better.append(choice.is_better)
        false.append(choice.is_better and truth <= 0)
    return Measured(fsum(errors) / draws, stdev(errors) / draws**0.5, _share(held), sum(better) / draws, _share(false))


def _loss(population: Population, verdicts: Verdicts) -> float:
    return fsum(verdicts.get(item) is not label for item, label in population.labels.items()) / len(population.labels)


def _swap(
    population: Population, pair: list[str], drawn: list[tuple[LabelledOutcome, str]], dice: random.Random
) -> list[Candidate]:
    sides: tuple[dict[str, bool | None], dict[str, bool | None]] = ({}, {})
    for outcome, item in drawn:
        verdicts = [population.judges[name].get(item) for name in pair]
        dice.shuffle(verdicts)
        sides[0][outcome.key], sides[1][outcome.key] = verdicts
    return [Candidate("first", sides[0]), Candidate("second", sides[1])]


def _share(hits: list[bool]) -> tuple[float, float, float]:
    return share_interval([(hit, 1.0) for hit in hits]) or (0.0, 0.0, 1.0)


def main() -> None:
    """Print a row for each population and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--labels", type=int, nargs="*", default=(60, 120, 300))
    arguments = parser.parse_args()
    draws = arguments.draws
    print("population  labels  error of the gain  interval holds       claims better  claims it falsely")
    for population in (llmbar(), evouna()):
        for size in arguments.labels:
            for is_equal in (False, True):
                own = measure(population, size, draws, is_equal=is_equal)
                name = f"{population.name}{', equal' if is_equal else f', {len(population.judges)} judges'}"
                held = "{:.1%} ({:.1%} to {:.1%})".format(*own.held)
                false = "{:.1%} ({:.1%} to {:.1%})".format(*own.false)
                error = f"{100 * own.error:+.2f} ± {100 * own.deviation:.2f} points"
                print(f"{name:20}  {size:4}  {error}  {held}  {own.better:.1%}  {false}", flush=True)


if __name__ == "__main__":
    main()
