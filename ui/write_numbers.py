"""Writes test/numbers.json: numbers as Python writes them. A test of the page compares. `make ui` runs it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import against, digits_of_change, format_estimate, interval, number, rate

FILE = Path(__file__).parent / "test" / "numbers.json"
_ENDS = (0.0, 1e-9, 1e-6, 0.005, 0.125, 0.295, 0.5, 0.7951, 0.799999, 0.8, 0.825, 0.985, 0.995, 0.99999, 1.0, 1.005)
_AMOUNTS = (-0.075, -1e-5, 9.995, 12.25, 12.5, 151.8, 999.5, 1000.0, 1000.4, 64005.0, 1e15, 1e300)


def table() -> dict[str, list[Any]]:
    """Return the arguments of each function with its result."""
    draw = random.Random(5)  # noqa: S311
    values = [*_ENDS, *_AMOUNTS, *(round(draw.random(), draw.randrange(1, 9)) for _ in range(60))]
    values += [draw.random() * 10 ** draw.randrange(-6, 6) for _ in range(60)]
    pairs = [(value, limit) for value in _ENDS for limit in (0.8, 0.985, 1.0, 1 / 3)]
    pairs += [(draw.choice(values), draw.choice(values)) for _ in range(120)]
    estimates = []
    for _ in range(150):
        center, width = draw.random(), 10 ** draw.uniform(-8, 0)
        estimates.append((center, max(0.0, center - width), min(1.0, center + width)))
    changes = [(*sorted((draw.random(), draw.random())), 10 ** draw.uniform(-5, 0)) for _ in range(60)]
    return {
        "number": [[value, number(value)] for value in values],
        "rate": [[value, rate(value)] for value in values if abs(value) < 1e6],
        "against": [[value, limit, *against(value, limit)] for value, limit in pairs],
        "rate against": [
            [value, limit, *against(value, limit, percent=True)] for value, limit in pairs if max(value, limit) < 1e6
        ],
        "interval": [[*ends, *_written(ends, percent=False)] for ends in estimates],
        "rate interval": [[*ends, *_written(ends, percent=True)] for ends in estimates],
        "change": [
            [base, other, width, digits_of_change(base, other, _change(base, other, width), percent=True)]
            for base, other, width in changes
        ],
    }


def text() -> str:
    """Return the table as JSON with a line for each row."""
    lists = [f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in table().items()]
    return "{\n" + ",\n".join(lists) + "\n}\n"


def _written(ends: tuple[float, float, float], *, percent: bool) -> tuple[str, str]:
    own = Estimate(*ends)
    return format_estimate(own, percent=percent), interval(own, percent=percent)


def _change(base: float, other: float, width: float) -> Estimate:
    return Estimate(other - base, other - base - width, other - base + width)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
