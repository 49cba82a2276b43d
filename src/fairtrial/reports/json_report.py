"""A run as JSON, which other programs read: all attempts in the view model, and then the run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec.structs import asdict

from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.views.attempt_shapes import ReportedAttempt
from fairtrial.reports.views.view import RunReader

if TYPE_CHECKING:
    from fairtrial.reports.views.view_shapes import CaseRow


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
    """Write the report, one attempt a line, without holding the attempts in memory.

    The run comes last, because all attempts together show its agents and tools. The failure modes are compared with
    those of a baseline if there is one.
    """
    encode = msgspec.json.Encoder().encode
    rows: list[CaseRow] = []
    reader = RunReader(run, rows.append, base=options.base_run)
    stream.write(b'{"attempts": [')
    stream.writelines((b",\n  " if i else b"\n  ") + encode(own) for i, own in enumerate(_attempts(reader, rows)))
    stream.write(b'],\n "run": %s}\n' % encode(reader.view()))


def _attempts(reader: RunReader, rows: list[CaseRow]) -> Iterator[ReportedAttempt]:
    """Yield the attempts. The attempts of one case are held at once, because they make the verdict of the case."""
    rules = reader.run.info.attempt_rules
    for _, group in groupby(reader.attempts(), key=lambda attempt: attempt.position):
        of_case = list(group)  # its row is in `rows` when the next attempt was read
        row = rows.pop(0)
        rule = str(rules.find_rule(row.eval_set, of_case[0].case_id))
        for attempt in of_case:
            yield ReportedAttempt(**asdict(attempt), case_verdict=row.verdict, case_rule=rule)
