"""Divide a run by the variants of a skill: the same cases with it, without it, or with an older version."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun
    from fairtrial.records.run import RunInfo

SIGN = "@"
"""The sign between an eval set, or a run, and the name of a variant: `csv-report@without`."""


WITH = "with"
"""The variant with the skill as it is, which the verdict of a run is about."""


def variants_in(run: MeasuredRun) -> list[str]:
    """Return the names of the variants of a run, in the order of its cases."""
    names = (key.eval_set.rpartition(SIGN) for key in run.keys)
    return list(dict.fromkeys(name for _, sign, name in names if sign))


def decided_part(run: MeasuredRun, info: RunInfo | None = None) -> MeasuredRun:
    """Return the part of a run that its verdict is about. Variants that only serve a comparison are left out.

    It has the id of the run with the variant, or keeps `info`.
    """
    if not run.info.attempt_rules.baselines or len(variants_in(run)) < 2:
        return run
    part = select_variant(run, WITH)
    return part if info is None else with_fields(part, info=info)


def own_base(run: MeasuredRun) -> MeasuredRun | None:
    """Return the part of a run that its verdict is compared with: the attempts without the skill, or with the old one.

    It is None if there is no such variant, or more than one.
    """
    variants = variants_in(run) if run.info.attempt_rules.baselines else []
    other_variants = [variant for variant in variants if variant != WITH]
    return select_variant(run, other_variants[0]) if len(other_variants) == 1 and WITH in variants else None


def select_variant(run: MeasuredRun, variant: str) -> MeasuredRun:
    """Return the part of a run that is about one variant. Its id is that of the run with the variant.

    Raises UsageError if the run does not have the variant.
    """
    places = [place for place, key in enumerate(run.keys) if key.eval_set.endswith(f"{SIGN}{variant}")]
    if not places:
        variants = ", ".join(variants_in(run)) or "none"
        raise UsageError(f"run {run.info.id} has no variant {variant!r}; its variants: {variants}", code="unknown-name")
    return with_fields(
        select_cases(run, places),
        info=replace(run.info, id=f"{run.info.id}{SIGN}{variant}"),
        names=[run.keys[place].case for place in places],
    )


def select_cases(run: MeasuredRun, places: Sequence[int]) -> MeasuredRun:
    """Return the part of a run that is about some of its cases."""
    return with_fields(
        run,
        keys=[run.keys[place] for place in places],
        names=[run.names[place] for place in places],
        positions=[run.positions[place] for place in places],
        columns={name: column.select(places) for name, column in run.columns.items()},
        case_attempts=array("I", [run.attempts_at(place) for place in places]),
        case_verdicts=[run.case_verdicts[place] for place in places],
        clusters=[run.clusters[place] for place in places] if run.clusters else (),
        weights=[run.weights[place] for place in places] if run.weights else (),
    )
