"""Which attempts need their number in a report, because their case has several attempts?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairtrial.records.result import CaseResult


def attempts(results: Iterable[CaseResult]) -> Iterator[tuple[CaseResult, bool]]:
    """Yield each result, with True if its case has several attempts.

    The results come in file order, so the attempts of a case follow each other.
    """
    previous: CaseResult | None = None
    several = False
    for result in results:
        # A result waits for its successor: only the successor shows that the first attempt of a case has company.
        if previous is not None:
            same_case = result.position == previous.position
            yield previous, several or same_case
            several = same_case
        previous = result
    if previous is not None:
        yield previous, several
