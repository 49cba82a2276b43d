"""Find the file and line of each case that did not pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.record import Record
from fairtrial.records.result import Verdict
from fairtrial.reports.junit import case_message, set_files

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run

_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)


class ProblemPlace(Record, frozen=True):
    """A case that did not pass: its verdict, the reason, and its place. Without a file, `file` is empty."""

    title: str
    verdict: Verdict
    message: str
    file: str = ""
    line: int = 1


def problem_places(run: Run, *, limit: int) -> Iterator[ProblemPlace]:
    """Yield the first cases that did not pass, with the lines of their ids in the files of their eval sets."""
    files = set_files(run.info)
    # A case that passes by its rule may have attempts that failed, so that some cases are left out below.
    cases = (own for own in run.cases_not_passed(limit=100 * limit) if own.verdict not in _GREEN)
    for attempts in islice(cases, limit):
        first = attempts.results[0]
        file = files.get(first.eval_set, "")
        lines = _lines_of_ids(file) if file else {}
        yield ProblemPlace(
            first.title,
            attempts.verdict,
            case_message(attempts),
            file if lines else "",
            lines.get(first.case_id, 1),
        )


@cache
def _lines_of_ids(file: str) -> dict[str, int]:
    """Return the line in which each JSON string of a file stands first after a colon. Empty without a file."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    lines: dict[str, int] = {"": 1}
    for number, line in enumerate(text.splitlines(), 1):
        for match in re.finditer(r':\s*("(?:[^"\\]|\\.)*")', line):
            try:
                lines.setdefault(msgspec.json.decode(match[1]), number)
            except msgspec.DecodeError:
                continue
    return lines
