"""Keep files in a folder of an object store, which can neither rename nor append."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from fairtrial.errors import UsageError
from fairtrial.loading.data_files import open_file_system
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra

_AT_ONCE = 16


class ObjectFolder(Record, frozen=True):
    """A folder in an object store, such as s3://bucket/scored. An object appears whole at the end of its upload.

    All methods raise UsageError if the store refuses.
    """

    url: str

    def make_url(self, name: str) -> str:
        """Return the URL of an object, with the options of the folder's."""
        url, mark, options = self.url.partition("?")
        return f"{url.rstrip('/')}/{name}{mark}{options}"

    def names(self, under: str = "") -> list[str]:
        """Return the names of all objects, or of those under a folder inside, in order."""
        fs: Any = import_extra("pyarrow.fs", "parquet")
        system, root = self._open()
        selector = fs.FileSelector(f"{root}/{under}".rstrip("/"), allow_not_found=True, recursive=True)
        infos = self._do(lambda: system.get_file_info(selector))
        return sorted(info.path.removeprefix(f"{root}/") for info in infos if info.type == fs.FileType.File)

    def write(self, name: str, data: bytes) -> None:
        """Write an object."""
        system, root = self._open()

        def put() -> None:
            with system.open_output_stream(f"{root}/{name}") as stream:
                stream.write(data)

        self._do(put)

    def upload(self, folder: Path, pattern: str) -> None:
        """Upload the files of a local folder that match a pattern, under the same names."""
        for path in sorted(folder.glob(pattern)):
            self._upload_file(path, str(PurePosixPath(path.relative_to(folder))))

    def _upload_file(self, path: Path, name: str) -> None:
        fs: Any = import_extra("pyarrow.fs", "parquet")
        system, root = self._open()
        local = fs.LocalFileSystem()
        self._do(
            lambda: fs.copy_files(
                str(path), f"{root}/{name}", source_filesystem=local, destination_filesystem=system, use_threads=False
            )
        )

    def read_each(self, names: Iterable[str]) -> list[bytes]:
        """Return the contents of objects, several of which are read at once."""
        system, root = self._open()

        def read(name: str) -> bytes:
            with system.open_input_file(f"{root}/{name}") as stream:
                data: bytes = stream.read()
            return data

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            contents: list[bytes] = self._do(lambda: list(pool.map(read, names)))
        return contents

    def download(self, folder: Path, under: Iterable[str]) -> None:
        """Copy the objects under folders inside into a local folder."""
        self._copy(folder, [name for inner in under for name in self.names(inner)])

    def fetch(self, folder: Path, names: Iterable[str]) -> None:
        """Copy those of some objects that exist into a local folder."""
        fs: Any = import_extra("pyarrow.fs", "parquet")
        system, root = self._open()
        infos = self._do(lambda: system.get_file_info([f"{root}/{name}" for name in names]))
        self._copy(folder, [info.path.removeprefix(f"{root}/") for info in infos if info.type == fs.FileType.File])

    def _copy(self, folder: Path, names: Iterable[str]) -> None:
        fs: Any = import_extra("pyarrow.fs", "parquet")
        system, root = self._open()
        local = fs.LocalFileSystem()

        def copy(name: str) -> None:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            fs.copy_files(
                f"{root}/{name}", str(target), source_filesystem=system, destination_filesystem=local, use_threads=False
            )

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            self._do(lambda: list(pool.map(copy, names)))

    def remove(self, inner: str) -> None:
        """Remove a folder inside with its objects."""
        system, root = self._open()
        self._do(lambda: system.delete_dir(f"{root}/{inner}"))

    def remove_each(self, names: Iterable[str]) -> None:
        """Remove those of some objects that exist."""
        fs: Any = import_extra("pyarrow.fs", "parquet")
        system, root = self._open()
        for info in self._do(lambda: system.get_file_info([f"{root}/{name}" for name in names])):
            if info.type == fs.FileType.File:
                self._do(partial(system.delete_file, info.path))

    def _open(self) -> tuple[Any, str]:
        system, path = open_file_system(self.url)
        return system, path.rstrip("/")

    def _do(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except OSError as error:
            raise UsageError(f"{self.url}: cannot be used: {error}", code="unreadable-file") from error
