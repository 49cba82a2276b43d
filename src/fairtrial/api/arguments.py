"""Check types and ranges of arguments in calls from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from fairtrial.errors import UsageError, spell
from fairtrial.loading.matching import Match
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace

Paths = str | Path | Iterable[str | Path]
"""A file, a folder, or several. For example, `FILE:case1,case2` chooses two cases of a file."""


def read_paths(argument: Any, allowed: str) -> list[str | Path]:
    """Return an argument as a list of paths. Raises UsageError, with the `allowed` types, if it is anything else."""
    paths = list_items(argument)
    if not paths or not all(isinstance(path, str | Path) for path in paths):
        raise UsageError(f"{allowed}, got {_type_names(argument, paths)}")
    return paths


def collect_recordings(argument: Any) -> tuple[list[str | Path] | None, list[Recording]]:
    """Return an argument as paths, or as None and recordings. Raises UsageError if it is anything else, or a mixture.

    A bare trace becomes a recording of the case that its session names. Without a session, the case is its number.
    """
    items = list_items(argument)
    if items is not None and all(isinstance(item, str | Path) for item in items):
        return items, []
    if items is None or not all(isinstance(item, Recording | Trace) for item in items):
        types = _type_names(argument, items)
        raise UsageError(f"recordings must be paths, or a list of objects of the class Recording or Trace, got {types}")
    return None, [_recording(item, number) for number, item in enumerate(items, 1)]


def _recording(item: Recording | Trace, number: int) -> Recording:
    return item if isinstance(item, Recording) else Recording(item.session_id or str(number), item)


def check_criteria(argument: object) -> None:
    """Raise UsageError if an argument can be neither a file nor criteria."""
    if not isinstance(argument, Iterable | Path | None):
        name = type(argument).__name__
        raise UsageError(f"criteria must be a file, a dict or a list of objects of the class Criterion, got {name}")


def check_numbers(*, concurrency: int, attempts: int = 1, jobs: int = 1, reply_timeout: float | None = None) -> None:
    """Raise UsageError if a number is out of range."""
    for name, number in (("attempts", attempts), ("concurrency", concurrency), ("jobs", jobs)):
        if type(number) is not int or number < 1:
            raise UsageError(f"{name} must be a whole number, 1 or more, got {number!r}")
    if reply_timeout is not None and not (isinstance(reply_timeout, int | float) and reply_timeout > 0):
        raise UsageError(f"reply_timeout must be a number of seconds above 0, or None, got {reply_timeout!r}")


def check_source(source: object) -> None:
    """Raise UsageError if conversations cannot be recorded by a source."""
    if source not in ("messages", "spans"):
        raise UsageError(f"record must be 'messages' or 'spans', got {source!r}")


def check_share(**shares: float | None) -> None:
    """Raise UsageError if a share is no number from 0 to 1, or None."""
    for name, share in shares.items():
        is_number = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1
        if share is not None and not is_number:
            raise UsageError(f"{spell(name)} must be a number from 0 to 1, or None, got {share!r}")


def check_match(match: str) -> None:
    """Raise UsageError if the way of matching is unknown."""
    if match not in get_args(Match):
        raise UsageError(f"match must be one of {', '.join(get_args(Match))}, got {match!r}")


def list_items(argument: Any) -> list[Any] | None:
    """Return an argument as a list, for example the items of a generator, or None if it is not a collection."""
    if isinstance(argument, str | Path):
        return [argument]
    return list(argument) if isinstance(argument, Iterable) and not isinstance(argument, Mapping) else None


def _type_names(argument: Any, items: Sequence[Any] | None) -> str:
    """Return the type of an argument, with the types of its items."""
    if items is None:
        return type(argument).__name__
    types = dict.fromkeys(type(item).__name__ for item in items)
    return f"{type(argument).__name__} of {', '.join(types) or 'nothing'}"
