"""Find the files that paths name: files, folders, standard input, and `FILE:case1,case2`."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fnmatch import fnmatch
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import packed
from fairtrial.formats.large_text import LargeText, can_forget
from fairtrial.formats.recognise import read_large_eval_set
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.large_files import LargeFile, is_large, is_large_eval_set, large_file
from fairtrial.formats.values import BLOCK
from fairtrial.loading.folders import belongs_to_session, data_files, walk_files, walk_unread
from fairtrial.loading.skill_folders import eval_files, is_of_skill, is_skill_folder
from fairtrial.system.paths import exists
from fairtrial.text.display import count, shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.formats.loaded import Loaded

_PATTERNS = (
    "*.test.json",
    "*.evalset.json",
    "*_evalset.json",
    "eval_set.json",
    "*-dataset.json",
    *(f"*.evalset{suffix}" for suffix in (".yaml", ".yml", ".jsonl", ".csv", ".tsv", ".parquet")),
)


CONFIG_NAMES = tuple(
    f"{name}{suffix}"
    for name in ("test_config", "eval_config", "evaluation_config")
    for suffix in (".json", ".yaml", ".yml")
)
"""Configurations that are found beside the files that they are for."""


RECORDED_NAMES = tuple(
    f"*{suffix}"
    for suffix in (".json", ".jsonl", ".pb", *packed.SUFFIXES, ".eval", ".traj", ".parquet", ".csv", ".tsv")
)
"""A folder of recordings is read whole. Files that hold no recordings are named in a warning."""


_KNOWN_RECORDINGS = (*_PATTERNS, "*.session.json", "*.evalset_result.json", "*.jsonl")


class FoundFile(NamedTuple):
    """A file that the user named, the folder it was found in, and the globs for its cases (`FILE:case1,case2`).

    `notes` are warnings about its folder. `is_in_folder` says that the user named the folder, and not the file.
    """

    path: Path
    root: str
    only: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_in_folder: bool = False


def is_eval_set_name(path: Path) -> bool:
    """Whether a file has the name of an eval set, such as shop.evalset.json."""
    return any(fnmatch(path.name, pattern) for pattern in _PATTERNS)


def check_name(path: Path) -> None:
    """Raise FormatError for a file name that could not be written to a report."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FormatError(ascii(str(path)), ["has a name that is not UTF-8; rename the file"]) from None


