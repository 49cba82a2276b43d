"""How large are the reports of 10,000 attempts of tau-bench's size, and how much memory do they take?

And how long does the report of 200 judged cases take, whose prompts hold the conversation again?

The dialogues of tau-bench lie beside the project. They are repeated with their words in another order, so that
compression cannot find them again.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import measuring
from msgspec.structs import replace
from repeated_run import RepeatedRun

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from fairtrial import api
from fairtrial.records.ballot import Ballot, SentPrompt
from fairtrial.reports.html import write_pages
from finished import FinishedRun
from judged_pages import judged_run

_DIALOGUES = Path(__file__).parents[2] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json"
_FEW, _MANY = 1000, 10_000
_KILOBYTE = 1000
_JUDGED = "judged"


def main(peer: str) -> None:
    """Print the sizes. The peer has none of these reports."""
    del peer
    judged = measuring.run([measuring.OURS, __file__, _JUDGED, "200"]).said
    measuring.heading(f"report of 200 judged cases, {judged['ballots']:,.0f} ballots")
    measuring.target("HTML: CPU", judged["seconds"], "s", at_most=8)
    measuring.line("  size", f"{judged['bytes'] / 1e6:.1f} MB")
    measuring.heading(f"reports of {_MANY:,} attempts of tau-bench's size")
    if not _DIALOGUES.exists():
        measuring.line("tau-bench", f"is not at {_DIALOGUES}")
        return
    sizes = {name: [_report(name, attempts) for attempts in (_FEW, _MANY)] for name in ("html", "json", "parquet")}
    _, html = sizes["html"]
    measuring.target("HTML: kB an attempt", html["bytes"] / _MANY / _KILOBYTE, "kB", at_most=3.5)
    for name, (few, many) in sizes.items():
        measuring.line(f"{name}: size, CPU", f"{many['bytes'] / 1e6:.1f} MB, {many['cpu']:.0f} s")
        grown = (many["peak_mb"] - few["peak_mb"]) * 1e6 / (_MANY - _FEW) / _KILOBYTE
        measuring.line("  peak memory, growth", f"{many['peak_mb']:.0f} MB, {grown:.2f} kB an attempt")
    measuring.target(
        "Parquet / JSON report", sizes["parquet"][1]["bytes"] / sizes["json"][1]["bytes"], "", at_most=1 / 3
    )


def _write_judged() -> dict[str, float]:
    """Write the report of 200 cases with five judged criteria, of which 13 have 60 turns, and return what it took."""
    long, short = judged_run(60, cases=13), judged_run(5, cases=200)
    results = [*long.results, *(own for own in short.results if own.position >= len(long.results))]
    expected = [*long.expectations, *(own for own in short.expectations if own.position >= len(long.results))]
    recorded = [*long.recorded, *(own for own in short.recorded if own[0] >= len(long.results))]
    ballots = {name: _with_conversation(name, own) for name, own in {**short.ballots, **long.ballots}.items()}
    run = FinishedRun(long.info, results, expected, recorded, (), ballots)
    began = time.process_time()
    with tempfile.TemporaryFile() as stream:
        write_pages(stream, [run])
        return {"seconds": time.process_time() - began, "bytes": float(stream.tell()), "ballots": float(len(ballots))}


def _with_conversation(name: str, ballot: Ballot) -> Ballot:
    """Return a ballot whose prompt holds the conversation up to its turn, as prompts of judges do."""
    criterion, case, turn = name.rsplit("-", 2)
    texts = [_turn(int(case), own) for own in range(int(turn) + 1)]
    prompt = SentPrompt("You are a judge.", f"Judge by {criterion}.\n{''.join(texts)}\nAnswer yes or no.")
    return replace(ballot, prompts=(prompt,))


@cache
def _turn(case: int, turn: int) -> str:
    chance = random.Random(1000 * case + turn)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(70)]
    return f"User: {' '.join(words[:18])} A-{case}{turn} {words[0]}@example.com\nAgent: {' '.join(words[18:])}\n"


def _report(name: str, attempts: int) -> dict[str, Any]:
    """Write a report in a process of its own, and return its size and what it took."""
    taken = measuring.run([measuring.OURS, __file__, name, attempts])
    return {"cpu": taken.cpu, "peak_mb": taken.peak_mb, **taken.said}


def write(name: str, attempts: int) -> None:
    """Write a report, and print its size."""
    if name == _JUDGED:
        print(json.dumps(_write_judged()))
        return
    run: Any = RepeatedRun(list(api.load_recordings(_DIALOGUES)), attempts)
    report = next(own for own in api.REPORTS if own.name == name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report"
        if report.is_folder:
            path.mkdir()
        report.write(path, run, api.ReportOptions(traces="all"))
        files = list(path.iterdir()) if report.is_folder else [path]
        print(json.dumps({"bytes": sum(file.stat().st_size for file in files)}))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
