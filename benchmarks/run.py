"""How fast is fairtrial beside google-adk? Prints each number, its target, and whether the target is reached."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from multiprocessing import get_context
from pathlib import Path

BENCHES = (
    "startup",
    "whole_run",
    "datasets",
    "failures",
    "rouge",
    "trajectory",
    "loading",
    "value",
    "whole_trace",
    "selection",
    "large_index",
    "judge",
    "conversations",
    "intervals",
    "comparisons",
    "planted_skills",
    "skill_runs",
    "judged_means",
    "hostile_text",
    "mutation",
    "pytest_cases",
    "report_sizes",
    "viewer",
)
"""Modules of this folder, each with `main(peer)`: the path of a Python that has google-adk."""


def main() -> None:
    """Run all benches, or the named benches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="the Python of an environment with google-adk")
    parser.add_argument("bench", nargs="*", choices=[*BENCHES, []], help="only these")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process of both sides compiles what it imports
    cores = os.cpu_count()
    print(
        f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    print("CPU is user and system time of whole processes; both sides in turn, medians; MB are 10^6 bytes", flush=True)
    for name in arguments.bench or BENCHES:
        # In a process of its own: the system counts the peak memory of whoever starts a process as that process's too.
        bench = get_context("spawn").Process(target=_run, args=(name, str(Path(arguments.peer).absolute())))
        bench.start()
        bench.join()
        if bench.exitcode:
            sys.exit(bench.exitcode)


def _run(name: str, peer: str) -> None:
    importlib.import_module(name).main(peer)


if __name__ == "__main__":
    main()
