"""How many invocations a second can be compared with their expected tool calls?"""

from __future__ import annotations

import statistics

import measuring

_TIMES = 5
_USUAL, _LARGE = 100, 2000
"""Numbers of conversations: the first fits into a processor's caches, and the second does not."""
_MATCH_TYPES = "EXACT", "IN_ORDER", "ANY_ORDER"


def main(peer: str) -> None:
    measuring.heading(
        "tool_trajectory_avg_score: 4 invocations of 5 flat calls a conversation, or 1 of 1 to 8 nested calls, "
        "recorded against written by hand, objects to scores, one core"
    )
    for shape, count, match_type, differing in (
        ("flat", _USUAL, "EXACT", 0),
        ("flat", _USUAL, "IN_ORDER", 0),
        ("flat", _USUAL, "ANY_ORDER", 0),
        ("flat", _USUAL, "EXACT", 10),
        ("flat", _USUAL, "EXACT", 1),
        ("flat", _USUAL, "IN_ORDER", 1),
        ("flat", _USUAL, "ANY_ORDER", 1),
        *(("nested", _LARGE, match_type, differing) for match_type in _MATCH_TYPES for differing in (0, 10, 3, 1)),
    ):
        _compare(peer, shape, count, match_type, differing)


def _compare(peer: str, shape: str, count: int, match_type: str, differing: int) -> None:
    means: set[float] = set()
    speeds: dict[str, list[float]] = {}

    def side(python: str, script: str) -> float:
        said = measuring.run([python, measuring.SIDES / script, str(count), match_type, str(differing), shape]).said
        means.add(said["mean"])
        speed = float(said["invocations"] / min(said["passes"]))  # what neighbours do to the caches only ever adds
        speeds.setdefault(script, []).append(speed)
        return speed

    ours, theirs = measuring.in_turn(
        lambda: side(measuring.OURS, "trajectory_fairtrial.py"),
        lambda: side(peer, "trajectory_adk.py"),
        times=_TIMES,
    )
    assert len(means) == 1, means
    what = f"{count} {shape} conversations, {match_type}, {f'1 in {differing} differs' if differing else 'all match'}"
    measuring.line("invocations a second", f"{ours:,.0f}", f"{theirs:,.0f}")
    ratios = [ours / theirs for ours, theirs in zip(*speeds.values(), strict=True)]
    measuring.line("ratios of the turns", f"{min(ratios):.2f} to {max(ratios):.2f}")
    measuring.target(what, statistics.median(ratios), "times", at_least=1 if shape == "nested" or differing == 1 else 5)
