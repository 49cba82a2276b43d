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
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import measuring
from msgspec.structs import replace
from repeated_run import RepeatedRun

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from fairtrial import api
from fairtrial.analysis.aggregation import aggregate
from fairtrial.llm.fences import Fences
from fairtrial.records.ballot import Ballot, SentPrompt
from fairtrial.store import Store
from judged_pages import judged_run

_DIALOGUES = Path(__file__).parents[2] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json"
_FEW, _MANY = 1000, 10_000
_KILOBYTE = 1000
_JUDGED = "judged"
_JUDGED_CASES, _LONG = 200, 13
_RUN = "20261120-093000-judged"


def main(peer: str) -> None:
    """Print the sizes. The peer has none of these reports."""
    del peer
    _measure_judged()
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


def _measure_judged() -> None:
    """Print what `fairtrial show RUN --html` takes, a process of its own, from a store."""
    with tempfile.TemporaryDirectory() as folder:
        url, page = f"sqlite:///{folder}/runs.db", Path(folder) / "page.html"
        ballots = measuring.run([measuring.OURS, __file__, _JUDGED, url]).said["ballots"]
        command = [measuring.OURS, "-m", "fairtrial", "show", _RUN, "--store", url]
        codes = (0, 1)  # the run failed
        alone = measuring.run(command, codes=codes)
        taken = measuring.run([*command, "--html", str(page)], codes=codes)
        measuring.heading(f"report of {_JUDGED_CASES} judged cases, {ballots:,.0f} ballots, from a store")
        measuring.target("show --html: CPU of the process", taken.cpu, "s", at_most=8)
        measuring.target("show --html: peak memory of the process", taken.peak_mb, "MB", at_most=150)
        measuring.line("  without --html: CPU, peak memory", f"{alone.cpu:.1f} s, {alone.peak_mb:.0f} MB")
        measuring.line("  size", f"{page.stat().st_size / 1e6:.1f} MB")


def _store_judged(url: str) -> dict[str, float]:
    """Store 200 cases with five judged criteria, of which 13 have 60 turns, and return the number of ballots."""
    long, short = judged_run(60, cases=_LONG), judged_run(5, cases=_JUDGED_CASES)
    results = [*long.results, *(own for own in short.results if own.position >= _LONG)]
    ballots = {name: _with_conversation(name, own) for name, own in {**short.ballots, **long.ballots}.items()}
    with closing(Store(url)) as store:
        store.begin(long.info)
        store.add_cases(_RUN, [*long.expectations, *(own for own in short.expectations if own.position >= _LONG)])
        for position, own in (*long.recorded, *(entry for entry in short.recorded if entry[0] >= _LONG)):
            store.add_recording(_RUN, position, own, may_wait=True)
        stored = store.ballots(_RUN)
        for name, ballot in ballots.items():
            stored[name] = ballot
        for result in results:
            store.add_result(_RUN, result)
        store.finish(long.info, aggregate(results, ballots.values()))
    return {"ballots": float(len(ballots))}


def _with_conversation(name: str, ballot: Ballot) -> Ballot:
    """Return a ballot whose prompt holds the conversation up to its turn, each message in a fence, as prompts do."""
    criterion, case, turn = name.rsplit("-", 2)
    texts = {f"turn {own + 1}": _turn(int(case), own) for own in range(int(turn) + 1)}
    fences = Fences(texts, [criterion])
    conversation = "\n\n".join(map(fences.context, texts))
    prompt = SentPrompt("You are a judge.", f"Judge by {criterion}.\n{conversation}\nAnswer yes or no.")
    return replace(ballot, prompts=(prompt,))


@cache
def _turn(case: int, turn: int) -> str:
    chance = random.Random(1000 * case + turn)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(70)]
    return f"User: {' '.join(words[:18])} A-{case}{turn} {words[0]}@example.com\nAgent: {' '.join(words[18:])}\n"


def _report(name: str, attempts: int) -> dict[str, Any]:
    """Write a report in a process of its own, and return its size and what it took."""
    taken = measuring.run([measuring.OURS, __file__, name, str(attempts)])
    return {"cpu": taken.cpu, "peak_mb": taken.peak_mb, **taken.said}


def write(name: str, target: str) -> None:
    """Write a report of so many attempts, and print its size. Or store the judged run at a URL."""
    if name == _JUDGED:
        print(json.dumps(_store_judged(target)))
        return
    run: Any = RepeatedRun(list(api.load_recordings(_DIALOGUES)), int(target))
    report = next(own for own in api.REPORTS if own.name == name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report"
        if report.is_folder:
            path.mkdir()
        report.write(path, run, api.ReportOptions(traces="all"))
        files = list(path.iterdir()) if report.is_folder else [path]
        print(json.dumps({"bytes": sum(file.stat().st_size for file in files)}))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2])
