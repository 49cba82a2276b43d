"""Do many conversations at once take as long as the longest of them, and does memory stay?"""

from __future__ import annotations

import statistics

import measuring

_TIMES = 3
_AT_ONCE, _TURNS, _LATENCY = 50, 6, 1.0
_FEW, _MANY = 200, 1200


def main(_peer: str) -> None:
    measuring.heading(f"{_AT_ONCE} conversations of {_TURNS} turns at once, a chat endpoint that takes {_LATENCY:g} s")

    def held(conversations: int, latency: float) -> measuring.Taken:
        script = measuring.SIDES / "conversations_assay.py"
        taken = measuring.run([measuring.OURS, script, str(conversations), str(_TURNS), str(_AT_ONCE), str(latency)])
        assert taken.said["mixed"] == 0, "a reply went to another conversation"
        return taken

    seconds = statistics.median(float(held(_AT_ONCE, _LATENCY).said["seconds"]) for _ in range(_TIMES))
    measuring.line("whole run, seconds", f"{seconds:.2f}")
    measuring.target("whole run / longest chain of replies", seconds / (_TURNS * _LATENCY), "times", at_most=1.3)
    few = statistics.median(held(_FEW, 0.0).peak_mb for _ in range(_TIMES))
    many = statistics.median(held(_MANY, 0.0).peak_mb for _ in range(_TIMES))
    measuring.line(f"peak memory, {_FEW} and {_MANY:,} conversations, MB", f"{few:.0f}, {many:.0f}")
    measuring.target("more memory for each conversation, KB", (many - few) * 1000 / (_MANY - _FEW), "KB", at_most=10)