@contextmanager
def no_such_path(given: str | Path) -> Iterator[None]:
    """Raise UsageError if the system cannot look at a path, for example because the path is too long."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{shorten(str(given), 200)}: {error.strerror or error}", code="unreadable-file") from None


def find_files(paths: Sequence[str | Path], *, recorded: bool) -> Iterator[FoundFile]:
    """Yield the files at paths.

    In a folder, a file counts if it has the name of an eval set or, with `recorded`, of recordings. `-` is
    standard input. A path that does not exist may be `FILE:case1,case2`, as in ADK. Raises UsageError for any other
    path that does not exist.
    """
    check_stdin(paths)
    for given in paths:
        with no_such_path(given):
            path, only = split_cases(str(given))
            of_skill = [] if recorded or not is_skill_folder(path) else eval_files(path)
            files = of_skill or _files(path, RECORDED_NAMES if recorded else _PATTERNS)
            notes = () if of_skill else _omission_notes(path, files, recorded=recorded)
        for file in files:
            yield FoundFile(file, str(path if path.is_dir() else file.parent), only, notes, path.is_dir())
            notes = ()


def has_known_name(path: Path) -> bool:
    """Whether the name of a file says that it is an eval set, recordings or a configuration."""
    return path.name in CONFIG_NAMES or any(
        fnmatch(path.name, pattern) for pattern in _KNOWN_RECORDINGS if pattern != "*.jsonl"
    )


def split_cases(given: str) -> tuple[Path, tuple[str, ...]]:
    """Return the path and the globs of `FILE:case1,case2`. A path without cases has none."""
    path, colon, cases = given.rpartition(":")
    if colon and not Path(given).exists() and Path(path).exists():
        return Path(path), tuple(case_id.strip() for case_id in cases.split(",") if case_id.strip())
    return Path(given), ()


def check_stdin(paths: Sequence[str | Path]) -> None:
    """Raise UsageError if standard input stands among the paths more than once."""
    if list(map(str, paths)).count(STDIN) > 1:
        raise UsageError(
            "- is standard input, which can be read only once; give it once, and the other files by their paths",
            code="input-read-twice",
        )


def can_read_again(path: Path) -> bool:
    """Whether a path is a file, and not standard input or a pipe, which are empty after they were read."""
    return str(path) != STDIN and path.is_file()


def _files(path: Path, patterns: Sequence[str]) -> list[Path]:
    if str(path) == STDIN:
        return [path]
    if not exists(path):
        raise UsageError(f"{path}: no such file or folder", code="no-such-file")
    if not path.is_dir():
        return [path]
    if dataset := data_files(path):
        return dataset
    files = [file for file in sorted(walk_files(path, patterns)) if file.name not in CONFIG_NAMES]
    files = [file for file in files if not belongs_to_session(file)]
    if not files:
        raise UsageError(f"{path}: holds no {' or '.join(patterns)}", code="other-content")
    return files


def _omission_notes(path: Path, files: Sequence[Path], *, recorded: bool) -> tuple[str, ...]:
    """Return warnings that name what of a folder is neither read nor known to be something else, one for each kind."""
    if not path.is_dir() or data_files(path):
        return ()
    patterns = ("*" if recorded else "*.json",)
    file_kind = "other file" if recorded else "other JSON file"
    omissions: dict[str, list[str]] = {}
    for file in sorted(set(walk_files(path, patterns)) - set(files)):
        is_known = file.name in CONFIG_NAMES or any(fnmatch(file.name, pattern) for pattern in _KNOWN_RECORDINGS)
        if not is_known and not is_of_skill(file, path):
            omissions.setdefault(file_kind, []).append(_below(path, file))
    for kind, place in walk_unread(path, patterns):
        omissions.setdefault(kind, []).append(_below(path, place))
    return tuple(
        f"{path}: left out {count(len(names), kind)}: {name_some(names)}; "
        f"give a {'file by its path' if kind == file_kind else 'path'} to read it"
        for kind, names in omissions.items()
    )


def _below(folder: Path, path: Path) -> str:
    return visible_line(str(path.relative_to(folder)))


def name_some(files: Sequence[str]) -> str:
    """Return the first five of the names of files, and the number of the others."""
    return ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")


def large_eval_set(
    path: Path, *, lenient: bool, columns: Mapping[str, str], hashed: bool = True
) -> tuple[Loaded, str] | None:
    """Return a large eval set and the SHA-256 of its file, or None if the file has to be read as a whole.

    The SHA-256 is empty if the file is not to be `hashed`.

    Raises FormatError for a file with a problem, and OSError for a file that cannot be read.
    """
    if not (can_forget and is_large_eval_set(path)):
        return None
    text = LargeText(path)
    digest = hashlib.sha256(text.memory).hexdigest() if hashed else ""
    loaded = read_large_eval_set(text, str(path), lenient=lenient, columns=columns)
    return None if loaded is None else (loaded, digest)


STDIN = "-"
"""The path that stands for standard input."""


class StreamContent(NamedTuple):
    """The content of a stream: spans that stay in a temporary file, or else all bytes. `sha256` is of the bytes."""

    sha256: str
    data: bytes = b""
    spans: LargeFile | None = None


def read_stream(path: Path) -> StreamContent:
    """Return the content of standard input, or of a pipe. Raises OSError.

    A large stream is written into a temporary file, which is deleted when its spans are no longer needed.
    """
    with _open(path) as stream:
        data = stream.read(large_files.LARGE + 1)
        if not is_large(data[:2], len(data)):
            return StreamContent(hashlib.sha256(data).hexdigest(), data)
        file = NamedTemporaryFile(prefix="fairtrial-")  # noqa: SIM115  # it lives as long as its spans
        file.write(data)
        del data
        shutil.copyfileobj(stream, file, BLOCK)
    file.flush()
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if (spans := large_file(Path(file.name), name=str(path), holder=file)) is not None:
        return StreamContent(sha256, spans=spans)
    file.seek(0)
    with file:
        return StreamContent(sha256, file.read())


def _open(path: Path) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if str(path) == STDIN else path.open("rb")
