"""May this build go out? Reads runs and claims, and decides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from fairtrial.api.comparing import check_about, check_different
from fairtrial.api.run_sources import RunSource, measured
from fairtrial.errors import FormatError, UsageError, nearest
from fairtrial.gates import decide
from fairtrial.records.gate import Claim, ClaimKind, GateDecision
from fairtrial.records.run_comparison import About
from fairtrial.store import DEFAULT_URL

_KINDS = get_args(ClaimKind)


def gate(
    run: RunSource,
    claims: Sequence[Claim],
    *,
    against: RunSource | None = None,
    about: About = "cases-like-these",
    valid_only: bool = False,
    store: str = DEFAULT_URL,
    base_store: str | None = None,
) -> GateDecision:
    """Decide about claims on a run: passed, failed or undecided.

    A claim is a `Claim`, for example `Claim("at_least", 0.8)`. `against` is the base run of claims about a difference.
    Runs are named as in `compare`. A claim that is false passes with a probability of at most its `alpha`. Raises
    UsageError if a claim cannot be asked of the run.
    """
    check_about(about)
    if not claims:
        raise UsageError("a gate needs at least one claim")
    measured_run = measured(run, store, valid_only=valid_only)
    base = None if against is None else measured(against, base_store or store, valid_only=valid_only)
    if base is not None:
        check_different([base, measured_run])
    return decide(measured_run, base, claims, about=about)


def claims_in(path: Path) -> list[Claim]:
    """Return the claims of a file: a JSON list of objects. Raises FormatError with every problem."""
    try:
        document: Any = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise FormatError(str(path), [f"is not JSON: {error}"]) from None
    problems: list[str] = []
    if not isinstance(document, list) or not document:
        problems.append("must be a list with at least one claim")
        document = []
    claims = [claim for index, entry in enumerate(document) if (claim := _claim(entry, f"/{index}", problems))]
    if problems:
        raise FormatError(str(path), problems)
    return claims


def _claim(entry: Any, place: str, problems: list[str]) -> Claim | None:
    if not isinstance(entry, dict):
        problems.append(f"{place}: must be an object such as {{'measure': 'cases', 'at_least': 0.8}}")
        return None
    keys = ("measure", "alpha", *_KINDS)
    problems += [f"{place}/{key}: is not a key of a claim{nearest(key, keys)}" for key in entry if key not in keys]
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        problems.append(f"{place}: must have one of {', '.join(_KINDS)}, got {', '.join(kinds) or 'none'}")
        return None
    for key in (kinds[0], "alpha"):
        if not isinstance(entry.get(key, 0.05), int | float) or isinstance(entry.get(key), bool):
            problems.append(f"{place}/{key}: must be a number, got {entry[key]!r:.40}")
            return None
    return Claim(kinds[0], float(entry[kinds[0]]), str(entry.get("measure", "cases")), float(entry.get("alpha", 0.05)))
