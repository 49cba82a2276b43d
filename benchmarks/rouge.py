"""How many replies a second can be compared with their references by ROUGE-1?"""

from __future__ import annotations

import measuring

_TIMES = 5
_WORDS = 300
_PAIRS_OURS, _PAIRS_THEIRS = 5000, 150


def main(peer: str) -> None:
    measuring.heading(f"ROUGE-1, the peer's tokens, pairs of about {_WORDS} tokens of English, one core")

    def side(python: str, script: str, pairs: int) -> float:
        taken = measuring.run([python, measuring.SIDES / script, str(pairs), str(_WORDS)])
        return float(taken.said["pairs"] / taken.said["cpu"])

    ours, theirs = measuring.in_turn(
        lambda: side(measuring.OURS, "rouge_fairtrial.py", _PAIRS_OURS),
        lambda: side(peer, "rouge_adk.py", _PAIRS_THEIRS),
        times=_TIMES,
    )
    measuring.line("pairs a second, invocations to scores", f"{ours:,.0f}", f"{theirs:,.0f}")
    measuring.target("pairs a second, ours / theirs", ours / theirs, "times", at_least=40)
