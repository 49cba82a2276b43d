"""How large are the reports of 10,000 attempts of tau-bench's size, and how much memory do they take?

The dialogues of tau-bench lie beside the project. They are repeated with their words in another order, so that
compression cannot find them again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import measuring
from repeated_run import RepeatedRun

from fairtrial import api

_DIALOGUES = Path(__file__).parents[2] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json"
_FEW, _MANY = 1000, 10_000
_KILOBYTE = 1000


def main(peer: str) -> None:
    """Print the sizes. The peer has none of these reports."""
    del peer
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


def _report(name: str, attempts: int) -> dict[str, Any]:
    """Write a report in a process of its own, and return its size and what it took."""
    taken = measuring.run([measuring.OURS, __file__, name, attempts])
    return {"cpu": taken.cpu, "peak_mb": taken.peak_mb, **taken.said}


def write(name: str, attempts: int) -> None:
    """Write a report, and print its size."""
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
