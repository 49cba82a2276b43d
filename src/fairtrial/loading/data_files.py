"""Find and open the files of a data set: files, folders, globs, and URLs of object stores."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from fairtrial.errors import UsageError
from fairtrial.formats import packed
from fairtrial.loading.folders import walk_files
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".pb", ".traj", ".eval")
_GLOB = "*?["
_URL_GLOB = "*["  # a question mark begins the options of a URL


class DataFile(Record, frozen=True):
    """A file of a data set. If its content changes, its size in bytes or its `version` changes."""

    path: str
    size: int
    version: str


def find_data_files(paths: Sequence[str | Path]) -> list[DataFile]:
    """Return the files at paths, folders, globs and URLs, in the order of the paths and then by name.

    In a folder and below it, files count if their suffix is that of recordings, also packed with gzip or Zstandard.
    Raises UsageError for a path without files, and for a file that two paths name.
    """
    files: dict[str, DataFile] = {}
    for path in map(str, paths):
        path_files = list(_remote_files(path) if is_url(path) else _local_files(path))
        if not path_files:
            raise UsageError(
                f"{path}: holds no {', '.join(_SUFFIXES)} file, plain or packed as .gz or .zst", code="other-content"
            )
        for file in path_files:
            if file.path in files:
                raise UsageError(
                    f"{file.path}: is named twice, so that its conversations would count twice", code="input-read-twice"
                )
            files[file.path] = file
    return list(files.values())


def is_url(path: str) -> bool:
    """Whether a path names something in an object store, such as s3://bucket/traffic."""
    return "://" in path


def open_data_file(path: str) -> BinaryIO:
    """Open a file, or an object of an object store, for reading at any place. Raises OSError."""
    if not is_url(path):
        return Path(path).open("rb")
    system, inner = open_file_system(path)
    return cast("BinaryIO", system.open_input_file(inner))


def _local_files(pattern: str) -> Iterator[DataFile]:
    path = Path(pattern)
    if path.is_dir():
        names: Iterable[Path] = sorted(file for file in walk_files(path) if _is_data(file.name))
    elif path.is_file():
        names = [path]
    elif any(sign in pattern for sign in _GLOB):
        names = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))  # noqa: PTH113, PTH207
    else:
        raise UsageError(f"{pattern}: no such file or folder", code="no-such-file")
    for name in names:
        status = name.stat()
        yield DataFile(str(name), status.st_size, str(status.st_mtime_ns))


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
