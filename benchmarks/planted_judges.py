"""How often exams find twenty planted judges, and how often they refuse good ones.

Usage: python benchmarks/planted_judges.py [SEEDS]. Every judge gets the real prompts, and answers in their form.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from exam_runs import canary_alarm, check_refusals
from planted_judges import GOOD, JUDGES, TOLERABLE


def main() -> None:
    """Print a row for each judge."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{'judge':34} {'judge check':>12} {'canaries 60':>12} {'20':>4}   calls of check, canaries   first reason")
    for planted in (*JUDGES, GOOD, TOLERABLE):
        number = seeds if planted in JUDGES else max(seeds, 50)
        found, few, many, costs, reason = 0, 0, 0, [0, 0], ""
        for seed in range(number):
            report, calls = asyncio.run(check_refusals(planted, seed))
            found += bool(report)
            costs[0] += calls
            alarm, calls = asyncio.run(canary_alarm(planted, seed, 60))
            many += bool(alarm)
            costs[1] += calls
            few += bool(asyncio.run(canary_alarm(planted, seed, 20))[0])
            reason = reason or (report[0].reason if report else "")
        means = f"{costs[0] / number:8.0f} {costs[1] / number:8.0f}"
        print(
            f"{planted.name:34} {found:4} of {number:3} {many:5} of {number:3} {few:4}   {means}   {reason}", flush=True
        )


if __name__ == "__main__":
    main()
