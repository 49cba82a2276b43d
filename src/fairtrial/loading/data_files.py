"""Find and open the files of a data set: files, folders, globs, and URLs of object stores."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from fairtrial.errors import UsageError
from fairtrial.formats import packed
from fairtrial.loading.folders import is_of_tool
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra
from fairtrial.text.display import count, visible_line

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".pb", ".traj", ".eval")
_GLOB = "*?["
_URL_GLOB = "*["  # a question mark begins the options of a URL
_MOST_NAMES = 5
"""So many of the files that a folder holds beside recordings are named."""


class DataFile(Record, frozen=True):
    """A file of a data set. If its content changes, its size in bytes or its `version` changes."""

    path: str
    size: int
    version: str


def find_data_files(paths: Sequence[str | Path], note: Callable[[str], object] = str) -> list[DataFile]:
    """Return the files at paths, folders, globs and URLs, in the order of the paths and then by name.

    In a folder and below it, files count if their suffix is that of recordings, also packed with gzip or Zstandard.
    `note` receives a sentence about what a folder holds beside them. Raises UsageError for a path without files, for a
    file that two paths name, for a folder that cannot be listed, and for a name that is not UTF-8.
    """
    files: dict[str, DataFile] = {}
    is_single = len(paths) == 1
    for path in map(str, paths):
        is_empty = True
        for file in _remote_files(path) if is_url(path) else _local_files(path, note):
            place = file.path if is_single else locate(file.path)
            if place in files:
                raise UsageError(
                    f"{visible_line(file.path)}: is named twice, so that its conversations would count twice",
                    code="input-read-twice",
                )
            files[place] = file
            is_empty = False
        if is_empty:
            raise UsageError(
                f"{path}: holds no {', '.join(_SUFFIXES)} file, plain or packed as .gz or .zst", code="other-content"
            )
    return list(files.values())


def locate(path: str) -> str:
    """Return where a file is, however its path is spelled: `./a.json` and `a.json` are one file."""
    return path if is_url(path) else os.path.abspath(path)  # noqa: PTH100  (far faster)


def is_url(path: str) -> bool:
    """Whether a path names something in an object store, such as s3://bucket/traffic."""
    return "://" in path


def open_data_file(path: str) -> BinaryIO:
    """Open a file, or an object of an object store, for reading at any place. Raises OSError."""
    if not is_url(path):
        return Path(path).open("rb")
    system, inner = open_file_system(path)
    return cast("BinaryIO", system.open_input_file(inner))


def _local_files(pattern: str, note: Callable[[str], object]) -> Iterator[DataFile]:
    path = Path(pattern)
    if path.is_dir():
        omissions = _Omissions()
        yield from _files_below(str(path), omissions)
        for sentence in omissions.sentences(pattern):
            note(sentence)
        return
    if path.is_file():
        names = [path]
    elif any(sign in pattern for sign in _GLOB):
        names = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))  # noqa: PTH113, PTH207
    else:
        raise UsageError(f"{pattern}: no such file or folder", code="no-such-file")
    for name in names:
        yield _data_file(str(name), name.stat())


class _Omissions:
    """The entries of a folder that are not read, by their kind: how many, and the first few."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, kind: str, path: str) -> None:
        """Note an entry."""
        self._numbers[kind] += 1
        if self._numbers[kind] <= _MOST_NAMES:
            self._names.setdefault(kind, []).append(path)

    def sentences(self, folder: str) -> Iterator[str]:
        """Yield what is not read of a folder, in words."""
        for kind, number in self._numbers.items():
            names = ", ".join(visible_line(os.path.relpath(name, folder)) for name in self._names[kind])
            more = f" and {number - _MOST_NAMES:,} more" if number > _MOST_NAMES else ""
            yield f"{folder}: left out {count(number, kind)}: {names}{more}; give a path to read it"


def _files_below(folder: str, omissions: _Omissions) -> Iterator[DataFile]:
    """Yield the files of recordings below a folder by name, one folder at a time, so that memory stays bounded.

    A link that leads nowhere is a file, too: its worker refuses it.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(
            f"{visible_line(folder)}: cannot be listed: {error.strerror or error}", code="unreadable-file"
        ) from None
    for entry in entries:
        path = str(Path(folder) / entry.name) if folder.endswith("/") or folder == "." else f"{folder}/{entry.name}"
        try:
            status = entry.stat()
        except OSError:
            status = _stat_link(entry, path)
        if stat.S_ISDIR(status.st_mode):
            if entry.is_symlink():
                omissions.add("linked folder", path)
            elif is_of_tool(Path(path)):
                omissions.add("hidden folder" if entry.name.startswith(".") else "tool folder", path)
            else:
                yield from _files_below(path, omissions)
        elif _is_data(entry.name) and (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            yield _data_file(path, status)
        else:
            omissions.add("other file", path)


def _stat_link(entry: os.DirEntry[str], path: str) -> os.stat_result:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        raise UsageError(f"{visible_line(path)}: {error.strerror or error}", code="unreadable-file") from None


def _data_file(path: str, status: os.stat_result) -> DataFile:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{path!a}: has a name that is not UTF-8; rename the file", code="unreadable-file") from None
    return DataFile(path, status.st_size, str(status.st_mtime_ns))


def _remote_files(url: str) -> Iterator[DataFile]:
    fs: Any = import_extra("pyarrow.fs", "parquet")
    address, mark, options = url.partition("?")
    parts = address.split("/")
    first_glob = next((i for i, part in enumerate(parts) if any(sign in part for sign in _URL_GLOB)), None)
    root = "/".join(parts[:first_glob]).rstrip("/")
    system, inner = open_file_system(root + mark + options)
    try:
        info = system.get_file_info(inner)
        is_file = info.type == fs.FileType.File
        infos = [info] if is_file else system.get_file_info(fs.FileSelector(inner, recursive=True))
    except OSError as error:
        raise UsageError(f"{url}: cannot be read: {error}", code="unreadable-file") from error
    for info in sorted(infos, key=lambda info: info.path):
        name = root + info.path.removeprefix(inner.rstrip("/"))
        is_wanted = is_file or (_is_data(info.base_name) if first_glob is None else fnmatch(name, address))
        if info.type == fs.FileType.File and is_wanted:
            yield DataFile(name + mark + options, info.size, str(info.mtime_ns))


def open_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it. Raises UsageError."""
    fs: Any = import_extra("pyarrow.fs", "parquet")
    if "@" in urlsplit(url).netloc and url.startswith(("s3://", "gs://")):
        raise UsageError(
            "a URL must not hold keys, since reports show it; put them into the environment", code="unsafe-input"
        )
    server = os.environ.get("AWS_ENDPOINT_URL", "")
    if url.startswith("s3://") and server and "endpoint_override" not in url:
        scheme, _, host = server.rpartition("://")
        url += f"?endpoint_override={host.rstrip('/')}&scheme={scheme or 'https'}"
    try:
        if url.startswith("az://"):
            account = os.environ.get("AZURE_STORAGE_ACCOUNT", "")
            return fs.AzureFileSystem(account), url.removeprefix("az://")
        system, path = fs.FileSystem.from_uri(url)
    except (OSError, ValueError) as error:
        raise UsageError(f"{url.partition('?')[0]}: cannot be reached: {error}", code="no-answer") from error
    return system, path


def _is_data(name: str) -> bool:
    suffixes = PurePosixPath(name.lower()).suffixes
    if suffixes and suffixes[-1] in packed.SUFFIXES:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in _SUFFIXES
