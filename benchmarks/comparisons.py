"""How often do intervals of differences hold the truth, and how often are false claims made? The peer is not measured.

In a simulation the truth is known. An argument chooses one table: paired, fixed, pass-k, looks, power.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

import paired_situations as situations

SEED = 1
REPETITIONS = 4000
LONG_REPETITIONS = 1000
"""The number of runs of 2,000 looks, and of runs until a decision."""

SPEEDS = (
    ("0.9 against 0.8, all cases alike", 9000, 1000, 0.8, 3.2),
    ("0.85 against 0.8, k = 0.3", 0.255, 0.045, 0.8, 8),
    ("a regression to 0.7 against 0.8, all cases alike", 3000, 7000, 0.2, 3.5),
    ("a regression to 0.7 against 0.8, k = 0.3", 0.09, 0.21, 0.2, 3),
    ("a regression to 0.8 against 0.9, all cases alike", 2000, 8000, 0.1, 2.7),
    ("a regression to 0.6 against 0.7, all cases alike", 4000, 6000, 0.3, 4.4),
)
"""Situations, each with the parameters of Beta for the chances of what is claimed, the limit and the most waves."""


def main(peer: str) -> None:  # noqa: ARG001
    for name, table in TABLES.items():
        if len(sys.argv) < 2 or name in sys.argv[1:] or sys.argv[1].startswith("-"):
            table()


def _print(title: str, rows: Iterable[tuple[str, list[float]]], columns: tuple[str, ...]) -> None:
    print(f"\n  | {title} | {' | '.join(columns)} |\n  |{'---|' * (len(columns) + 1)}")
    for name, numbers in rows:
        print(f"  | {name} | {' | '.join(f'{number:.3f}' for number in numbers)} |", flush=True)


def _group_nodes(every: Iterable[tuple[str, tuple[float, ...]]]) -> dict[str, list[tuple[float, ...]]]:
    groups: dict[str, list[tuple[float, ...]]] = {}
    for name, shares in every:
        groups.setdefault(name, []).append(shares)
    return groups


def paired() -> None:
    measuring.heading(f"coverage of the difference of two runs, {REPETITIONS:,} repetitions; 10, 20, 50 and 200 cases")
    groups = _group_nodes((each.name, each.shares(REPETITIONS, seed=SEED)) for each in situations.comparisons())
    columns = ("lowest", "mean", "one-sided error at 5 %, highest", "plain t, lowest")
    rows = []
    for name, shares in groups.items():
        held, errors, usual = zip(*shares, strict=True)
        rows.append((name, [min(held), fmean(held), max(errors), min(usual)]))
    _print("difference", rows, columns)
    measuring.target("lowest coverage", min(row[1][0] for row in rows), "", at_least=0.945)
    measuring.target("highest one-sided error", max(row[1][2] for row in rows), "", at_most=0.065)


def fixed() -> None:
    measuring.heading(f"coverage about these cases, {REPETITIONS:,} repetitions; 10, 50 and 200 cases")
    groups = _group_nodes((each.name, each.shares(REPETITIONS, seed=SEED)) for each in situations.fixed_cases())
    rows = []
    for name, shares in groups.items():
        single, pairs = zip(*shares, strict=True)
        rows.append((name, [min(single), fmean(single), min(pairs), fmean(pairs)]))
    _print("these cases", rows, ("one run, lowest", "mean", "difference, lowest", "mean"))
    measuring.target("lowest coverage of one run", min(row[1][0] for row in rows), "", at_least=0.94)
    measuring.target("lowest coverage of a difference", min(row[1][2] for row in rows), "", at_least=0.94)


def pass_k() -> None:
    measuring.heading(
        f"coverage of pass^k, {REPETITIONS:,} repetitions; 20, 50 and 200 cases, k = 1, 2 and all attempts"
    )
    groups = _group_nodes((each.name, each.shares(REPETITIONS, seed=SEED)) for each in situations.pass_ks())
    rows = []
    for name, shares in groups.items():
        held, usual = zip(*shares, strict=True)
        rows.append((name, [min(held), fmean(held), min(usual)]))
    _print("pass^k", rows, ("lowest", "mean", "plain t, lowest"))
    measuring.target("lowest coverage", min(row[1][0] for row in rows), "", at_least=0.94)


def looks() -> None:
    measuring.heading(f"false claims if somebody looks after every wave, {REPETITIONS:,} repetitions")
    rows = []
    for cases in (50, 200):
        chances = [(0.6, 1.0)[number % 2] for number in range(cases)]
        shares = situations.false_claims(chances, 0.8, 20, REPETITIONS, seed=SEED)
        rows.append((f"{cases} cases, chances 0.6 and 1, 20 looks", list(shares)))
    for limit in (0.5, 0.8, 0.95):
        shares = situations.false_claims([limit], limit, 2000, LONG_REPETITIONS, seed=SEED)
        rows.append((f"single attempts, limit {limit}, 2,000 looks", list(shares)))
    _print("ever claimed", rows, ("evidence", "Wilson at each look"))
    measuring.target("highest share of false claims", max(row[1][0] for row in rows), "", at_most=0.05)
    speed = []
    for name, *situation, most in SPEEDS:
        waves, fewest = situations.waves_to_decide(*situation, 50, LONG_REPETITIONS, seed=SEED)
        speed.append((name, [waves, fewest]))
        measuring.target(f"waves, {name}", waves, "", at_most=most)
    _print("50 cases, waves until decided", speed, ("mean", "fewest: the bet that knows the rate"))


def power() -> None:
    measuring.heading(f"power of planned comparisons, {REPETITIONS:,} repetitions; 0.8 was asked for")
    rows = []
    for before, after in ((0.8, 0.6), (0.8, 0.7), (0.7, 0.75), (0.9, 0.85)):
        for attempts in (1, 4):
            cases, share, usual = situations.power(before, after, attempts, REPETITIONS, seed=SEED)
            rows.append((f"{before} -> {after}, {attempts} attempts, {cases} cases", [share, usual]))
    _print("planned", rows, ("power", "plain t"))
    measuring.target("lowest power", min(row[1][0] for row in rows), "", at_least=0.78)


TABLES: dict[str, Callable[[], None]] = {
    "paired": paired,
    "fixed": fixed,
    "pass-k": pass_k,
    "looks": looks,
    "power": power,
}

if __name__ == "__main__":
    main("")
