"""Recognise large files, and hold the spans of one as a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.errors import FormatError
from fairtrial.formats import columnar_rows, packed
from fairtrial.formats.large_text import begins_with_cases
from fairtrial.formats.values import BLOCK, NotStreamableError

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import SpanItem

LARGE = 32 << 20
"""A file with more bytes is large. In memory, its spans would take more than 200 MB."""
_RATIO = 8
"""A gzip file with OTLP is about so many times larger when it is unpacked."""


class LargeFile:
    """The spans of a large file. Each iteration reads the file again. `kind` is the form of the spans.

    `name` is the name of the file in messages. A temporary file lives as long as its `holder`, an open file.
    """

    def __init__(self, path: Path, kind: str, name: str, holder: object = None) -> None:
        self.path = path
        self.kind = kind
        self.name = name
        self._holder = holder

    def __iter__(self) -> Iterator[SpanItem]:
        """Yield the spans and the log records. Raises FormatError for a file that is broken somewhere."""
        from fairtrial.formats.spans.large_documents import iter_items  # enters the readers of all forms

        try:
            yield from iter_items(self.path, self.kind)
        except FormatError as error:
            raise FormatError(self.name, error.problems) from None


def is_large(start: bytes, size: int, *, limit: int | None = None) -> bool:
    """Whether a file with some first bytes and a size is large: above `limit`, or above `LARGE` without a limit."""
    is_packed = bool(packed.packing_at(start)) or columnar_rows.is_parquet(start)
    return size * (_RATIO if is_packed else 1) > (LARGE if limit is None else limit)


def large_file(
    path: Path, *, limit: int | None = None, name: str | None = None, holder: object = None
) -> LargeFile | None:
    """Return the spans of a file that is large by `is_large`, or None if the file is small or holds something else.

    `name` is its name in messages if it is not the path, and `holder` an open temporary file.
    """
    with suppress(OSError, FormatError, NotStreamableError):  # the reader of whole files says what is wrong
        if not path.is_file():
            return None
        with path.open("rb") as file:
            is_small = not is_large(file.read(packed.LONGEST_MAGIC), path.stat().st_size, limit=limit)
        if is_small:
            return None
        from fairtrial.formats.spans.large_documents import find_kind  # enters the readers of all forms

        kind = find_kind(path)
        return LargeFile(path, kind, name or str(path), holder) if kind else None
    return None


def is_large_eval_set(path: Path) -> bool:
    """Whether a file is large, and begins as an eval set or its results do."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size > LARGE:
            with path.open("rb") as file:
                return begins_with_cases(file.read(BLOCK))
    return False
