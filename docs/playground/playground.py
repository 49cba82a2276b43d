"""What Python does in the playground: score files that were dropped, and return the report as HTML."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fairtrial

FOLDER = Path("/files")
MEASURES = {name: {"threshold": None} for name in ("tool_call_count_v1", "token_usage_v1", "invocation_duration_v1")}
"""The criteria of files without expectations. They decide nothing."""


async def warm_up() -> dict[str, Any]:
    """Make a report that nobody sees: modules are loaded when they are first used, and then the first file is quick."""
    replies = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    recorded = {"name": "warm-up.json", "bytes": json.dumps({"messages": replies}).encode()}
    expected = {"name": "warm-up.csv", "bytes": b"question,expected\nHello?,Hello.\n"}
    return await make_report([recorded], [expected], "order")


async def make_report(
    recorded: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]], match: Any
) -> dict[str, Any]:
    """Return the report and what to say about it, or the problem. Files are objects with `name` and `bytes`."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    own, wanted = _write(recorded, "recorded"), _write(expected, "expected")
    target = FOLDER / "report.html"
    try:
        run = await fairtrial.ascore(own, wanted or None, match=match)
        if all(own.ends is None for case in run.cases for own in case.outcomes if own.threshold is not None):
            run = await fairtrial.ascore(own, wanted or None, MEASURES, match=match)
        run.save(html=target)
    except fairtrial.FairtrialError as error:
        return {"problem": str(error).replace(f"{FOLDER}/recorded/", "").replace(f"{FOLDER}/expected/", "")}
    return {"report": target.read_bytes(), "said": _describe(run, has_expectations=bool(wanted))}


def _write(files: Iterable[Mapping[str, Any]], folder: str) -> list[str | Path]:
    """Write files into a folder of the browser's memory, and return their paths.

    A second file of the same name, from another folder of the user, gets a folder of its own.
    """
    paths: list[str | Path] = []
    for number, file in enumerate(files, 1):
        path = FOLDER / folder / (Path(file["name"]).name or "file")
        if path.exists():
            path = path.parent / str(number) / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(file["bytes"]))
        paths.append(path)
    return paths


def _describe(run: Any, *, has_expectations: bool) -> dict[str, Any]:
    """Return the number of cases with each verdict, or the verdict of the run if nothing was expected.

    For example, `{"cases": 3, "verdicts": {"passed": 2, "failed": 1}, "is_compared": True}`.
    """
    counts = Counter(str(case.verdict) for case in run.cases)
    is_compared = has_expectations or run.verdict in ("passed", "failed")
    verdicts = dict(counts) if is_compared else {str(run.verdict): counts.total()}
    return {"cases": counts.total(), "verdicts": verdicts, "is_compared": is_compared}
