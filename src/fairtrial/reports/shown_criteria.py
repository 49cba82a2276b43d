"""The criteria of a run that a report shows: it leaves out those that nobody asked for and that found no data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.metrics.entries import CATALOG

if TYPE_CHECKING:
    from fairtrial.records.summary import CriterionSummary, Summary

_ALWAYS_COMPUTED = frozenset(entry.name for entry in CATALOG.values() if entry.always_computed)


def has_data(criterion: CriterionSummary) -> bool:
    """Whether a criterion has a mean or a threshold, or somebody asked for it and it applied to a case.

    The other criteria were computed by default and found no data. For example, token counts may not be recorded.
    """
    return (
        criterion.mean.value is not None
        or criterion.threshold is not None
        or (criterion.informational > 0 and criterion.criterion not in _ALWAYS_COMPUTED)
    )


def informative(summary: Summary) -> list[CriterionSummary]:
    """Return the criteria that a report shows."""
    return list(filter(has_data, summary.criteria))
