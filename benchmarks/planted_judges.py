"""How often exams find twenty planted judges, and how often they refuse good ones.

Usage: python benchmarks/planted_judges.py [SEEDS] [SEEDS OF GOOD JUDGES] [DRAWS] [FIRST SEED]. The defaults are 20, 50,
2,000 and 0. Another first seed repeats the tables with other dice.
Every judge is a function that gets the real prompts and answers in their form. An equal reply to a question is read
once. The draws decide by dice alone which answers of a good judge are right, and apply the rules to them.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from msgspec.structs import replace

from exam_runs import canary_alarm, check_answers, check_refusals, is_alarm_by_chance
from fairtrial.metrics.exams.refusals import list_refusals
from fairtrial.records.judging.judge_check import CheckResult
from planted_judges import GOOD, JUDGES, TOLERABLE, Planted


def main() -> None:
    """Print a row for each judge, and for the draws of each good judge."""
    seeds, good_seeds, draws, first = map(int, [*sys.argv[1:], *("20", "50", "2000", "0")[len(sys.argv) - 1 :]])
    print(f"{'judge':34} {'judge check':>12} {'canaries 60':>12} {'20':>4}   calls of check, canaries   first reason")
    for planted in (*JUDGES, GOOD, TOLERABLE):
        number = seeds if planted in JUDGES else good_seeds
        if number:
            _measure(planted, range(first, first + number))
    for share in (0.97, 0.95):
        die, questions = Random(share + first), check_answers()
        refused = sum(bool(list_refusals(_flip(questions, share, die))) for _ in range(draws))
        alarms = {
            number: sum(is_alarm_by_chance(number, lambda own: _flip(own, share, die)) for _ in range(draws))  # noqa: B023
            for number in (60, 20)
        }
        print(f"right in {share:.0%}, by dice: refused {refused}, alarms of canaries {alarms}, of {draws} draws each")


def _flip(answers: list[CheckResult], share: float, die: Random) -> list[CheckResult]:
    """Answer a share of the questions rightly."""
    other = {"holds": "fails"}
    return [own if die.random() < share else replace(own, outcome=other.get(own.expected, "holds")) for own in answers]


def _measure(planted: Planted, seeds: range) -> None:
    number = len(seeds)
    found, many, few, check_calls, canary_calls, reason = 0, 0, 0, 0, 0, ""
    for seed in seeds:
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
