"""The viewer sorts and groups the cases of a run by any column, and shows every case whose values moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from fairtrial import api
from fairtrial.api.viewer.view_index import CaseQuery
from fairtrial.records.result import JudgeStats, Outcome
from fairtrial.records.score import Score
from fairtrial.records.trace import Durations, Trace
from fairtrial.store import Store
from finished import FinishedRun
from mode_runs import EXTRA, NOW, mode_run
from report_pages import run as report_run
from viewers import FIRST, SECOND, fill

VALUES = (0.5, 0.25, None, 1.0, 0.25, 0.75)
TOKENS = (300, 100, 200, 600, 500, None)
COSTS = (0.03, None, 0.01, 0.06, 0.05, 0.02)
SECONDS = (3.0, 1.0, 2.0, 6.0, 5.0, 4.0)
GROUPS = ("b", "a", None, "a", "b", "a")


def graded(run_id: str, values: tuple[float | None, ...] = VALUES) -> FinishedRun:
    """A run with an attempt at each case, and different values, tokens, costs, seconds and groups."""
    own = report_run(run_id, cases=len(values), attempts=1)
    results = []
    for result, value, tokens, cost in zip(own.results, values, TOKENS, COSTS, strict=False):
        stats = None if cost is None else JudgeStats(1, 0, 0, cost)
        outcome = Outcome("quality", Score(value, "no value"), 0.0, judge_stats=stats)
        usage = None if tokens is None else {"inference_calls": 1, "input_tokens": tokens - 10, "output_tokens": 10}
        results.append(replace(result, outcomes=(outcome,), failure=None, usage=usage))
    expected = [
        replace(case, case=replace(case.case, groups={} if name is None else {"shop": name}))
        for case, name in zip(own.expectations, GROUPS, strict=False)
    ]
    recorded = [
        (
            position,
            replace(recording, trace=Trace((replace(recording.trace.invocations[1], durations=Durations(seconds)),))),
        )
        for (position, recording), seconds in zip(own.recorded, SECONDS, strict=False)
    ]
    return FinishedRun(own.info, results, expected, recorded)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[api.StoreViewer]:
    """A reader of a store with one run."""
    with closing(Store(f"sqlite:///{tmp_path_factory.mktemp('order')}/runs.db")) as store:
        fill(store, graded(FIRST))
        with closing(api.StoreViewer(store.url)) as own:
            yield own


COLUMNS = {
    "c.quality": [1, 4, 0, 5, 3, 2],
    "-c.quality": [3, 5, 0, 1, 4, 2],
    "tokens": [1, 2, 0, 4, 3, 5],
    "-tokens": [3, 4, 0, 2, 1, 5],
    "cost": [2, 5, 0, 4, 3, 1],
    "seconds": [1, 2, 0, 5, 4, 3],
    "-name": [5, 4, 3, 2, 1, 0],
    "g.shop": [1, 3, 5, 0, 4, 2],
}
"""The positions of the cases by each column. Cases without a value come last, and equal cases keep their order."""


@pytest.mark.parametrize("column", COLUMNS)
def test_cases_are_sorted_by_a_column(viewer: api.StoreViewer, column: str) -> None:
    """Upwards, or downwards with a minus."""
    found = list(viewer.find_cases(FIRST, CaseQuery(sort=column)).positions)
    if column in ("c.quality", "-c.quality", "g.shop"):
        # Equal cases stand in the order of attention, in which the case without a value comes first.
        assert sorted_alike(found, COLUMNS[column], VALUES if "quality" in column else GROUPS)
    else:
        assert found == COLUMNS[column]


def sorted_alike(found: list[int], expected: list[int], keys: tuple[object, ...]) -> bool:
    """Whether two orders have the same cases with the same keys at the same places."""
    return sorted(found) == sorted(expected) and [keys[own] for own in found] == [keys[own] for own in expected]


def test_a_filter_keeps_the_order_of_a_column(viewer: api.StoreViewer) -> None:
    """The case without a verdict is left out."""
    found = viewer.find_cases(FIRST, CaseQuery(verdict="passed", sort="-seconds")).positions
    assert list(found) == [3, 4, 5, 0, 1]


def test_cases_with_the_same_value_are_a_group(viewer: api.StoreViewer) -> None:
    """Each group has its value and its number of cases."""
    found = viewer.find_cases(FIRST, CaseQuery(sort="g.shop", group=True))
    assert [tuple(own) for own in found.groups] == [("a", 3), ("b", 2), (None, 1)]
    values = viewer.find_cases(FIRST, CaseQuery(sort="c.quality", group=True)).groups
    assert [tuple(own) for own in values] == [(0.25, 2), (0.5, 1), (0.75, 1), (1.0, 1), (None, 1)]


def test_failures_are_grouped_by_reason_without_its_numbers(tmp_path: Path) -> None:
    """The most frequent reason first, and cases without one last."""
    reasons = ("the price is 12", "no answer", "the price is 3.5", None, "the price is 1,200", "no answer")
    own = graded(FIRST)
    results = []
    for result, reason in zip(own.results, reasons, strict=True):
        score = Score(1.0) if reason is None else Score(0.0, reason)
        results.append(replace(result, outcomes=(Outcome("quality", score, 0.5),)))
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, FinishedRun(own.info, results, own.expectations, own.recorded))
        with closing(api.StoreViewer(store.url)) as viewer:
            found = viewer.find_cases(FIRST, CaseQuery(sort="reason", group=True))
    assert [tuple(group) for group in found.groups] == [("the price is #", 3), ("no answer", 2), (None, 1)]
    assert [sorted(found.positions[:3]), list(found.positions[3:])] == [[0, 2, 4], [1, 5, 3]]


def test_failures_are_grouped_by_mode(tmp_path: Path) -> None:
    """Each group is one of the modes that the page lists, with the number of its cases."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, mode_run(NOW, extra=EXTRA))
        with closing(api.StoreViewer(store.url)) as viewer:
            modes = viewer.modes(NOW)
            assert modes is not None
            found = viewer.find_cases(NOW, CaseQuery(sort="mode", group=True))
    groups = dict(found.groups)
    assert {mode.number: mode.cases for mode in modes.modes} == {
        key: own for key, own in groups.items() if key is not None
    }
    counts = [own for key, own in found.groups if key is not None]
    assert counts == sorted(counts, reverse=True)


def test_a_column_that_does_not_exist_leaves_the_order(viewer: api.StoreViewer) -> None:
    """As a link from another run may name it."""
    plain = viewer.find_cases(FIRST, CaseQuery()).positions
    assert list(viewer.find_cases(FIRST, CaseQuery(sort="c.nothing")).positions) == list(plain)


def test_a_comparison_has_every_case_whose_value_moved(tmp_path: Path) -> None:
    """Also if its verdict is the same; a case without a change has no moved criterion."""
    after = (0.4, 0.25, None, 0.2, 0.5, None)
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, graded(FIRST))
        fill(store, graded(SECOND, after))
        with closing(api.StoreViewer(store.url)) as viewer:
            (comparison,) = viewer.open(SECOND, FIRST).comparisons
    moved = {case.candidate: case.moved for case in comparison.cases if case.moved}
    assert moved == {
        0: {"quality": (0.5, 0.4)},
        3: {"quality": (1.0, 0.2)},
        4: {"quality": (0.25, 0.5)},
        5: {"quality": (0.75, None)},
    }
