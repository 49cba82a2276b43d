"""Does a mutation score rank evaluators as natural errors do, and do weights mined from natural errors rank better?

    .venv/bin/python benchmarks/mutation_weights.py [--write]

The data are `../shared/data/evouna/nq.jsonl`: a right GPT-4 answer is the reference, and the answers of four other
systems, judged by people, are the natural answers. Youden's J of an evaluator on them is the truth. Mutants are planted
in the references of the questions at even places, and J is measured on the questions at odd places. The weights are
those of a ridge regression without negative weights, of J on the catch rates of the operators: harmful ones count for
an evaluator, harmless ones against it. An evaluator is predicted by weights of which no evaluator of its family was
part. Intervals resample families. With `--write`, the weights of all evaluators are written as a table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evaluator_family import Evaluator, evaluators
from measuring import heading, line, target
from scipy.optimize import nnls
from scipy.stats import spearmanr

from fairtrial.mutations.operator import Rules
from fairtrial.mutations.planting import Planting
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, Trace

DATA = Path(__file__).parents[2] / "shared" / "data" / "evouna" / "nq.jsonl"
TABLE = Path(__file__).parents[1] / "src" / "fairtrial" / "mutations" / "weights.txt"
_RIDGE = 0.1
_FEWEST = 30
"""The smallest number of mutants from which on an operator has a weight."""


class Pair(NamedTuple):
    """A reference, an answer, its operator or its verdict by people, and whether the evaluator should fail it."""

    reference: str
    answer: str
    operator: str
    is_bad: bool


def read_questions() -> list[dict[str, Any]]:
    """Return the questions whose GPT-4 answer is right."""
    questions = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    return [question for question in questions if question["answers"]["gpt4"]["correct"]]


def natural_pairs(questions: Iterable[dict[str, Any]]) -> list[Pair]:
    """Return the answers of the other systems."""
    return [
        Pair(question["answers"]["gpt4"]["text"], answer["text"], system, not answer["correct"])
        for question in questions
        for system, answer in question["answers"].items()
        if system != "gpt4"
    ]


def planted_pairs(questions: Sequence[dict[str, Any]]) -> list[Pair]:
    """Return the mutants of the references."""
    cases = [
        EvalCase(question["id"], (Invocation(Message(question["question"]), (), Message(text)),))
        for question in questions
        if (text := question["answers"]["gpt4"]["text"])
    ]
    planting = Planting(tuple(OPERATORS.values()))
    pairs: list[Pair] = []
    for place, case in enumerate(cases):
        neighbours = [cases[(place + n) % len(cases)] for n in range(1, 6)]
        baseline = Recording(case.id, Trace(case.conversation or ()))
        for mutant in planting.mutants(case, baseline, Rules(), {}, neighbours):
            assert mutant.mutation is not None
            reference, reply = baseline.trace.invocations[0].reply, mutant.trace.invocations[0].reply
            pairs.append(Pair(reference, reply, mutant.mutation.operator, mutant.mutation.direction == "harmful"))
    return pairs


def failures(family: Sequence[Evaluator], pairs: Sequence[Pair]) -> np.ndarray:
    """Return which evaluator fails which answer."""
    scores: dict[str, np.ndarray] = {}
    for evaluator in family:
        if evaluator.family not in scores:
            scores[evaluator.family] = np.array([evaluator.scorer(pair.reference, pair.answer) for pair in pairs])
    return np.array([scores[evaluator.family] < evaluator.threshold - 1e-9 for evaluator in family])


def youden(failed: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return Youden's J of each evaluator."""
    return failed[:, bad].mean(axis=1) - failed[:, ~bad].mean(axis=1)


def catch_rates(failed: np.ndarray, pairs: Sequence[Pair]) -> tuple[list[str], np.ndarray]:
    """Return the operators with enough mutants, and the rate at which each evaluator fails the mutants of each."""
    by_operator: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        by_operator[pair.operator].append(place)
    names = [name for name, places in by_operator.items() if len(places) >= _FEWEST]
    return names, np.stack([failed[:, by_operator[name]].mean(axis=1) for name in names], axis=1)


