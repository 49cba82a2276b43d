"""Thresholds that a caller gives beside the configuration, for example with `--threshold`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.config.criterion_options import parse_threshold
from fairtrial.errors import UsageError, nearest
from fairtrial.formats.agents_cli.config import METRICS
from fairtrial.metrics.custom.metric_functions import with_threshold

if TYPE_CHECKING:
    from fairtrial.loading import LoadedSet

Thresholds = Mapping[str, float]
"""Thresholds by the names of criteria. A name that a configuration of agents-cli gives to a criterion also counts."""

NO_THRESHOLDS: Thresholds = MappingProxyType({})


def with_thresholds(sets: Sequence[LoadedSet], thresholds: Thresholds) -> list[LoadedSet]:
    """Return sets whose criteria have these thresholds in place of the thresholds of their configurations.

    Raises UsageError for a name that is not a criterion of any set, and ConfigError for a number out of its range.
    """
    names = dict.fromkeys(criterion.name for loaded in sets for criterion in loaded.criteria)
    by_criterion: dict[str, float] = {}
    for name, threshold in thresholds.items():
        criterion_name = name if name in names else METRICS.get(name, name)
        if criterion_name not in names:
            hint = nearest(name, names)
            raise UsageError(
                f"threshold: {name!r} is not a criterion of this run{hint}; it has {', '.join(names)}",
                code="unknown-name",
            )
        by_criterion[criterion_name] = threshold
    return [
        replace(
            loaded,
            criteria=tuple(
                with_threshold(
                    criterion,
                    parse_threshold(by_criterion[criterion.name], criterion.range, f"threshold: {criterion.name}"),
                )
                if criterion.name in by_criterion
                else criterion
                for criterion in loaded.criteria
            ),
        )
        for loaded in sets
    ]
