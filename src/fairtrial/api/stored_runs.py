"""Read, remove, export and import the runs of a store."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.run_parts.stored_attempts import StoredAttempts, StoredResults, read_transcript
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import RunNotPassedError
from fairtrial.records.record import show_as_html
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.run_comparison import Comparison
from fairtrial.records.summary import Summary
from fairtrial.records.trace import Trace
from fairtrial.reports.attempts import CaseAttempts, by_case
from fairtrial.system.paths import name_store
from fairtrial.system.unreadable_rows import EXPLANATION
from fairtrial.text.globs import fits

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import Measure, MeasuredRun
    from fairtrial.analysis.sequential import WaveTable
    from fairtrial.api.attempt_filter import AttemptFilter, Selection
    from fairtrial.records.attacks.attack_report import AttackReport
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.board_event import BoardEvent
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.failure_mode import Failures, LastingFailure, ModeChanges
    from fairtrial.records.flaky_case import Cause
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.label import Label
    from fairtrial.records.reply import Reply
    from fairtrial.records.run import RunInfo
    from fairtrial.reports.report_table import ReportedRun
    from fairtrial.reports.run_plots import RunPlots
    from fairtrial.reports.tables import RunTable
    from fairtrial.reports.transcript import Transcript
    from fairtrial.stats.judge_agreement import Pair
    from fairtrial.store import Store

_NOT_PASSED = (Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED)
_BATCH = 500


@dataclass(frozen=True, repr=False)
class Run:
    """The outcome of a run: its numbers, and its results in file order, which are read from the store each time."""

    info: RunInfo
    summary: Summary
    _store: Store = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the run."""
        return self.summary.verdict

    def __repr__(self) -> str:
        cases = ", ".join(f"{number} {verdict}" for verdict, number in self.summary.cases.items())
        return f"<Run {self.info.id}: {self.verdict}, {cases or 'no cases'}>"

    def _repr_html_(self) -> str:
        from fairtrial.api.run_views import render_html

        return render_html(self)

    def __bool__(self) -> bool:
        """Raise TypeError: `assert evaluate(...)` would pass whatever the verdict."""
        raise TypeError("a run is neither true nor false; compare its verdict: run.verdict == 'passed'")

    @property
    def cases(self) -> Sequence[CaseResult]:
        """The results in file order. They stay in the store, and each access reads only what it needs."""
        return StoredResults(self._store, self.info.id)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a plain dict for each attempt and criterion, for example to write a CSV file."""
        from fairtrial.api.run_views import yield_rows

        yield from yield_rows(self)
        self._warn()

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return the rows as a data frame of pandas or Polars. By default, it is pandas if pandas is installed.

        Raises UsageError if the library is not installed.
        """
        from fairtrial.api.run_views import make_frame

        frame = make_frame(self, library)
        self._warn()
        return frame

    def _warn(self) -> None:
        """Warn of rows that were left out, because a frame cannot say that it lacks some."""
        if self.skipped:
            warnings.warn(f"run {self.info.id}: {self.skipped} {EXPLANATION}", stacklevel=3)

    def tables(self) -> dict[str, RunTable]:
        """Return the tables of the run by their names: attempts, outcomes, parts, ballots, steps and labels.

        Each of them can be read by pyarrow, pandas, Polars, DuckDB and every other library that knows Arrow's PyCapsule
        interface. For example, `polars.DataFrame(run.tables()["outcomes"])`.
        """
        from fairtrial.reports.tables import make_tables

        return make_tables(self, self._warn)

    @property
    def plot(self) -> RunPlots:
        """The pictures of the run: intervals, attempts, histogram, calibration and compare. Each is a figure."""
        from fairtrial.reports.run_plots import RunPlots

        return RunPlots(self)

    def report(self, *, everything: bool = False) -> str:
        """Return the report that a terminal shows. With `everything`, the report of a large run has all attempts."""
        from fairtrial.api.run_views import extract_text

        return extract_text(self, everything=everything)

    def save(self, **paths: str | Path) -> None:
        """Write reports to files. For example, `run.save(json="run.json", junit="junit.xml")`.

        Raises UsageError for a report that does not exist, and OSError if a file cannot be written.
        """
        from fairtrial.api.run_views import save

        save(self, paths)

    def check(self, *, allow_unscored: bool = False) -> None:
        """Raise RunNotPassedError, with the report as its message, unless the run passed or only informs.

        With `allow_unscored`, a run that could not be scored is accepted. A run that failed never is.
        """
        if self.verdict in (Verdict.PASSED, Verdict.INFORMATIONAL):
            return
        if allow_unscored and self.verdict is Verdict.UNSCORED:
            return
        outcome = "could not be scored" if self.verdict is Verdict.UNSCORED else "failed"
        raise RunNotPassedError(f"the run {outcome}: {'; '.join(self.summary.reasons)}\n\n{self.report()}")

    @property
    def expected(self) -> Iterator[ExpectedCase]:
        """The cases and their expectations, in file order."""
        return self._store.cases(self.info.id)

    @property
    def repeated(self) -> Collection[int]:
        """The positions of the cases that were attempted more than once."""
        return self._store.repeated(self.info.id)

    @property
    def skipped(self) -> str:
        """The number of rows that were left out so far because this version cannot read them, or an empty string."""
        return self._store.count_skipped()

    def not_passed(self, *, limit: int | None) -> Iterator[CaseResult]:
        """Yield the first results that neither passed nor only inform, in file order."""
        return self._store.results(self.info.id, verdicts=_NOT_PASSED, limit=limit)

    def cases_not_passed(self, *, limit: int | None) -> Iterator[CaseAttempts]:
        """Yield the cases of the first results that neither passed nor only inform, with all their attempts."""
        positions = sorted({result.position for result in self.not_passed(limit=limit)})
        return by_case(self._store.results(self.info.id, positions=positions), self.info.attempt_rules)

    def invalid(self, *, limit: int | None = None) -> Iterator[CaseResult]:
        """Yield the first results that say nothing about the agent, in file order."""
        return self._store.results(self.info.id, valid=False, limit=limit)

    def find_results(self, pattern: str) -> Iterator[CaseResult]:
        """Yield the results of the cases whose id or name matches a pattern with the wildcards `*` and `?`."""
        only_name = None if "*" in pattern or "?" in pattern else pattern
        cases = self._store.case_keys(self.info.id, only_name)
        matches = iter([position for position, key, name in cases if fits(key.case, pattern) or fits(name, pattern)])
        while positions := list(islice(matches, _BATCH)):
            yield from self._store.results(self.info.id, positions=positions)

    def transcript(self, result: CaseResult) -> Transcript:
        """Return an attempt with its conversation, its case and its decisive step, which are read from the store."""
        return read_transcript(self._store, self.info.id, result)

    def select(self, attempt_filter: AttemptFilter) -> Selection:
        """Return a page of the attempts that fit a filter."""
        from fairtrial.api.attempt_filter import select_attempts

        return select_attempts(self._store, self.info.id, attempt_filter)

    @property
    def ballots(self) -> Mapping[str, Ballot]:
        """The votes of judges, by the ids that scores name."""
        return self._store.ballots(self.info.id)

    @property
    def replies(self) -> Mapping[str, Reply]:
        """The replies of models, by the keys that ballots name."""
        return self._store.replies(self.info.id)

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recordings with the positions of their cases, in file order."""
        return self._store.recordings(self.info.id)

    @property
    def stored_attempts(self) -> StoredAttempts:
        """Its attempts with the findings of their scoring."""
        return StoredAttempts(self._store, self.info.id)

    def measured(self, *, valid_only: bool = False, whole: bool = False) -> MeasuredRun:
        """Return the numbers of its attempts, case by case. With `whole`, all variants of a skill count."""
        return measure_stored(self._store, self.info, valid_only=valid_only, whole=whole)

    def flaky_causes(self, positions: Collection[int]) -> Mapping[int, Cause]:
        """Return who makes the attempts of flaky cases differ, by the positions of the cases."""
        from fairtrial.api.flaky_causes import flaky_causes

        return flaky_causes(self._store, self.info.id, positions)

    def waves(self, measures: Mapping[str, Measure], number: int) -> WaveTable:
        """Return its first waves: one attempt of every case each."""
        from fairtrial.analysis.sequential import take_waves

        return take_waves(self._store.attempt_rows(self.info.id), measures, number)

    @property
    def labels(self) -> list[Label]:
        """The labels that people gave to its attempts, in the order in which they were added."""
        return self._store.labels(self.info.id)

    @property
    def board_events(self) -> list[BoardEvent]:
        """The changes that people made to the modes on its board of failures, in their order."""
        return list(self._store.board(self.info.id).events().values())

    @cached_property
    def calibrations(self) -> tuple[Calibration, ...]:
        """How far its judges may be believed, for each criterion that was judged or labelled. Computed once."""
        from fairtrial.api.calibrations import calibrations

        return tuple(calibrations(self._store, self.info, self.summary))

    def labelled_outcomes(self) -> Mapping[str, Mapping[tuple[int, int], Pair]]:
        """Return the labelled outcomes of each criterion, by the position of the case and the number of the attempt."""
        from fairtrial.api.calibrations import labelled_outcomes

        return labelled_outcomes(self._store, self.info, self.calibrations)

    def failures(self) -> Failures:
        """Return the decisive step of each failed attempt, and the modes of the failures."""
        from fairtrial.api.run_parts.collected_failures import find_failures

        return find_failures(self)

    @cached_property
    def failure_modes(self) -> Failures | None:
        """Its failures as reports show them. None if too many attempts failed. Computed once."""
        from fairtrial.api.run_parts.collected_failures import report_failures

        return report_failures(self)

    @cached_property
    def attacks(self) -> AttackReport | None:
        """The rates of an attack run. None for other runs. Computed once."""
        from fairtrial.api.run_parts.attack_rates import report_attacks

        return report_attacks(self)

    @cached_property
    def lasting_failure(self) -> LastingFailure | None:
        """Since when the typical case of its most frequent mode fails. None if it is not the newest run of a series."""
        from fairtrial.api.run_parts.lasting_failures import find_lasting

        return find_lasting(self.failure_modes, self._store.url)

    def mode_changes(self, base: ReportedRun) -> ModeChanges | None:
        """Return how its failure modes changed since a base run. None if too many attempts failed."""
        from fairtrial.api.run_parts.collected_failures import report_changes

        return report_changes(self, base)

    @property
    def judge_tests(self) -> list[dict[str, Any]]:
        """The tests of chosen judges with its labels: `criterion`, `seed` and the number of `labels`."""
        return list(self.info.config.get("judge_tests", ()))

    def label_runs(self, criterion: str) -> list[Run]:
        """Return the runs whose labels of a criterion count here: this run, and those with labels of equal outcomes."""
        from fairtrial.api.calibrations import label_runs

        return [_open_stored(self._store, run) for run in label_runs(self._store, self.info, criterion)]

    def add_judge_test(self, test: dict[str, Any]) -> None:
        """Store that its labels have tested a choice among judges."""
        tests = [*self._store.run(self.info.id).config.get("judge_tests", ()), test]
        self._store.finish(replace(self.info, config={**self.info.config, "judge_tests": tests}), self.summary)

    def add_label(self, label: Label) -> None:
        """Store a label. Earlier labels of the same attempt stay."""
        self._store.add_label(self.info.id, label)


def resume_command(info: RunInfo, store: str) -> str:
    """Return the command that continues a run. The kind of a run is the name of its command."""
    return f"fairtrial {info.kind} --resume {info.id}{store_option(store)}"


def store_option(store: str) -> str:
    """Return the option that names a store, without its password, or nothing for the default store."""
    from fairtrial.store import DEFAULT_URL, show_url

    return "" if store == DEFAULT_URL else f" --store {shlex.quote(show_url(store))}"


def _render_html(record: Any) -> str:
    from fairtrial.reports.notebook import html_of_record

    return html_of_record(record)


for _kind in (Summary, CaseResult, Outcome, Trace, Comparison):
    show_as_html(_kind, _render_html)


def reread(store: str, run_id: str) -> Run:
    """Return a run of the store, finished or not. The numbers of an unfinished run are computed from its results.

    Raises UsageError if the store or the run does not exist.
    """
    return _open_stored(open_store(store, create=False), run_id)


def _open_stored(run_store: Store, run_id: str) -> Run:
    info = run_store.run(run_id)
    summary = run_store.summary(info.id)
    if summary is None:
        results, votes, rules = run_store.results(info.id), run_store.ballots(info.id).values(), info.attempt_rules
        summary = aggregate(results, votes, informs=info.informs, defaults=info.defaults, rules=rules)
        summary = clustered(summary, run_store, info)
    return Run(info, summary, run_store)


def clustered(summary: Summary, store: Store, info: RunInfo) -> Summary:
    """Return the numbers of a run with intervals that know of the clusters of cases, if cases declare any."""
    if "clusters" not in info.config:
        return summary
    from fairtrial.analysis.clustered_summary import with_clustered_intervals

    every, valid = (measure_stored(store, info, valid_only=valid_only) for valid_only in (False, True))
    return with_clustered_intervals(summary, every, valid)


def open_run(run_id: str, *, store: str | Path | None = None) -> Run:
    """Return a stored run by its id, or by the beginning of its id. `store` is a SQLAlchemy URL or a path.

    Without `store`, the run is in `.fairtrial/fairtrial.db`. The numbers of an unfinished run are computed from the
    results so far. Raises UsageError if the store or the run does not exist.
    """
    from fairtrial.store import DEFAULT_URL

    return reread(name_store(store) or DEFAULT_URL, run_id)
