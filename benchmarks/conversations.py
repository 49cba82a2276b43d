"""Do many conversations at once take as long as the longest of them, and does memory stay?"""

from __future__ import annotations

import statistics

import measuring

_TIMES = 3
_AT_ONCE, _TURNS, _LATENCY = 50, 6, 1.0
_CASES, _FEW, _MANY, _SHORT = 20, 60, 220, 3


def main(_peer: str) -> None:
    measuring.heading(f"{_AT_ONCE} conversations of {_TURNS} turns at once, models that take {_LATENCY:g} s")
    # The agent replies in every turn; a simulated user says all but the first message.
    for users, chain in (("scripted", _TURNS), ("simulated", 2 * _TURNS - 1)):
        times = [_held_conditions(_AT_ONCE, 1, _TURNS, _LATENCY, users).said for _ in range(_TIMES)]
        seconds, first = (statistics.median(float(one[name]) for one in times) for name in ("seconds", "first"))
        measuring.line(f"{users} users: whole run, of which before the first request, s", f"{seconds:.1f}, {first:.1f}")
        share = (seconds - first) / (chain * _LATENCY)
        measuring.target(f"{users} users: from then on / longest chain", share, "times", at_most=1.3)
    measuring.heading(f"conversations of {_SHORT} turns, {_AT_ONCE} at once, attempts at the same {_CASES} cases")
    for users, times in (("scripted", _TIMES), ("simulated", 1)):
        few, many = (
            statistics.median(_held_conditions(_CASES, attempts, _SHORT, 0.0, users).peak_mb for _ in range(times))
            for attempts in (_FEW, _MANY)
        )
        numbers = f"{_CASES * _FEW:,} and {_CASES * _MANY:,}"
        measuring.line(f"{users} users: peak memory at {numbers}, MB", f"{few:.1f}, {many:.1f}")
        more = (many - few) * 1e6 / (_CASES * (_MANY - _FEW))
        measuring.target(f"{users} users: more for each conversation", more, "bytes", at_most=500)


def _held_conditions(cases: int, attempts: int, turns: int, latency: float, users: str) -> measuring.Taken:
    script = measuring.SIDES / "conversations_fairtrial.py"
    numbers = map(str, (cases, attempts, turns, _AT_ONCE, latency))
    taken = measuring.run([measuring.OURS, script, *numbers, users])
    assert taken.said["held"] == cases * attempts, "a conversation is missing"
    assert taken.said["wrong"] == 0, "a conversation broke, or a reply went to another one"
    return taken
