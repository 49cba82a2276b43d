"""Plan the scoring of recordings. Everything is read and checked before anything is scored."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial import loading
from fairtrial.api.arguments import Paths, check_match, check_numbers, check_share, collect_recordings
from fairtrial.api.eval_sets.eval_set_arguments import EvalSets, resolve_eval_set
from fairtrial.api.eval_sets.set_loading import (
    Criteria,
    Notes,
    as_stored,
    collect_notes,
    collect_warnings,
    list_names,
    load_sets,
    load_with_criteria,
)
from fairtrial.api.model_warnings import model_warnings
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Plan, run_info
from fairtrial.api.text_warnings import text_warnings
from fairtrial.errors import UsageError, spell
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.llm.model_pool import find_models
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import without_defaults
from fairtrial.text.display import describe_error

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.planned_case import PairedRecordings, PlannedCase, PlannedCases
    from fairtrial.records.attempt import Recording
    from fairtrial.records.result import Criterion
    from fairtrial.records.trace import Trace


_NOTHING_EXPECTED = (
    "the recordings do not contain what was expected. Give an eval set with {eval_set}, or name criteria that need "
    "no expectation with {criteria}"
)


@dataclass(frozen=True)
class _Matched:
    """Recordings beside their cases, with the sets and the files that both come from."""

    cases: PlannedCases
    recorded: PairedRecordings
    loaded_sets: list[loading.LoadedSet]
    notes: Notes
    expects: bool
    warnings: tuple[str, ...] = ()
    files: tuple[loading.Source, ...] = ()
    coverage: loading.ReadCoverage = field(default_factory=loading.ReadCoverage)


def plan_score(
    recordings: Paths | Iterable[Recording | Trace],
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    reading: ReadOptions = READ,
    run: RunOptions = RUN,
) -> Plan:
    """Read and check everything that `score` needs. Raises UsageError."""
    check_numbers(concurrency=run.concurrency, jobs=run.jobs)
    check_match(reading.match)
    check_share(max_incomplete=reading.max_incomplete)
    check_columns(reading.columns)
    judges = run.judges
    paths, own = collect_recordings(recordings)
    matching = _Matching(criteria, reading, judges)
    if eval_set is not None:
        eval_set = resolve_eval_set(eval_set, reading.columns)
        if paths is not None and not isinstance(eval_set, EvalSet):
            loading.check_stdin([*paths, *eval_set])
        matched = matching.match_against(eval_set, paths, own)
    elif paths is not None:
        matched = matching.match_files(paths)
    else:
        matched = matching.match_own(own)
    if run.jobs > 1:
        _check_processes(criterion for loaded_set in matched.loaded_sets for criterion in loaded_set.criteria)
    about_models = (*model_warnings(matched.loaded_sets, judges), *text_warnings(matched.loaded_sets))
    matched.coverage.ensure_at_most(reading.max_incomplete)
    warnings = (*matched.notes.warnings, *matched.warnings, *matched.coverage.warnings(), *about_models)
    if [origin for origin, _ in matched.notes.origins] == [loading.DEFAULTS] and not matched.expects:
        warnings = (*warnings, _NOTHING_EXPECTED.format(eval_set=spell("eval_set"), criteria=spell("criteria")))
    arguments = {
        "paths": ["memory"] if paths is None else list(map(str, paths)),
        "against": None if eval_set is None else list_names(eval_set),
        "match": reading.match,
        "only": reading.case_ids,
        **reading.manifest(criteria),
        "judge": judges.arguments,
        "traces": without_defaults(reading.traces),
        "recordings": [[source.loaded.path, source.sha256] for source in matched.files],
    }
    return Plan(
        run_info("score", arguments, matched.notes, matched.loaded_sets, {}),
        matched.cases,
        matched.recorded,
        concurrency=run.concurrency,
        jobs=run.jobs,
        warnings=warnings,
        notes=tuple(dict.fromkeys((*matched.notes.notes, *collect_notes(matched.files)))),
        judges=judges,
    )


def _count_incomplete(files: Iterable[loading.Source], own: Iterable[Recording]) -> loading.ReadCoverage:
    """Count the recordings in memory that were not read in full."""
    coverage = loading.ReadCoverage()
    in_files = (source.loaded.recordings for source in files if isinstance(source.loaded.recordings, tuple))
    for recording in (*own, *(recording for recordings in in_files for recording in recordings)):
        coverage.add(recording.trace.incomplete)
    return coverage


@dataclass(frozen=True)
class _Matching:
    """How recordings find their cases."""

    criteria: Criteria
    reading: ReadOptions
    judges: Judges

    @property
    def file_options(self) -> dict[str, Any]:
        """The arguments that every reader of recordings takes."""
        return {"lenient": self.reading.lenient, "columns": self.reading.columns}

    def match_against(
        self, eval_set: EvalSet | list[str | Path], paths: list[str | Path] | None, own: Sequence[Recording]
    ) -> _Matched:
        """Match recordings with the cases of an eval set."""
        files = (
            []
            if paths is None
            else loading.sources(paths, recorded=True, traces=self.reading.traces, **self.file_options)
        )
        if any(source.only for source in files):
            raise UsageError(
                f"FILE:case1,case2 chooses cases of an eval set: give it to {spell('eval_set')}, or use {spell('only')}"
            )
        loaded_sets, notes = load_sets(eval_set, self.criteria, self.reading, self.judges)
        cases = loading.plan_cases(loaded_sets)
        recordings, sets = (_stored(own), None) if paths is None else loading.with_sets(files)
        recorded, unmatched = loading.match(cases, recordings, by=self.reading.match, sets=sets)
        return self._apply_selection(cases, recorded, loaded_sets, notes, unmatched, files, own)

    def match_files(self, paths: list[str | Path]) -> _Matched:
        """Match the recordings of files with the cases of the same files."""
        if self.reading.match != "id" or self.reading.traces.tool_names:
            return self._match_whole(
                loading.sources(paths, recorded=True, traces=self.reading.traces, **self.file_options)
            )
        from fairtrial.loading.streams import scan_sources  # enters the readers of all recordings

        files, index = scan_sources(paths, traces=self.reading.traces, **self.file_options)
        return self._match_whole(files) if index is None else self._stream(files, index)

    def match_own(self, own: Sequence[Recording]) -> _Matched:
        """Make a case for each recording that the caller passes as an object."""
        recordings = _stored(own)
        loaded_sets, notes = load_sets(
            _make_cases(loading.yield_case_ids(recordings)), self.criteria, self.reading, self.judges
        )
        cases = loading.plan_cases(loaded_sets)
        recorded, unmatched = loading.match(cases, recordings, by=self.reading.match)
        return self._apply_selection(cases, recorded, loaded_sets, notes, unmatched, [], own)

    def _match_whole(self, files: list[loading.Source]) -> _Matched:
        merged = loading.merge_sources(files)
        sets = list(map(_read_expected, merged))
        loaded_sets, notes = load_with_criteria(merged, self.criteria, sets, self.reading, self.judges)
        cases = loading.plan_cases(loaded_sets)
        recorded, unmatched = loading.match_each(cases, loaded_sets, merged, by=self.reading.match)
        return self._apply_selection(cases, recorded, loaded_sets, notes, unmatched, files)

    def _stream(self, files: list[loading.Source], index: loading.CaseIndex) -> _Matched:
        """Plan over recordings that stay in their files. Nothing is expected of them, and each has a case."""
        from fairtrial.loading.streams import StreamedCases, StreamedRecordings, select_streamed

        sets = [EvalSet(loading.RECORDED)] * len(files)
        loaded_sets, notes = load_with_criteria(files, self.criteria, sets, self.reading, self.judges)
        index.name_cases(loading.RECORDED)
        select_streamed(index, files, self.reading.case_ids)
        cases = StreamedCases(index, [loaded.criteria for loaded in loaded_sets])
        recorded = StreamedRecordings(files, cases, **self.file_options, join=self.reading.traces.join)
        warnings = tuple(collect_warnings(files))
        return _Matched(cases, recorded, loaded_sets, notes, False, warnings, tuple(files), index.coverage)

    def _apply_selection(
        self,
        cases: list[PlannedCase],
        recorded: loading.MatchedRecordings,
        loaded_sets: list[loading.LoadedSet],
        notes: Notes,
        unmatched: Sequence[str],
        files: list[loading.Source],
        own: Sequence[Recording] = (),
    ) -> _Matched:
        """Return the cases that `only` selects, with their recordings."""
        selected = loading.select_cases(cases, loaded_sets, self.reading.case_ids)
        expects = any(map(_expects_anything, cases))
        matching = recorded if selected is cases else recorded.for_cases(selected)
        warnings = (*collect_warnings(files), *unmatched)
        coverage = _count_incomplete(files, own)
        return _Matched(tuple(selected), matching, loaded_sets, notes, expects, warnings, tuple(files), coverage)


def _expects_anything(planned_case: PlannedCase) -> bool:
    """Whether a case says more than the messages of the user, as a table of replies alone does not."""
    case = planned_case.case
    own = (case.scenario, case.rubrics, case.checks, case.final_session_state)
    if any(own) or case.expected_calls is not None:
        return True
    turns = case.conversation or ()
    return any(
        turn.final_response is not None or turn.steps is not None or turn.rubrics or turn.checks for turn in turns
    )


def _check_processes(criteria: Iterable[Criterion]) -> None:
    """Raise UsageError for a criterion that cannot be scored in another process."""
    for criterion in criteria:
        if find_models(criterion.metric):
            raise UsageError(
                f"jobs: {criterion.name} asks a model, which several processes cannot share; "
                "leave out jobs, and raise concurrency instead",
                code="options-conflict",
            )
        check_picklable(criterion, "jobs")


def check_picklable(criterion: Criterion, option: str) -> None:
    """Raise UsageError for a criterion that another process cannot make again."""
    try:
        pickle.dumps(criterion)
    except Exception as error:
        raise UsageError(
            f"{option}: {criterion.name} cannot be sent to another process: {describe_error(error)}; "
            f"define its function at the top of a module, or leave out {option}",
            code="options-conflict",
        ) from error


def _stored(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings that were made in Python as a file would give them."""
    return [as_stored(recording, f"the recording {recording.case_id!r}")[0] for recording in recordings]


