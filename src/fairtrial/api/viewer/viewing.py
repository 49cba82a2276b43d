"""The viewer of a store: runs, numbers, cases, two runs side by side, and changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fairtrial.api.decisions.comparing import CompareOptions, compare_all
from fairtrial.api.failure_modes.mode_board import ModeBoard
from fairtrial.api.labels.label_agreement import agreement_view
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.api.stored_runs import Run, resume_command
from fairtrial.api.stores import open_store
from fairtrial.api.viewer.excerpt import Excerpt
from fairtrial.api.viewer.live_numbers import LiveNumbers
from fairtrial.api.viewer.text_searches import TextSearches
from fairtrial.api.viewer.view_index import (
    NOT_MET,
    CaseQuery,
    Conditions,
    RunIndex,
    called_tools,
    places_of_tool,
)
from fairtrial.api.viewer.view_order import SortKey, arrange, group, sort_keys
from fairtrial.api.viewer.viewed_modes import ViewedModes
from fairtrial.errors import UsageError
from fairtrial.records.summary import Summary
from fairtrial.reports.html import clean
from fairtrial.reports.shown_criteria import describe_run
from fairtrial.reports.views import view_shapes as shapes
from fairtrial.reports.views.view import ComparedRow, compared_row, comparison_view, run_row, run_view
from fairtrial.reports.views.view_attempts import AgentIndex, attempt_parts, attempt_view
from fairtrial.reports.views.view_modes import decisive_view
from fairtrial.reports.views.view_rows import RowBuilder
from fairtrial.system.unreadable_rows import EXPLANATION

if TYPE_CHECKING:
    from fairtrial.records.attacks.attack_report import AttackReport
    from fairtrial.records.run import RunInfo
    from fairtrial.reports.views.attempt_shapes import AttemptView
    from fairtrial.reports.views.label_shapes import AgreementView
    from fairtrial.reports.views.mode_shapes import DecisiveView, ModesView

MOST_ROWS = 200
"""The largest number of rows in a request."""
MOST_COMPARED = 8
"""The number of runs that are compared with a base run at once."""
_MOST_CHANGED = 500
_RUNS = 50
_CACHED = 64
_LARGEST = 2**31 - 1
"""The largest integer of every database."""
_NAMED_TOOLS = 100
"""The number of calls whose tools are offered as filters."""

T = TypeVar("T")


class StoreViewer:
    """Reads a store for a viewer, while other processes write it. Its methods may be called from several threads."""

    def __init__(self, url: str) -> None:
        """Open a store. Raises UsageError if it does not exist."""
        self.url = url
        self.store = open_store(url, create=False)
        self.labels = LabelDesk(self.store)
        self._numbers = LiveNumbers(self.store)
        self._modes = ViewedModes(self.stored_run)
        self.board = ModeBoard(self.store, lambda run: self._modes.failures(run, self._index(run).change))
        self._searches = TextSearches(self.store)
        self._indexes: dict[str, RunIndex] = {}
        self._cache: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.RLock()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    # Runs

    def runs(self, *, text: str = "", before: str = "") -> shapes.RunListView:
        """Return the newest runs whose id, name, tags or paths contain a text, before the run `before` if it is given.

        Pages follow each other by the key of their last run, so that a new run does not move them.
        """
        ids: Iterator[str] = iter([run_id for run_id, _ in self.store.run_ids()])
        if before:
            ids = islice(dropwhile(lambda run_id: run_id != before, ids), 1, None)
        batches = iter(lambda: list(islice(ids, _RUNS)), [])
        found = (row for batch in batches for row in self._run_rows(batch) if _mentions(row, text))
        rows = list(islice(found, _RUNS))
        return shapes.RunListView(rows, rows[-1].id if next(found, None) is not None else "")

    def runs_state(self) -> Hashable:
        """Return a value that is another one as soon as the list of runs looks different."""
        states = self.store.run_ids()
        going_on = [run_id for run_id, is_finished in states if not is_finished][:_RUNS]
        return (
            tuple(states),
            tuple((run_id, self.store.last_change(run_id), self.store.run_is_written(run_id)) for run_id in going_on),
        )

    def _run_rows(self, run_ids: Sequence[str]) -> Iterator[shapes.RunRow]:
        """Yield the rows of runs, but of those that were removed meanwhile or cannot be read."""
        infos = self.store.find_runs(run_ids)
        with self._lock:
            new_ids = [own.id for own in infos.values() if ("row", own.id, own.finished) not in self._cache]
        summaries = self.store.summaries(new_ids) if new_ids else {}
        for info in filter(None, map(infos.get, run_ids)):
            yield self._run_row(info, summaries)

    def _run_row(self, info: RunInfo, summaries: Mapping[str, Summary]) -> shapes.RunRow:
        if info.finished is None:
            counts = self.store.count_by_verdict(info.id)
            return run_row(info, Summary(NOT_MET[1], cases=counts), is_alive=self.store.run_is_written(info.id))
        return self._find_cached(
            ("row", info.id, info.finished),
            lambda: run_row(info, summaries.get(info.id) or self._numbers.summary(info)[0], is_alive=False),
        )

    def find_run(self, run_id: str) -> RunInfo:
        """Return the run whose id starts with a text. Raises UsageError unless exactly one run matches."""
        return self.store.run(run_id)

    def open(self, run_id: str, base: str = "", also: Sequence[str] = ()) -> shapes.OpenedRuns:
        """Return a run, or a base run and a run with their comparison, and `also` further runs with theirs."""
        if len(also) > MOST_COMPARED:
            raise UsageError(f"at most {MOST_COMPARED} runs are compared with a base run, got {len(also)}")
        info = self.store.run(run_id)
        index = self._index(info.id)
        self._searches.prepare(info.id, index.change)
        if not base:
            return shapes.OpenedRuns([self._view(info)], index.change)
        base_id = self.store.run(base).id
        candidate_ids = {self.store.run(own).id for own in also} - {base_id, info.id}
        candidates = (*sorted(candidate_ids), info.id)
        comparisons, problem = self._comparisons(base_id, candidates)
        views = [self._view(self.store.run(own)) for own in (base_id, *candidates)]
        return shapes.OpenedRuns(views, index.change, comparisons, problem)

    def _view(self, info: RunInfo, *, in_short: bool = False) -> shapes.RunView:
        index = self._index(info.id)
        summary, is_old = self._numbers.summary(info)
        labelled = len(self.store.labelled_cases(info.id))
        view = run_view(
            info,
            summary,
            self._numbers.calibrations(info, summary),
            cases=index.cases,
            tools=() if in_short else self._tools(info.id, index.change),
            labelled=labelled,
            progress=self._progress(info, index, is_old=is_old),
            attacks=None if in_short else self._attacks(info),
        )
        notes = [*view.notes, *([f"{skipped} {EXPLANATION}"] if (skipped := self.store.count_skipped()) else [])]
        limits = describe_run(summary)
        changes = {"clustered": index.is_repeated, "attempts": index.attempts, "notes": notes, "limits": limits}
        own = msgspec.structs.replace(view, **changes)
        return msgspec.structs.replace(own, config={}, signatures={}) if in_short else own

    def _attacks(self, info: RunInfo) -> AttackReport | None:
        if info.kind != "attack" or info.finished is None:
            return None
        return self._find_cached(("attacks", info.id, info.finished), lambda: self.stored_run(info.id).attacks)

    def _progress(self, info: RunInfo, index: RunIndex, *, is_old: bool) -> shapes.ProgressView | None:
        if info.finished is not None:
            return None
        attempts, total = index.attempts, None
        if info.kind == "run":
            total = max(attempts, self.store.count_cases(info.id) * int(info.config.get("attempts") or 1))
        rate = attempts / info.seconds if info.seconds and attempts else None
        return shapes.ProgressView(
            attempts=attempts,
            is_alive=self.store.run_is_written(info.id),
            resume=resume_command(info, self.url),
            total=total,
            rate=rate,
            seconds_left=None if total is None or rate is None else (total - attempts) / rate,
            computing=is_old,
        )

    def _tools(self, run_id: str, change: int) -> list[str]:
        def read() -> list[str]:
            return sorted({name for *_, name in islice(called_tools(self.store, run_id), _NAMED_TOOLS)})

        return self._find_cached(("tools", run_id, change > 0 and change.bit_length()), read)

    def change_since(self, run_id: str, change: int) -> shapes.RunChange:
        """Return the change of a run since an earlier change."""
        info = self.store.run(run_id)
        index = self._index(info.id)
        changed = {mark.position for mark in self.store.marks(info.id, change)} if index.change > change else set()
        positions = sorted(changed) if len(changed) <= _MOST_CHANGED else None
        return shapes.RunChange(index.change, self._view(info, in_short=True), positions)

    def run_state(self, run_id: str) -> Hashable:
        """Return a value that is another one as soon as the page of a run looks different."""
        info = self.store.run(run_id)
        change, is_written = self.store.last_change(info.id), self.store.run_is_written(info.id)
        return change, info.finished, is_written, self._numbers.are_old(info, change)

    # Cases

    def find_cases(self, run_id: str, query: CaseQuery, base: str = "", window: str = "") -> shapes.FoundCases:
        """Return the positions of the cases that a query finds, those that need attention first.

        Raises UsageError if the same window of a browser searches for something else meanwhile.
        """
        info = self.store.run(run_id)
        index = self._index(info.id)
        conditions = Conditions()
        if query.criterion:
            conditions.places.append(self.store.places_with(info.id, query.criterion, NOT_MET))
        if query.tool:
            conditions.places.append(self._tool_places(info.id, index.change, query.tool))
        if query.mode:
            conditions.places.append(self._modes.places(info.id, index.change, query.mode))
        if query.text.strip():
            conditions.places.append(self._text_places(info.id, index, query.text.strip(), window))
        if "labelled" in query.flags:
            conditions.places.append(self._labelled_places(info.id))
        if "changed" in query.flags and base:
            conditions.positions.append(self._changed_positions(base, info.id))
        found = index.find(query, conditions, newest_first=info.finished is None)
        column = query.sort.removeprefix("-")
        if not column:
            return shapes.FoundCases(found)
        keys = self._find_cached(
            ("sort", info.id, index.change, column), lambda: self._sort_keys(info.id, index, column)
        )
        found = arrange(found, keys, column, downwards=query.sort.startswith("-"))
        return shapes.FoundCases(found, group(found, keys) if query.group else [])

    def _sort_keys(self, run_id: str, index: RunIndex, column: str) -> Mapping[int, SortKey]:
        if column == "mode":
            return self._modes.find_modes(run_id, index.change)
        return sort_keys(self.store, run_id, index, column)

    def _tool_places(self, run_id: str, change: int, tool: str) -> Collection[tuple[int, int]]:
        return self._find_cached(("tool", run_id, change, tool), lambda: set(places_of_tool(self.store, run_id, tool)))

    def _text_places(self, run_id: str, index: RunIndex, text: str, window: str) -> Collection[tuple[int, int]]:
        key = ("text", run_id, index.change, text)
        with self._lock:
            if key in self._cache:
                return self._find_cached(key, set)
        found = self._searches.find(run_id, index.change, text, window)
        return self._find_cached(key, lambda: found)

    def _labelled_places(self, run_id: str) -> set[tuple[int, int]]:
        labelled = self.store.labelled_cases(run_id)
        keys = {(key.eval_set, key.case, key.digest): position for position, key, _ in self.store.case_keys(run_id)}
        return {(keys[own[:3]], own[3]) for own in labelled if own[:3] in keys}

    def rows(self, run_id: str, positions: Sequence[int]) -> list[shapes.CaseRow]:
        """Return the rows of the cases at some positions. Raises UsageError for too many positions."""
        if len(positions) > MOST_ROWS:
            raise UsageError(f"at most {MOST_ROWS} rows at once, got {len(positions)}")
        run = self._excerpt(self.store.run(run_id).id, positions)
        criteria = {name: number for number, name in enumerate(self.store.criterion_terms(run.info.id))}
        rows: list[shapes.CaseRow] = []
        builder = RowBuilder(criteria, run.info.attempt_rules, run.ballots, rows.append)
        for parts in attempt_parts(run):
            builder.add(parts)
        builder.finish()
        by_position = {row.position: row for row in rows}
        return [by_position[position] for position in positions if position in by_position]

    def attempt(self, run_id: str, position: int, attempt: int) -> AttemptView:
        """Return everything about an attempt. Raises UsageError if it does not exist."""
        if max(position, attempt) > _LARGEST:
            raise UsageError(f"run {run_id} has no attempt {attempt} at a case {position}", code="unknown-name")
        run = self._excerpt(self.store.run(run_id).id, [position])
        agents = AgentIndex()
        for parts in attempt_parts(run):
            if parts.result.attempt == attempt:
                view = attempt_view(parts, run.ballots, run.replies, run.info.signatures, agents)
                return msgspec.structs.replace(view, agents=agents.views, decisive=self._decisive(run.info.id, view))
        raise UsageError(f"run {run.info.id} has no attempt {attempt} at a case {position}", code="unknown-name")

    def _decisive(self, run_id: str, view: AttemptView) -> DecisiveView | None:
        """Return where an attempt went wrong. Whoever reads a run that goes on does not wait for it."""
        if view.verdict not in ("failed", "error") or self.store.run(run_id).finished is None:
            return None
        failed = self._modes.find(run_id, self._index(run_id).change, (view.position, view.attempt))
        return None if failed is None else decisive_view(failed)

    def modes(self, run_id: str, base: str = "") -> ModesView | None:
        """Return the failure modes of a run, beside those of a base run if there is one."""
        run = self.store.run(run_id).id
        base_id = self.store.run(base).id if base else run
        base_state = None if base_id == run else (base_id, self._index(base_id).change)
        return self._modes.view(run, self._index(run).change, base_state)

    def stored_run(self, run_id: str) -> Run:
        """Return a run as reports read it, with the numbers so far."""
        info = self.store.run(run_id)
        return Run(info, self._numbers.summary(info)[0], self.store)

    def agreement(self, run_id: str) -> AgreementView:
        """Return how far the people who labelled a run agree, with each other and with its judges."""
        return agreement_view(self.stored_run(run_id), self.store)

    # Several runs

    def _comparisons(self, base: str, run_ids: Sequence[str]) -> tuple[list[shapes.ComparisonView], str]:
        """Return the comparisons of runs with a base run, or the reason why there are none."""
        if base in run_ids:
            return [], "a run cannot be compared with itself"
        key = ("comparison", *((own, self._index(own).change) for own in (base, *run_ids)))

        def compute() -> tuple[list[shapes.ComparisonView], str]:
            base_run, *candidates = map(self.stored_run, (base, *run_ids))
            try:
                comparisons = compare_all(base_run, candidates, CompareOptions(store=self.url))
            except UsageError as error:
                return [], str(error)
            rows = self._compared_rows(base)
            pairs = zip(comparisons, run_ids, strict=True)
            return [comparison_view(compared, rows, self._compared_rows(run_id)) for compared, run_id in pairs], ""

        return self._find_cached(key, compute)

    def _changed_positions(self, base: str, run_id: str) -> Collection[int]:
        comparisons, _ = self._comparisons(self.store.run(base).id, [run_id])
        cases = [case for own in comparisons for case in own.cases]
        return {case.candidate for case in cases if case.change != "same" and case.candidate is not None}

    def _compared_rows(self, run_id: str) -> list[ComparedRow]:
        index = self._index(run_id)
        keys = {position: (key, name) for position, key, name in self.store.case_keys(run_id)}
        means = self.store.mean_values(run_id)
        return [
            compared_row(
                position,
                keys[position][1] or keys[position][0].case,
                keys[position][0].eval_set,
                [mark.verdict for mark in index.attempts_at(position)],
                {name: own[position] for name, own in means.items() if position in own},
            )
            for position in index.positions
            if position in keys
        ]

    def _index(self, run_id: str) -> RunIndex:
        """Return the index of a run up to date."""
        with self._lock:
            index = self._indexes.setdefault(run_id, RunIndex(self.store, run_id))
            index.update()
            return index

    def _excerpt(self, run_id: str, positions: Collection[int]) -> Excerpt:
        return Excerpt(self.store.run(run_id), self.store, tuple(positions))

    def _find_cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value that is made once for a key. The values that were used last are kept."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                known: T = self._cache[key]
                return known
        value = make()
        with self._lock:
            self._cache[key] = value
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        return value


def encode_view(view: Any) -> bytes:
    """Return a view as JSON, without secrets, and without text that no encoding has."""
    return msgspec.json.encode(view if isinstance(view, shapes.FoundCases) else clean(view))


def _mentions(row: shapes.RunRow, text: str) -> bool:
    """Return whether a run contains each word of a text."""
    own = " ".join([row.id, row.name, *row.tags, row.target, row.suite, row.kind]).lower()
    return all(word in own for word in text.lower().split())
