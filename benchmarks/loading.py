"""How much time and memory does it take to load and score a large eval set?"""

from __future__ import annotations

import tempfile
from pathlib import Path

import measuring

_TIMES = 3
_CASES = 50_000


def main(peer: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "large.evalset.json"
        measuring.run([measuring.OURS, measuring.SIDES / "write_cases.py", file, str(_CASES)])
        size = file.stat().st_size / 1e6
        measuring.heading(f"loading an eval set of {_CASES:,} cases, {size:.0f} MB, written as google-adk writes it")
        _load(peer, file, size)
        _score(file)


def _load(peer: str, file: Path, size: float) -> None:
    peaks: dict[str, float] = {}

    def side(python: str, script: str) -> float:
        taken = measuring.run([python, measuring.SIDES / script, file])
        assert taken.said["cases"] == _CASES
        peaks[script] = max(taken.peak_mb, peaks.get(script, 0.0))
        return float(taken.said["cpu"])

    ours, theirs = measuring.in_turn(
        lambda: side(measuring.OURS, "load_fairtrial.py"), lambda: side(peer, "load_adk.py"), times=_TIMES
    )
    ours_peak, theirs_peak = peaks["load_fairtrial.py"], peaks["load_adk.py"]
    measuring.line("CPU, imports not counted", f"{ours:.2f} s", f"{theirs:.2f} s")
    measuring.target("CPU, theirs / ours", theirs / ours, "times", at_least=5)
    measuring.line("peak memory of the process", f"{ours_peak:,.0f} MB", f"{theirs_peak:,.0f} MB")
    measuring.target("peak memory, ours / theirs", ours_peak / theirs_peak, "", at_most=0.25)
    measuring.target("peak memory, ours", ours_peak, "MB", at_most=round(2 * size + 100))


def _score(file: Path) -> None:
    """Measure scoring with its planning. Every allocation after loading counts; memory that loading freed does not."""
    measuring.heading(f"`fairtrial score` of the same {_CASES:,} cases against themselves, default criteria and store")
    with tempfile.TemporaryDirectory() as store:
        said = measuring.run([measuring.OURS, measuring.SIDES / "score_fairtrial.py", file, store]).said
    measuring.line("CPU of planning and scoring, a case", f"{1e6 * said['cpu'] / _CASES:.0f} µs")
    measuring.target("memory that scoring adds at its peak, a case", said["added"] / _CASES, "bytes", at_most=300)