def _read_expected(source: loading.Source) -> EvalSet:
    """Return the expectation in a file of recordings. An eval set alone was itself recorded, and expects nothing."""
    loaded = source.loaded
    if loaded.eval_set is None:
        return _make_cases(loading.yield_case_ids(loaded.recordings))
    return loaded.eval_set if loaded.recordings else loading.without_reference(loaded.eval_set)


def _make_cases(case_ids: Iterable[str]) -> EvalSet:
    """Return cases for recordings, without any expectation."""
    return EvalSet(loading.RECORDED, tuple(EvalCase(case_id) for case_id in dict.fromkeys(case_ids)))


def load_dataset_sets(
    eval_set: EvalSets | None, criteria: Criteria, reading: ReadOptions, judges: Judges
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return the eval sets with their criteria. Without eval sets, the criteria belong to a set without cases."""
    if eval_set is None:
        if criteria is None:
            raise UsageError(
                f"{spell('out')} needs {spell('criteria')}, or {spell('eval_set')} "
                "with an eval set that has a configuration beside it",
                code="missing-option",
            )
        return load_sets(EvalSet(loading.RECORDED), criteria, reading, judges)
    return load_sets(resolve_eval_set(eval_set), criteria, reading, judges)


def one_set_of_criteria(loaded_sets: Sequence[loading.LoadedSet]) -> tuple[Criterion, ...]:
    """Return the criteria that all eval sets share. Raises UsageError if they differ."""
    first = loaded_sets[0].criteria
    if any(loaded.criteria != first for loaded in loaded_sets):
        raise UsageError(
            f"the eval sets have different criteria, and a data set has the same for all; give {spell('criteria')}",
            code="missing-option",
        )
    return first
