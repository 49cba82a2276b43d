"""Read two runs, and compare the cases that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fairtrial.analysis.comparison import NO_SLICES, Slices, compare_runs
from fairtrial.api.case_groups import groups_by_position
from fairtrial.api.run_sources import RunSource, is_file, measured, yield_cases
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError, spell
from fairtrial.records.run_comparison import About, Comparison
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun


@dataclass(frozen=True)
class CompareOptions:
    """How runs are compared. `compare` explains each option."""

    about: About = "cases-like-these"
    pass_rates: bool = False
    margin: float | None = None
    valid_only: bool = False
    even_so: bool = False
    corrected: bool = False
    cluster: str | None = None
    by: str | None = None
    store: str = DEFAULT_URL
    base_store: str | None = None


def compare(
    base: RunSource,
    run: RunSource,
    *,
    about: About = "cases-like-these",
    pass_rates: bool = False,
    margin: float | None = None,
    valid_only: bool = False,
    even_so: bool = False,
    corrected: bool = False,
    cluster: str | None = None,
    by: str | None = None,
    store: str = DEFAULT_URL,
    base_store: str | None = None,
) -> Comparison:
    """Compare a run with a base run, case by case: every difference with its interval and its verdict.

    A run is a `Run`, the beginning of an id in the store, or a file that `--json` or `fairtrial runs export` wrote.
    `about` says whether the cases are a sample ("cases-like-these") or fixed ("these-cases"). `margin` is the
    difference up to which runs are called equal. `valid_only` leaves invalid attempts out. `even_so` compares criteria
    whose options differ. `corrected` compares the corrected means of criteria if people have labelled both runs. Cases
    with the same property `cluster`, for example the same customer, count as one unit; by default, those do that
    declare a cluster. `by` divides the cases by a property, for example by language. Raises UsageError if the runs
    share no case.
    """
    options = CompareOptions(about, pass_rates, margin, valid_only, even_so, corrected, cluster, by, store, base_store)
    return compare_all(base, [run], options)[0]


def compare_all(
    base: RunSource, runs: Sequence[RunSource], options: CompareOptions = CompareOptions()
) -> list[Comparison]:
    """Compare several runs with a base run. Their p values are corrected together."""
    check_about(options.about)
    if options.margin is not None and not options.margin > 0:
        raise UsageError(f"margin must be above 0, got {options.margin:g}")
    base_store, by = options.base_store or options.store, options.by
    base_run = measured(base, base_store, valid_only=options.valid_only, cluster=options.cluster)
    candidates = [measured(run, options.store, valid_only=options.valid_only, cluster=options.cluster) for run in runs]
    check_different([base_run, *candidates])
    return compare_runs(
        base_run,
        candidates,
        about=options.about,
        pass_rates=options.pass_rates,
        margin=options.margin,
        even_so=options.even_so,
        corrected=options.corrected,
        slices=NO_SLICES if by is None else _slices(base, base_store, by, base_run.info.id),
    )


def _slices(base: RunSource, store: str, by: str, run: str) -> Slices:
    """Return the positions of the cases of the base run by the values of a property, in alphabetical order."""
    positions: dict[str, list[int]] = {}
    for position, values in groups_by_position(yield_cases(base, store), by, run).items():
        for value in values:
            positions.setdefault(value, []).append(position)
    return Slices(by, dict(sorted(positions.items())))


def check_baseline(baseline: RunSource, store: str = DEFAULT_URL) -> None:
    """Raise UsageError if a run to compare with cannot be read."""
    measured(baseline, store)


def compare_with_baseline(baseline: RunSource, run: Run, store: str = DEFAULT_URL) -> Comparison | str:
    """Return the comparison of a run with a base run, or the reason why they cannot be compared."""
    try:
        return compare(baseline, run, store=store)
    except UsageError as error:
        return str(error)


def find_base_run(baseline: RunSource, store: str = DEFAULT_URL) -> Run | None:
    """Return a base run that is in a store, with its conversations. A file with a report has none."""
    if isinstance(baseline, Run):
        return baseline
    return None if is_file(baseline) else reread(store, str(baseline))


def write_compared_page(
    path: Path,
    runs: Sequence[RunSource],
    comparisons: Sequence[Comparison],
    options: CompareOptions = CompareOptions(),
) -> list[str]:
    """Write one HTML page about a base run and the runs that were compared with it. Return warnings.

    Raises UsageError if a run is a file, which holds no conversations.
    """
    from fairtrial.reports.html import write_pages

    stores = [options.base_store or options.store, *repeat(options.store, len(runs) - 1)]
    stored_runs = [find_base_run(run, store) for run, store in zip(runs, stores, strict=True)]
    for run, own in zip(runs, stored_runs, strict=True):
        if own is None:
            raise UsageError(f"{spell('html')} needs runs of a store, got the file {run}")
    with path.open("wb") as stream:
        return write_pages(stream, [own for own in stored_runs if own is not None], comparisons=comparisons)


def check_about(about: str) -> None:
    """Raise UsageError if a comparison is about something unknown."""
    if about not in get_args(About):
        raise UsageError(f"about must be one of {', '.join(get_args(About))}, got {about!r}")


def check_different(runs: Sequence[MeasuredRun]) -> None:
    """Raise UsageError if a run is given twice."""
    ids = [run.info.id for run in runs]
    for run_id in ids:
        if ids.count(run_id) > 1:
            raise UsageError(f"a run cannot be compared with itself, got {run_id} twice")
