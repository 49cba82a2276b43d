"""Are the arguments that were given from Python of the kind that they must be?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from fairtrial.errors import UsageError
from fairtrial.loading import Match
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace

Paths = str | Path | Iterable[str | Path]
"""A file, a folder, or several; `FILE:case1,case2` chooses cases."""


def paths_of(given: Any, allowed: str) -> list[str | Path]:
    """Return the paths that were given, one or several; raises UsageError, with what is allowed, for anything else."""
    paths = _several(given)
    if not paths or not all(isinstance(one, str | Path) for one in paths):
        raise UsageError(f"{allowed}, got {_kinds(given, paths)}")
    return paths


def recordings_of(given: Any) -> tuple[list[str | Path] | None, list[Recording]]:
    """Return the paths, or None and the recordings; raises UsageError where there is anything else, or both.

    A trace alone is the recording of the case that its session names, else of its place.
    """
    several = _several(given)
    if several is not None and all(isinstance(one, str | Path) for one in several):
        return several, []
    if several is None or not all(isinstance(one, Recording | Trace) for one in several):
        got = _kinds(given, several)
        raise UsageError(f"recordings must be paths, or a list of objects of the class Recording or Trace, got {got}")
    heard = enumerate(several, 1)
    return None, [one if isinstance(one, Recording) else Recording(one.session_id or str(i), one) for i, one in heard]


def check_criteria(given: object) -> None:
    """Raise UsageError for what can be neither a file nor criteria."""
    if not isinstance(given, Iterable | Path | None):
        got = type(given).__name__
        raise UsageError(f"criteria must be a file, a dict or a list of objects of the class Criterion, got {got}")


def check_numbers(*, concurrency: int, attempts: int = 1, reply_timeout: float | None = None) -> None:
    """Raise UsageError for a number that means nothing."""
    for name, number in (("attempts", attempts), ("concurrency", concurrency)):
        if type(number) is not int or number < 1:
            raise UsageError(f"{name} must be a whole number, 1 or more, got {number!r}")
    if reply_timeout is not None and not (isinstance(reply_timeout, int | float) and reply_timeout > 0):
        raise UsageError(f"reply_timeout must be a number of seconds above 0, or None, got {reply_timeout!r}")


def check_match(match: str) -> None:
    """Raise UsageError for a way of matching that there is not."""
    if match not in get_args(Match):
        raise UsageError(f"match must be one of {', '.join(get_args(Match))}, got {match!r}")


def _several(given: Any) -> list[Any] | None:
    """What was given as a list, also where it can be gone through only once; None where it is not several things."""
    if isinstance(given, str | Path):
        return [given]
    return list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping) else None


def _kinds(given: Any, several: Sequence[Any] | None) -> str:
    """Of which classes something is."""
    if several is None:
        return type(given).__name__
    return f"{type(given).__name__} of {', '.join(dict.fromkeys(type(one).__name__ for one in several)) or 'nothing'}"
