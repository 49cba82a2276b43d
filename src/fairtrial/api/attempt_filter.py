"""Select and order the attempts of a run that a user wants to see."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from fairtrial.errors import UsageError, nearest, spell
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.text.display import count
from fairtrial.text.globs import fits

if TYPE_CHECKING:
    from fairtrial.records.attempt_row import AttemptRow, CriterionTerms, OutcomeRow
    from fairtrial.store import Store

_NOT_PASSED = (Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED)
Place = tuple[int, int]
"""The position of a case, and the number of an attempt at it."""


@dataclass(frozen=True)
class AttemptFilter:
    """The attempts that a user looks for. An attempt must have all the properties that are given.

    With a `criterion`, `failed` means the attempts that did not pass this criterion. `case` is an id or a name, with
    the wildcards `*` and `?`. `sort` "value" puts the worst values of the criterion first. Pages count from 1.
    """

    failed: bool = False
    criterion: str = ""
    case: str = ""
    sort: Literal["file", "value"] = "file"
    page: int = 1
    page_size: int = 50


@dataclass(frozen=True)
class Selection:
    """The attempts on one page, and the number of attempts on all pages."""

    results: list[CaseResult]
    total: int
    page: int
    pages: int
    criterion: str = ""


def select_attempts(store: Store, run_id: str, attempt_filter: AttemptFilter) -> Selection:
    """Return a page of the attempts that fit a filter. Only the results of that page are decoded.

    Raises UsageError for a criterion that the run does not have, and for a page behind the last.
    """
    terms = store.criterion_terms(run_id)
    criterion = _criterion(attempt_filter, terms)
    keys = store.case_keys(run_id)
    cases = {
        position
        for position, key, name in keys
        if fits(key.case, attempt_filter.case) or fits(name, attempt_filter.case)
    }
    rows = [
        row
        for row in store.attempt_rows(run_id)
        if (not attempt_filter.case or row.position in cases) and _fits(row, criterion, failed=attempt_filter.failed)
    ]
    if attempt_filter.sort == "value":
        lower_is_better = terms[criterion].lower_is_better
        rows.sort(key=lambda row: _badness(row, criterion, lower_is_better=lower_is_better))
    pages = max(1, math.ceil(len(rows) / attempt_filter.page_size))
    if attempt_filter.page > pages:
        raise UsageError(f"{spell('page')}: must be at most {pages}, got {attempt_filter.page}")
    start = (attempt_filter.page - 1) * attempt_filter.page_size
    places = [(row.position, row.attempt) for row in rows[start : start + attempt_filter.page_size]]
    return Selection(
        list(_results(store, run_id, places)), len(rows), attempt_filter.page, pages, attempt_filter.criterion
    )


def selection_line(selection: Selection) -> Text:
    """Return the number of attempts, and the place of this page."""
    attempts = count(selection.total, "attempt")
    more = f", page {selection.page} of {selection.pages}" if selection.pages > 1 else ""
    hint = f"; {spell('page')} {selection.page + 1} shows the next" if selection.page < selection.pages else ""
    return Text(f"{attempts}{more}{hint}")


def _criterion(attempt_filter: AttemptFilter, terms: dict[str, CriterionTerms]) -> str:
    """Return the criterion that decides which attempts fit, or by which they are sorted."""
    if attempt_filter.criterion and attempt_filter.criterion not in terms:
        raise UsageError(
            f"{spell('criterion')}: the run has no "
            f"{attempt_filter.criterion!r}{nearest(attempt_filter.criterion, terms)}",
            code="unknown-name",
        )
    if attempt_filter.criterion or attempt_filter.sort == "file":
        return attempt_filter.criterion
    with_threshold = [name for name, own in terms.items() if own.threshold is not None]
    if len(with_threshold) != 1:
        raise UsageError(
            f"{spell('sort')} value: needs {spell('criterion')} NAME; allowed: {', '.join(terms)}",
            code="missing-option",
        )
    return with_threshold[0]


def _fits(row: AttemptRow, criterion: str, *, failed: bool) -> bool:
    outcome = _outcome(row, criterion)
    if criterion and outcome is None:
        return False
    return not failed or (row.verdict if outcome is None else outcome.verdict) in _NOT_PASSED


def _outcome(row: AttemptRow, criterion: str) -> OutcomeRow | None:
    return next((outcome for outcome in row.outcomes if outcome.criterion == criterion), None)


def _badness(row: AttemptRow, criterion: str, *, lower_is_better: bool) -> float:
    """Return a number that is smaller for a worse value. Attempts without a value come last."""
    outcome = _outcome(row, criterion)
    if outcome is None or outcome.value is None:
        return math.inf
    return -outcome.value if lower_is_better else outcome.value


def _results(store: Store, run_id: str, places: list[Place]) -> Iterator[CaseResult]:
    """Yield the results at places, in the order of the places."""
    positions = {position for position, _ in places}
    results = {(own.position, own.attempt): own for own in store.results(run_id, positions=positions)}
    yield from (results[place] for place in places if place in results)
