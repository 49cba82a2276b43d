"""Which attempts must tell their number, because their case has others?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairtrial.records.result import CaseResult


def attempts(results: Iterable[CaseResult]) -> Iterator[tuple[CaseResult, bool]]:
    """Yield results in file order, the attempts of a case one after another, each with whether its case has several."""
    before: CaseResult | None = None
    several = False
    for result in results:
        if before is not None:
            again = result.position == before.position
            yield before, several or again
            several = again
        before = result
    if before is not None:
        yield before, several
