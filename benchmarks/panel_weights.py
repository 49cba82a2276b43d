"""How much do weights from labels help a panel of judges? The panels are drawn from the recorded judges of LLMBar.

    .venv/bin/python benchmarks/panel_weights.py [--draws 300] [--labels 60]

The data are `../shared/data/llmbar/judgements.csv`: six judges with the prompt that states the rules, on 100 natural
and 134 adversarial items. Each draw takes five of the judges, and the labels of some items at random. The other items
are decided by the majority, by weights from the labels, and by the judge with the largest weight. A tie is wrong.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

from measuring import heading, line

from fairtrial.analysis.panel_weights import decide, weigh_judges

DATA = Path(__file__).parents[2] / "shared" / "data" / "llmbar" / "judgements.csv"
SIZE = 5


def read(subsets: tuple[str, ...]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the verdicts on each item by their judges, and the labels."""
    votes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    labels: dict[str, str] = {}
    with DATA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["strategy"] == "Vanilla" and row["subset"] in subsets:
                item = f"{row['subset']} {row['item']}"
                votes[item][row["judge"]], labels[item] = row["winner"], row["label"]
    return dict(votes), labels


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer weighs judges by labels)
    """Print the shares of items that each rule decides rightly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--labels", type=int, default=60)
    arguments, _ = parser.parse_known_args()
    for subsets in (("natural", "neighbor"), ("natural",), ("neighbor",)):
        votes, labels = read(subsets)
        heading(f"LLMBar {' and '.join(subsets)}: {len(votes)} items, panels of {SIZE}, {arguments.labels} labels")
        shares = measure(votes, labels, arguments.draws, arguments.labels)
        for rule, values in shares.items():
            ordered = sorted(values)
            low, high = ordered[len(ordered) // 40], ordered[-1 - len(ordered) // 40]
            line(rule, f"{sum(ordered) / len(ordered):.3f} (95 % of the draws: {low:.3f} to {high:.3f})")
        better = sum(own > other for own, other in zip(shares["weights"], shares["majority"], strict=True))
        line("draws in which weights are better than the majority", f"{better} of {arguments.draws}")


def measure(votes: dict[str, dict[str, str]], labels: dict[str, str], draws: int, size: int) -> dict[str, list[float]]:
    """Return the share of right decisions in each draw, by the rule that decides."""
    die, judges = Random(0), sorted(next(iter(votes.values())))
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(draws):
        panel, items = die.sample(judges, SIZE), die.sample(sorted(votes), len(votes))
        cast = {item: {judge: votes[item][judge] for judge in panel} for item in items}
        weights = weigh_judges(items[:size], cast, labels)
        best, equal = max(weights, key=weights.__getitem__), dict.fromkeys(panel, 1.0)
        right: Counter[str] = Counter()
        for item in items[size:]:
            decisions = {"majority": decide(cast[item], equal), "weights": decide(cast[item], weights)}
            decisions["best judge by labels"] = cast[item][best]
            right.update(rule for rule, verdict in decisions.items() if verdict == labels[item])
        for rule in ("majority", "weights", "best judge by labels"):
            shares[rule].append(right[rule] / (len(items) - size))
    return shares


if __name__ == "__main__":
    main()
