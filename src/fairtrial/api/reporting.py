"""Print runs in a terminal. Only the attempts that are shown are read from the store."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.text import Text

from fairtrial.reports.attempts import CaseAttempts, attempts, by_case
from fairtrial.reports.judges.ballots import ballots
from fairtrial.reports.report_table import ReportedRun
from fairtrial.reports.summary_table import closing
from fairtrial.reports.terminal import DETAILED, LISTED, case, invalid, print_report
from fairtrial.text.display import visible_line

if TYPE_CHECKING:
    from fairtrial.api.attempt_filter import Selection
    from fairtrial.records.result import CaseResult
    from fairtrial.reports.transcript import Transcript


class ShownRun(ReportedRun, Protocol):
    """A run as a terminal shows it. Each property and method reads only the results that it returns."""

    @property
    def repeated(self) -> Collection[int]:
        """The positions of the cases that were attempted more than once."""
        ...

    def cases_not_passed(self, *, limit: int) -> Iterator[CaseAttempts]:
        """Yield the cases of the first results that neither passed nor only inform, with all their attempts."""
        ...

    def invalid(self, *, limit: int | None = None) -> Iterator[CaseResult]:
        """Yield the first results that say nothing about the agent."""
        ...

    def transcript(self, result: CaseResult) -> Transcript:
        """Return an attempt with its conversation and its case."""
        ...

    def find_results(self, pattern: str) -> Iterator[CaseResult]:
        """Yield the results of the cases whose id or name matches a pattern."""
        ...


def print_run(
    console: Console,
    run: ShownRun,
    *,
    everything: bool = False,
    verbose: bool = False,
    full: bool = False,
    show: str = "",
) -> None:
    """Print the attempts of a run, its summary and its verdict. Of a large run only some attempts are read.

    `verbose` opens cases that passed, and `full` folds no text. `show` is the command that shows the run again, or
    empty if there is none.
    """
    large = sum(run.summary.cases.values()) > LISTED and not everything
    rules = run.info.attempt_rules
    all_cases = run.cases_not_passed(limit=DETAILED) if large else by_case(run.cases, rules)
    cases = all_cases if verbose else (case for case in all_cases if case.results[0].eval_set not in rules.baselines)
    if rules.baselines or run.info.config.get("variants"):
        for note in run.summary.notes[:1]:
            console.print(Text(visible_line(note), "bold"))
    print_report(
        console,
        run.info,
        run.summary,
        cases,
        calibrations=run.calibrations,
        everything=everything,
        verbose=verbose,
        full=full,
        show=show,
        find_transcript=run.transcript,
    )


def print_verdict(console: Console, run: ShownRun, *, show: str = "") -> None:
    """Print the verdict of a run alone."""
    console.print(closing(run.info, run.summary, show=show, has_tables=False))


def print_invalid(console: Console, run: ShownRun, *, everything: bool = False) -> None:
    """Print the evidence of the invalid attempts of a run: the first 50, or all of them with `everything`."""
    limit = None if everything else DETAILED
    hidden = 0 if everything else max(0, sum(run.summary.invalid.values()) - DETAILED)
    for line in invalid(run.invalid(limit=limit), repeated=run.repeated, hidden=hidden):
        console.print(line)


def print_cases(
    console: Console, run: ShownRun, pattern: str, *, whole_ballots: bool = False, full: bool = False
) -> int:
    """Print everything about the cases whose id or name matches, with their votes. Return the number of attempts.

    With `whole_ballots`, the prompts and the raw replies are printed, too. With `full`, no text is folded.
    """
    replies = run.replies if whole_ballots else None
    count = 0
    for result, several in attempts(run.find_results(pattern)):
        count += 1
        console.print(case(run.transcript(result), several=several, everything=True, full=full))
        console.print(ballots(result.outcomes, run.ballots, replies))
    return count


def print_selection(
    console: Console, run: ShownRun, selection: Selection, *, full: bool = False, show: str = ""
) -> None:
    """Print the attempts on one page of a selection. `show` is the command that shows the run again."""
    from fairtrial.api.attempt_filter import selection_line  # only `show` filters

    for result in selection.results:
        several = result.position in run.repeated
        hint = f"`{show} {shlex.quote(visible_line(result.title))}` shows them"
        criterion = selection.criterion
        console.print(case(run.transcript(result), several=several, full=full, criterion=criterion, hint=hint))
    console.print(selection_line(selection), style="dim")
