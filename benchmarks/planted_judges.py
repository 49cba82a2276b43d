"""How often exams find twenty planted judges, and how often they refuse good ones.

Usage: python benchmarks/planted_judges.py [SEEDS] [SEEDS OF GOOD JUDGES]. The defaults are 20 and 500. Every judge is a
function that gets the real prompts and answers in their form. An equal reply to a question is read once.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from exam_runs import canary_alarm, check_refusals
from planted_judges import GOOD, JUDGES, TOLERABLE, Planted


def main() -> None:
    """Print a row for each judge."""
    seeds, good_seeds = map(int, [*sys.argv[1:], *("20", "500")[len(sys.argv) - 1 :]])
    print(f"{'judge':34} {'judge check':>12} {'canaries 60':>12} {'20':>4}   calls of check, canaries   first reason")
    for planted in (*JUDGES, GOOD, TOLERABLE):
        _measure(planted, seeds if planted in JUDGES else good_seeds)


def _measure(planted: Planted, number: int) -> None:
    found, many, few, check_calls, canary_calls, reason = 0, 0, 0, 0, 0, ""
    for seed in range(number):
        refusals, calls = asyncio.run(check_refusals(planted, seed))
        alarm, more_calls = asyncio.run(canary_alarm(planted, seed, 60))
        few += bool(asyncio.run(canary_alarm(planted, seed, 20))[0])
        found, many = found + bool(refusals), many + bool(alarm)
        check_calls, canary_calls = check_calls + calls, canary_calls + more_calls
        reason = reason or (refusals[0].reason if refusals else "")
    means = f"{check_calls / number:8.0f} {canary_calls / number:8.0f}"
    print(f"{planted.name:34} {found:4} of {number:3} {many:5} of {number:3} {few:4}   {means}   {reason}", flush=True)


if __name__ == "__main__":
    main()
