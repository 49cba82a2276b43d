"""How rare the false alarms of `fairtrial watch` are, and how soon a fall is seen.

    python benchmarks/watch.py              # 100 series of each world, about 6 minutes on one core
    python benchmarks/watch.py --series 20

A series has 300 conversations of reference and 5,000 later ones. In the world `sampled`, hard conversations are half of
the traffic, and easy ones are sampled with a probability of 0.2. In the worlds with missing values, the judge fails at
a share of the conversations that did not pass, and at none of the others.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable

from fairtrial.stats.mean_monitor import REFERENCE, MeanMonitor

FALSE_EVERY = 1000
LATER = 5000
Draw = Callable[[random.Random, float], tuple[float | None, float]]
"""Draws a value and its weight. The rate of passes is lower by a number."""


def draw_passes(rate: float, missing: float = 0.0) -> Draw:
    """Return passes and failures. A share of the failures is missing."""

    def draw(rng: random.Random, fall: float) -> tuple[float | None, float]:
        is_pass = rng.random() < rate - fall
        return (None if not is_pass and rng.random() < missing else float(is_pass)), 1.0

    return draw


def draw_sample(rng: random.Random, fall: float) -> tuple[float | None, float]:
    """Return a sampled conversation: of the traffic, 95 % of the easy half pass, and 65 % of the hard half."""
    is_hard = rng.random() < 1 / 1.2
    return float(rng.random() < (0.65 if is_hard else 0.95) - fall), 1.0 if is_hard else 5.0


WORLDS: dict[str, Draw] = {
    "90 % pass": draw_passes(0.9),
    "50 % pass": draw_passes(0.5),
    "90 % pass, half of the failures missing": draw_passes(0.9, 0.5),
    "60 % pass, all failures missing": draw_passes(0.6, 1.0),
    "sampled with 0.2 and 1": draw_sample,
}


def watch(draw: Draw, rng: random.Random, fall: float) -> int | None:
    """Return the number of later conversations until an alarm, or None without an alarm."""
    monitor = MeanMonitor(false_every=FALSE_EVERY)
    for _ in range(REFERENCE):
        monitor.add(*draw(rng, 0.0))
    for number in range(1, LATER + 1):
        monitor.add(*draw(rng, fall))
        if monitor.alarm is not None:
            return number
    return None


def main() -> None:
    """Print a row for each world."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--series", type=int, default=100)
    series = parser.parse_args().series
    print(f"{series} series; one false alarm in {FALSE_EVERY:,} conversations is allowed on average")
    for name, draw in WORLDS.items():
        for fall in (0.0, 0.2):
            seen = [watch(draw, random.Random(f"{name} {fall} {seed}"), fall) for seed in range(series)]
            alarms = [number for number in seen if number is not None]
            watched = sum(LATER if number is None else number for number in seen)
            delay = f", median {statistics.median(alarms):,.0f}" if alarms else ""
            what = f"fall of {fall:.0%}" if fall else "no change"
            print(f"  {name:42} {what:12} {len(alarms)} alarms in {watched:,} conversations{delay}", flush=True)


if __name__ == "__main__":
    main()
