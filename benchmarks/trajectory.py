"""How many invocations a second can be compared with their expected tool calls?"""

from __future__ import annotations

import measuring

_TIMES = 5
_CONVERSATIONS = 2000


def main(peer: str) -> None:
    measuring.heading("tool_trajectory_avg_score: 4 invocations of 5 calls a conversation, objects to scores, one core")
    for match_type, differing in (("EXACT", 0), ("IN_ORDER", 0), ("ANY_ORDER", 0), ("EXACT", 10)):
        _compare(peer, match_type, differing)


def _compare(peer: str, match_type: str, differing: int) -> None:
    means: set[float] = set()

    def side(python: str, script: str) -> float:
        arguments = [str(_CONVERSATIONS), match_type, str(differing)]
        said = measuring.run([python, measuring.SIDES / script, *arguments]).said
        means.add(said["mean"])
        return float(said["invocations"] / said["cpu"])

    ours, theirs = measuring.in_turn(
        lambda: side(measuring.OURS, "trajectory_assay.py"),
        lambda: side(peer, "trajectory_adk.py"),
        times=_TIMES,
    )
    assert len(means) == 1, means
    what = f"{match_type}, {'all match' if not differing else f'one in {differing} differs'}"
    measuring.line(f"invocations a second: {what}", f"{ours:,.0f}", f"{theirs:,.0f}")
    measuring.target(f"ours / theirs: {what}", ours / theirs, "times", at_least=5)
