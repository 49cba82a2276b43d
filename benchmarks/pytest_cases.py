"""How long do 40 cases of one second take in pytest, and what does the plugin cost a suite that does not use it?

On a machine with other work, the start of Python and of the workers takes any time. The target therefore holds for the
time in which at least one agent works, and the time of the whole session is printed beside it.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

import measuring

_CASES = 40
_SERIAL_SECONDS = 40.0
"""The time of the agents, one after the other: each waits for one second."""
_MODES = {
    (): 0.2,
    ("-n", "2", "--dist", "loadgroup"): 0.2,
    ("-n", "2", "--dist", "worksteal"): 0.2,
    ("-n", "4", "--dist", "loadgroup"): 0.2,
    ("-n", "2"): 0.2,
    ("-n", "4"): 0.2,
}
"""Arguments of pytest, and the largest share of the serial time."""
_STARTS = 15
_TESTS = """
import asyncio, pathlib, time
import pytest

async def reply(conversation):
    started = time.monotonic()
    await asyncio.sleep(1)
    with pathlib.Path("times.log").open("a") as log:
        log.write(f"{started} {time.monotonic()}\\n")
    return "Seoul"

@pytest.mark.fairtrial("capitals.evalset.json", agent=reply)
def test_capitals(fairtrial_case):
    fairtrial_case.check()
"""
_UNRELATED = "def test_sum():\n    assert 1 + 1 == 2\n"


def main(peer: str) -> None:
    """Print both. The peer has no plugin for pytest."""
    del peer
    measuring.heading(f"pytest: {_CASES} cases of 1 s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_cases(folder)
        for mode, target in _MODES.items():
            (folder / "times.log").unlink(missing_ok=True)
            seconds = _seconds(folder, *mode)
            what = " ".join(mode) or "without xdist"
            agents = _covered(folder / "times.log")
            measuring.target(f"{what}: time of agents / serial time", agents / _SERIAL_SECONDS, "", at_most=target)
            measuring.line("  whole session", f"{seconds:.1f} s")
    measuring.heading("pytest: start of a suite that does not use the plugin")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_sum.py").write_text(_UNRELATED, encoding="utf-8")
        pairs = [(_cpu(folder), _cpu(folder, "-p", "no:fairtrial")) for _ in range(_STARTS + 1)][1:]
        more = statistics.median(ours - without for ours, without in pairs)
        measuring.target("CPU with the plugin - CPU without it", 1000 * more, "ms", at_most=30)


def _write_cases(folder: Path) -> None:
    def case(number: int) -> dict[str, object]:
        invocation = {
            "user_content": {"parts": [{"text": "What is the capital of Korea?"}]},
            "final_response": {"parts": [{"text": "Seoul"}]},
        }
        return {"eval_id": f"case{number}", "conversation": [invocation]}

    content = {"eval_set_id": "capitals", "eval_cases": [case(number) for number in range(_CASES)]}
    (folder / "capitals.evalset.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "test_config.json").write_text('{"criteria": {"response_match_score": 0.8}}', encoding="utf-8")
    (folder / "test_capitals.py").write_text(_TESTS, encoding="utf-8")


def _seconds(folder: Path, *arguments: str) -> float:
    """Return the seconds of a whole session, with the start of Python and of the workers."""
    start = time.perf_counter()
    measuring.run([measuring.OURS, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=folder)
    return time.perf_counter() - start


def _covered(log: Path) -> float:
    """Return the seconds in which at least one agent worked, from the start and the end of each conversation."""
    covered = reached = 0.0
    for line in sorted(log.read_text(encoding="utf-8").splitlines(), key=lambda line: float(line.split()[0])):
        start, end = map(float, line.split())
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def _cpu(folder: Path, *arguments: str) -> float:
    return measuring.run([measuring.OURS, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=folder).cpu
