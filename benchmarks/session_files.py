"""Does the command stay small if a data set has a file for each conversation, and how many parts does it write?

    python benchmarks/session_files.py 1000000 --folder /tmp

Each file is a session of its own with new words, 1,000 in a folder. The files take 4 kB each on most disks.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from counted_conversations import ALLOWED, make_row
from measuring import OURS, heading, line, run, target

NUMBER = 100_000
A_FOLDER = 1_000
SCORE = "import sys; from fairtrial.cli import command; sys.exit(command())"


def main() -> None:
    """Write the files, score them in two processes, and print what the command took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=NUMBER)
    parser.add_argument("--folder", help="where the files are written, and removed at the end")
    arguments = parser.parse_args()
    heading(f"{arguments.number:,} session files, two processes")
    with TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        for tenth in (arguments.number // 10, arguments.number):
            write_sessions(folder / "sessions", tenth)
            score(folder, tenth)


def write_sessions(folder: Path, number: int) -> None:
    """Write the files that are not there yet."""
    for session in range(number):
        path = folder / f"{session // A_FOLDER:04d}" / f"{session:07d}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            row = make_row(session)
            path.write_text(json.dumps({"id": row["id"], "messages": json.loads(row["messages"])}))


def score(folder: Path, number: int) -> None:
    """Score the files, and check that each has one result."""
    config, out = folder / "config.json", folder / "out"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": ALLOWED}}))
    shutil.rmtree(out, ignore_errors=True)
    command = [OURS, "-c", SCORE, "score", folder / "sessions", "--config", config, "--out", out, "--jobs", "2"]
    started = time.monotonic()
    taken = run([*command, "--store", "none", "--quiet"], codes=(1,))
    seconds = time.monotonic() - started
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["run"]["config"]["dataset"]["conversations"] == number
    assert manifest["summary"]["criteria"][0]["passed"] == sum(1 + session % 5 <= ALLOWED for session in range(number))
    parts = sum(1 for path in out.rglob("part-*"))
    line(f"{number:,} files: seconds, load", f"{seconds:,.0f}, {os.getloadavg()[0]:.1f}")
    line("CPU of the command, without its workers", f"{taken.cpu:,.1f} s")
    line("parts that were written", f"{parts:,}")
    target("peak memory of the command", taken.peak_mb, "MB", at_most=1000)


if __name__ == "__main__":
    main()