def mine(rates: np.ndarray, natural: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """Return weights of at least 0 that predict J from the signed rates."""
    features = rates * sign
    ridge = np.sqrt(_RIDGE) * np.eye(features.shape[1])
    weights, _ = nnls(np.vstack([features, ridge]), np.concatenate([natural, np.zeros(len(ridge))]))
    return np.asarray(weights)


def rank(predicted: np.ndarray, natural: np.ndarray) -> float:
    """Return Spearman's rank correlation, 0 if one side is constant."""
    value = float(spearmanr(predicted, natural).statistic)
    return 0.0 if np.isnan(value) else value


def interval(predicted: np.ndarray, natural: np.ndarray, families: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of the rank correlation over resampled families."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(families):
        places[name].append(place)
    names, chance = list(places), random.Random(0)
    values = sorted(
        rank(predicted[chosen], natural[chosen])
        for _ in range(1000)
        if (chosen := [place for name in chance.choices(names, k=len(names)) for place in places[name]])
    )
    return values[25], values[974]


def held_out(rates: np.ndarray, natural: np.ndarray, sign: np.ndarray, families: Sequence[str]) -> np.ndarray:
    """Return a prediction for each evaluator from weights that saw no evaluator of its family."""
    predicted = np.zeros(len(natural))
    for name in dict.fromkeys(families):
        own = np.array([family == name for family in families])
        predicted[own] = (rates[own] * sign) @ mine(rates[~own], natural[~own], sign)
    return predicted


def halves(rates: np.ndarray, natural: np.ndarray, sign: np.ndarray, families: Sequence[str]) -> list[float]:
    """Return the rank correlations on the unseen half of the families, for 200 random halves."""
    names, chance, values = list(dict.fromkeys(families)), random.Random(1), []
    for _ in range(200):
        seen = set(chance.sample(names, len(names) // 2))
        known = np.array([family in seen for family in families])
        predicted = (rates[~known] * sign) @ mine(rates[known], natural[known], sign)
        values.append(rank(predicted, natural[~known]))
    return sorted(values)


def main(peer: str = "") -> None:  # noqa: ARG001  (each evaluator runs here)
    """Print the rank correlations of the scores with the natural J, and the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table of weights")
    arguments, _ = parser.parse_known_args()
    family = list(evaluators())
    families = [evaluator.family for evaluator in family]
    questions = read_questions()
    natural_answers, mutants = natural_pairs(questions[1::2]), planted_pairs(questions[0::2])
    bad = np.array([pair.is_bad for pair in natural_answers])
    heading(f"{len(family)} evaluators of {len(set(families))} families against natural errors (EVOUNA)")
    line("natural answers, wrong / right", f"{bad.sum()} / {(~bad).sum()}")
    natural = youden(failures(family, natural_answers), bad)
    names, rates = catch_rates(failures(family, mutants), mutants)
    sign = np.array([1.0 if OPERATORS[name].direction == "harmful" else -1.0 for name in names])
    harmful, harmless = rates[:, sign > 0].mean(axis=1), rates[:, sign < 0].mean(axis=1)
    line("mutants, operators", f"{len(mutants)}, {len(names)}")
    scores = {
        "score": harmful,
        "score minus false alarms": harmful - harmless,
        "mined weights, families that they never saw": held_out(rates, natural, sign, families),
    }
    for name, predicted in scores.items():
        low, high = interval(predicted, natural, families)
        line(name, f"{rank(predicted, natural):.2f} [{low:.2f}, {high:.2f}]")
    values = halves(rates, natural, sign, families)
    line(
        "200 random halves of the families, median and 95 %", f"{values[100]:.2f} [{values[5]:.2f}, {values[194]:.2f}]"
    )
    target("rank correlation on unseen families", rank(scores[name], natural), "", at_least=0.6)
    weights = mine(rates, natural, sign)
    for operator, weight in sorted(zip(names, weights, strict=True), key=lambda pair: -pair[1]):
        if weight > 0.005:
            line(f"  {operator} ({OPERATORS[operator].direction})", f"{weight:.3f}")
    if arguments.write:
        write(names, weights, rank(scores[name], natural), interval(scores[name], natural, families))


def write(names: Sequence[str], weights: np.ndarray, correlation: float, ends: tuple[float, float]) -> None:
    """Write the table of weights with its source, its date, and the correlation on unseen families."""
    head = (
        "# Weights of operators, mined by benchmarks/mutation_weights.py from EVOUNA (Wang et al. 2023, arXiv 2305.12421)",
        f"# on {datetime.datetime.now(datetime.UTC).date()}. Rank correlation with the natural Youden's J on families of",
        f"# evaluators that the weights never saw: {correlation:.2f} [{ends[0]:.2f}, {ends[1]:.2f}].",
    )
    rows = [f"{name} {weight:.4f}" for name, weight in zip(names, weights, strict=True) if weight >= 0.0005]
    TABLE.write_text("\n".join((*head, *rows, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
