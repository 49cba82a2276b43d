"""Read runs and claims, and decide a gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.analysis.gates import decide
from fairtrial.analysis.variants import decided_part, own_base
from fairtrial.api.decisions.comparing import check_about, check_different
from fairtrial.api.run_sources import RunSource, measured, measured_whole
from fairtrial.config.claim_options import ClaimOptions
from fairtrial.config.reader import OptionReader
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.option_files import read_options
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.gate import Claim, GateDecision
    from fairtrial.records.run_comparison import About


def gate(
    run: RunSource,
    claims: Sequence[Claim],
    *,
    against: RunSource | None = None,
    about: About = "cases-like-these",
    valid_only: bool = False,
    even_so: bool = False,
    cluster: str | None = None,
    store: str = DEFAULT_URL,
    base_store: str | None = None,
) -> GateDecision:
    """Decide about claims on a run: passed, failed or undecided.

    A claim is a `Claim`, for example `Claim("at_least", 0.8)`. `against` is the base run of claims about a difference.
    Runs are named as in `compare`. By default, a run of a skill is compared with its own attempts without the skill, or
    with the old version. A claim that is false passes with a probability of at most its `alpha`. If a measure
    was taken in another way in the base run, a claim about the difference is undecided, unless `even_so`. If labels of
    people show that a judge is biased, the numbers that people would give decide. `cluster` is as in `compare`. Raises
    UsageError if a claim cannot be asked of the run.
    """
    check_about(about)
    if not claims:
        raise UsageError("a gate needs at least one claim", code="too-little-data")
    whole = measured_whole(run, store, valid_only=valid_only, cluster=cluster)
    measured_run, base = decided_part(whole), None
    if against is not None:
        base = measured(against, base_store or store, valid_only=valid_only, cluster=cluster)
    elif any(claim.kind != "at_least" for claim in claims):
        base = own_base(whole)
    if base is not None:
        check_different([base, measured_run])
    return decide(measured_run, base, claims, about=about, even_so=even_so)


def claims_in(path: Path) -> list[Claim]:
    """Return the claims of a file: a JSON list of objects. Raises FormatError with every problem."""
    document = read_options(path.read_bytes(), str(path))
    if not isinstance(document, list) or not document:
        raise FormatError(str(path), ["must be a list with at least one claim"])
    reader = OptionReader()
    entries = [reader.read(entry, ClaimOptions, f"/{index}") for index, entry in enumerate(document)]
    if reader.problems:
        raise FormatError(str(path), reader.problems)
    return [entry.claim for entry in entries if entry is not None]
