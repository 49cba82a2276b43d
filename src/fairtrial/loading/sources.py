"""Which files are meant, and what do they hold?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from msgspec.structs import replace

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.recognise import Loaded, read
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record
from fairtrial.text.display import shortened

_PATTERNS = ("*.test.json", "*.evalset.json", "*_evalset.json", "eval_set.json", "*-dataset.json")
CONFIG_NAMES = ("test_config.json", "eval_config.json", "eval_config.yaml", "eval_config.yml")
"""Configurations that are found beside the files that they are for."""
_RECORDED = (*_PATTERNS, "*.session.json", "*.evalset_result.json", "*.jsonl")


class Source(Record, frozen=True):
    """One file that was read: what it holds, the folder it was found under, and the digest of its bytes."""

    loaded: Loaded
    root: str
    sha256: str
    only: tuple[str, ...] = ()


def read_file(path: Path, *, lenient: bool = False) -> tuple[Loaded, str]:
    """Return what a file holds, and the SHA-256 of its bytes; raises FormatError."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FormatError(ascii(str(path)), ["has a name that is not UTF-8; rename the file"]) from None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None
    return read(data, str(path), lenient=lenient), hashlib.sha256(data).hexdigest()


@contextmanager
def no_such_path(given: str | Path) -> Iterator[None]:
    """Raise UsageError for a path that the system does not even look at: too long, or in a folder that is closed."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{shortened(str(given), 200)}: {error.strerror or error}") from None


def sources(paths: Sequence[str | Path], *, lenient: bool = False, recorded: bool = False) -> list[Source]:
    """Return the files at paths; of a folder those with the names of eval sets (and, `recorded`, of recordings).

    A path that does not exist may be `FILE:case1,case2`, as in ADK. Raises FormatError that lists the problems of all
    files at once.
    """
    found: list[Source] = []
    problems: list[FormatError] = []
    for given in paths:
        with no_such_path(given):
            path, only = _split(str(given))
            files = _files(path, _RECORDED if recorded else _PATTERNS)
            notes = _left_out(path, files)
        for file in files:
            try:
                loaded, digest = read_file(file, lenient=lenient)
                loaded = replace(loaded, warnings=(*notes, *loaded.warnings))
                notes = ()
                _useful(loaded, recorded=recorded)
                found.append(Source(loaded, str(path if path.is_dir() else file.parent), digest, only))
            except FormatError as error:
                problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise UsageError("\n".join(str(problem) for problem in problems))
    return found


def _useful(loaded: Loaded, *, recorded: bool) -> None:
    if loaded.eval_set is None and not (recorded and loaded.recordings):
        raise FormatError(loaded.path, [f"holds {loaded.kind}, where an eval set is needed"])


def _split(given: str) -> tuple[Path, tuple[str, ...]]:
    path, colon, cases = given.rpartition(":")
    if colon and not Path(given).exists() and Path(path).exists():
        return Path(path), tuple(one.strip() for one in cases.split(",") if one.strip())
    return Path(given), ()


def _files(path: Path, patterns: Sequence[str]) -> list[Path]:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    files = sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})
    if not files:
        raise UsageError(f"{path}: holds no {' or '.join(patterns)}")
    return files


def _left_out(path: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """Return a warning that names the JSON files of a folder which are neither read nor known to be something else."""
    if not path.is_dir():
        return ()
    others = sorted(
        str(file.relative_to(path))
        for file in set(path.rglob("*.json")) - set(files)
        if file.name not in CONFIG_NAMES and not any(fnmatch(file.name, pattern) for pattern in _RECORDED)
    )
    if not others:
        return ()
    names = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return (f"{path}: {len(others)} other JSON files are left out: {names}; give a file by its path to read it",)


def merge_sources(found: Sequence[Source]) -> list[Source]:
    """Return the files with those that recorded the same eval set made one, so that its recordings are attempts.

    The same is a set with the same id, and the same expectation of every case that both hold.
    """
    merged: list[Source] = []
    for source in found:
        home = next((i for i, one in enumerate(merged) if _same_set(one, source)), None)
        if home is None:
            merged.append(source)
        else:
            merged[home] = _joined(merged[home], source)
    return merged


def _same_set(one: Source, other: Source) -> bool:
    ours, theirs = one.loaded.eval_set, other.loaded.eval_set
    if ours is None or theirs is None or not (ours.id and ours.id == theirs.id) or one.only or other.only:
        return False
    known = {case.id: case for case in ours.cases}
    recorded = one.loaded.recordings and other.loaded.recordings
    return bool(recorded) and all(known.get(case.id, case) == case for case in theirs.cases)


def _joined(one: Source, other: Source) -> Source:
    ours, theirs = one.loaded.eval_set or EvalSet(""), other.loaded.eval_set or EvalSet("")
    known = {case.id for case in ours.cases}
    cases = (*ours.cases, *(case for case in theirs.cases if case.id not in known))
    loaded = replace(
        one.loaded,
        eval_set=replace(ours, cases=cases),
        recordings=(*one.loaded.recordings, *other.loaded.recordings),
        warnings=(*one.loaded.warnings, *other.loaded.warnings),
    )
    return replace(one, loaded=loaded)
