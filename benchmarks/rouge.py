"""How many replies a second can be compared with their references by ROUGE-1?"""

from __future__ import annotations

from functools import partial

import measuring

_TIMES = 5
_WORDS = 300
_PAIRS_OURS, _PAIRS_THEIRS = 1000, 150
_KINDS = {"new": ("English words, each new", 10), "korean": ("Korean", 5), "running": ("running English", 40)}


def main(peer: str) -> None:
    for kind, (name, target) in _KINDS.items():
        measuring.heading(f"ROUGE-1, the peer's tokens, pairs of {_WORDS} words, {name}, one core")
        ours, theirs = measuring.in_turn(
            partial(_measure, measuring.OURS, "rouge_fairtrial.py", _PAIRS_OURS, kind),
            partial(_measure, peer, "rouge_adk.py", _PAIRS_THEIRS, kind),
            times=_TIMES,
        )
        measuring.line("pairs a second, invocations to scores", f"{ours:,.0f}", f"{theirs:,.0f}")
        measuring.target("pairs a second, ours / theirs", ours / theirs, "times", at_least=target)


def _measure(python: str, script: str, pairs: int, kind: str) -> float:
    taken = measuring.run([python, measuring.SIDES / script, str(pairs), str(_WORDS), kind])
    return float(taken.said["pairs"] / taken.said["cpu"])
