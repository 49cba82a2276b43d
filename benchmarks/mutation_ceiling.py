"""Which rank correlation can any score reach? The results of mutation_weights.py beside their target and ceilings.

    .venv/bin/python benchmarks/mutation_ceiling.py

The mutants are those of the package and of the domain. The ceiling of a half are weights mined from J on that very
half, without the family of the evaluator. For tau-bench, a half has 25 tasks, so that J on it is known with an error
only. Three bounds follow, the loosest first:

- Noise: J on all tasks ranks the evaluators, and J on 25 drawn tasks is the truth. All trials of a task are drawn
  together, because they fail together. A second estimate is the root of the correlation of two halves: it does not take
  the chance in J on all tasks for truth.
- Oracle: weights mined from J on the very half that they are judged by, without the family of the evaluator.
- Mined weights on random halves: how often does each half, and how often do both, reach the target?

The ranges are those of draws and of splits, which overlap. 200 splits take six minutes.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from measuring import heading, line
from mutation_weights import (
    Evaluators,
    Pair,
    catch_rates,
    evouna,
    failures,
    llmbar,
    mine,
    natural_rates,
    predict,
    rank,
    tau_bench,
    z,
)

_TARGET = 0.6
_DRAWS = 2000


def drawn_tasks(natural: Sequence[Pair], draws: int, size: int) -> Iterator[np.ndarray]:
    """Yield the places of the conversations of some tasks, drawn with replacement."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(natural):
        places[pair.question].append(place)
    tasks, chance = list(places), random.Random(0)
    for _ in range(draws):
        yield np.array([place for task in chance.choices(tasks, k=size) for place in places[task]])


def split_tasks(natural: Sequence[Pair], splits: int) -> Iterator[np.ndarray]:
    """Yield which conversations are of a random half of the tasks."""
    tasks = list(dict.fromkeys(pair.question for pair in natural))
    chance = random.Random(1)
    for _ in range(splits):
        half = frozenset(chance.sample(tasks, len(tasks) // 2))
        yield np.array([pair.question in half for pair in natural])


def youden(failed: np.ndarray, is_bad: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return J of each evaluator on the conversations at some places, which can repeat."""
    bad = is_bad[places]
    return np.asarray(failed[:, places[bad]].mean(axis=1) - failed[:, places[~bad]].mean(axis=1))


def spread(values: Sequence[float]) -> str:
    """Return the mean of some values, and the range that holds 95 % of them."""
    low, high = np.percentile(values, [2.5, 97.5])
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"


def _rates(of: Evaluators, planted: Sequence[Pair]) -> tuple[list[str], np.ndarray]:
    return catch_rates(failures(of, planted), planted)


def halves_of(
    source: str, of: Evaluators, natural: Sequence[Pair], failed: np.ndarray, names: Sequence[str], rates: np.ndarray
) -> None:
    """Print the result and the ceiling of both halves of a source, and how many weights are below 0."""
    half = {name: natural_rates(failed, natural, np.array([each.group == name for each in natural])) for name in "ab"}
    for seen, name in ("ba", "ab"):
        own = half[name]
        oracle, mined = (rank(predict(rates, half[key], of.families), own.youden) for key in (name, seen))
        verdict = "reached" if mined >= _TARGET else "missed"
        line(f"{source}, half {name}: target, result, ceiling", f"{_TARGET}, {mined:.2f}, {oracle:.2f}: {verdict}")
    values, whole = z(rates), natural_rates(failed, natural, np.ones(len(natural), dtype=bool))
    weights = np.array([mine(values - values.mean(axis=0), own - own.mean()) for own in map(z, whole)])
    below = (weights < 0).sum(axis=1)
    line(f"{source}: weights below 0", f"{below[0]} (sensitivity) and {below[1]} (false alarms) of {len(names)}")


def main(peer: str = "") -> None:  # noqa: ARG001  (each evaluator runs here)
    """Print the bounds on the rank correlation of a score with J on a half of the tasks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=200, help="the number of random halves of the tasks")
    arguments, _ = parser.parse_known_args()
    for title, (of, natural, planted, with_domain) in {"EVOUNA": evouna(), "LLMBar": llmbar()}.items():
        failed = failures(of, natural)
        heading(f"{title}: {len(of.fails)} evaluators")
        halves_of(title, of, natural, failed, *_rates(of, with_domain or planted))
        splits = split_tasks(natural, _DRAWS // 10)
        pairs = [(natural_rates(failed, natural, half), natural_rates(failed, natural, ~half)) for half in splits]
        line(f"{title}: J of one half against the other", spread([rank(a.youden, b.youden) for a, b in pairs]))
    of, natural, _, planted = tau_bench()
    failed = failures(of, natural)
    is_bad = np.array([pair.is_bad for pair in natural])
    names, rates = _rates(of, planted)
    everything = np.arange(len(natural))
    truth = youden(failed, is_bad, everything)
    tasks = len({pair.question for pair in natural})
    heading(f"tau-bench: {len(of.fails)} evaluators, {tasks} tasks, {len(natural)} conversations")

    drawn = [rank(truth, youden(failed, is_bad, each)) for each in drawn_tasks(natural, _DRAWS, tasks // 2)]
    line("a predictor that knows J, on 25 drawn tasks", spread(drawn))
    line("share of draws that reach the target", f"{np.mean(np.array(drawn) >= _TARGET):.0%}")
    chance = random.Random(2)
    single = [np.array(chance.choices(range(len(natural)), k=len(natural) // 2)) for _ in range(_DRAWS)]
    line("the same, conversations drawn one by one", spread([rank(truth, youden(failed, is_bad, s)) for s in single]))

    splits = list(split_tasks(natural, arguments.splits))
    halves = [(natural_rates(failed, natural, half), natural_rates(failed, natural, ~half)) for half in splits]
    between = [rank(first.youden, second.youden) for first, second in halves]
    line("J of one random half against J of the other", spread(between))
    line("its root, a predictor that knows J", spread([max(each, 0.0) ** 0.5 for each in between]))

    halves_of("tau-bench", of, natural, failed, names, rates)
    oracle = [rank(predict(rates, first, of.families), first.youden) for first, _ in halves]
    line(f"oracle, {len(splits)} random halves", spread(oracle))
    line("share of them that reaches the target", f"{np.mean(np.array(oracle) >= _TARGET):.0%}")
    mined = np.array(
        [[rank(predict(rates, seen, of.families), half.youden) for seen, half in (each, each[::-1])] for each in halves]
    )
    line(f"mined weights, {len(splits)} random splits", spread(mined.ravel().tolist()))
    line(
        "splits that reach the target on one half, on both",
        f"{(mined >= _TARGET).mean():.0%}, {(mined.min(axis=1) >= _TARGET).mean():.0%}",
    )


if __name__ == "__main__":
    main()
