"""The index of cases in an HTML report, held as pieces of a temporary file and not in memory."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any

import msgspec

from fairtrial.reports.html_summary import LISTED, is_listed
from fairtrial.reports.views.view import ComparedRow, compared_row

if TYPE_CHECKING:
    from fairtrial.reports.views import view_shapes as shapes

Cleaner = Callable[[Any], Any]
"""Returns JSON without what the page must not hold."""

_PIECE = 1 << 20


class IndexedRows:
    """The rows of the cases of a run, cleaned, as JSON in a file.

    The first rows that the summary in plain HTML lists stay in memory. If the run is compared, short rows of all cases
    do so, too.
    """

    def __init__(self, file: IO[bytes], cleaner: Cleaner, compared: Sequence[str] | None) -> None:
        """`compared` are the criteria of the run if it is compared, otherwise None."""
        self._file, self._cleaner, self._criteria = file, cleaner, compared
        self._listed_attempts = 0
        self.listed: list[Mapping[str, Any]] = []
        self.compared: list[ComparedRow] = []

    def clear(self) -> None:
        """Forget all rows."""
        self._file.seek(0)
        self._file.truncate()
        self._listed_attempts = 0
        self.listed.clear()
        self.compared.clear()

    def add(self, row: shapes.CaseRow) -> None:
        """Add a row."""
        if self._criteria is not None:
            verdicts = [attempt.verdict for attempt in row.attempts]
            values = dict(_means(self._criteria, row.attempts))
            self.compared.append(compared_row(row.position, row.name, row.eval_set, verdicts, values))
        cleaned = self._cleaner(msgspec.to_builtins(row))
        attempts = sum(map(is_listed, cleaned["attempts"]))
        # One attempt more than the summary lists shows that there are more.
        if attempts and self._listed_attempts <= LISTED:
            self.listed.append(cleaned)
            self._listed_attempts += attempts
        self._file.write(b"," if self._file.tell() else b"")
        self._file.write(msgspec.json.encode(cleaned))

    def pieces(self) -> Iterator[bytes]:
        """Yield the JSON of the rows, as one list."""
        yield b"["
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece
        yield b"]"


def page_pieces(page: Mapping[str, Any], rows: Sequence[IndexedRows]) -> Iterator[bytes]:
    """Yield the JSON of a PageView, whose cleaned fields are given without its rows."""
    fields = {name: value for name, value in page.items() if name != "cases"}
    yield msgspec.json.encode({**fields, "cases": []}).removesuffix(b"]}")
    for number, own in enumerate(rows):
        yield b"," if number else b""
        yield from own.pieces()
    yield b"]}"


def _means(criteria: Sequence[str], attempts: Sequence[shapes.AttemptRow]) -> Iterator[tuple[str, float]]:
    """Yield the mean of each criterion over the attempts that have a value."""
    for place, name in enumerate(criteria):
        values = [value for attempt in attempts if (value := attempt.values[place]) is not None]
        if values:
            yield name, fmean(values)


class Packer:
    """Gzip that takes its content in pieces."""

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(6, wbits=31)
        self._packed = bytearray()

    def add(self, piece: bytes) -> None:
        """Add a piece of the content."""
        self._packed += self._gzip.compress(piece)

    def finish(self) -> bytes:
        """Return everything that was added."""
        return bytes(self._packed + self._gzip.flush())


def packed_element(name: str, packed: bytes) -> Iterator[bytes]:
    """Yield a script element with data that is gzip already."""
    yield b'<script type="application/gzip" id="%s">' % name.encode()
    yield base64.b64encode(packed)
    yield b"</script>\n"


def data_element(name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a script element with data: gzip in base64, which holds no byte that could end the element."""
    yield b'<script type="application/gzip" id="%s">' % name.encode()
    gzip = zlib.compressobj(6, wbits=31)
    rest = b""
    for piece in pieces:
        rest += gzip.compress(piece)
        whole = len(rest) - len(rest) % 3
        yield base64.b64encode(rest[:whole])
        rest = rest[whole:]
    yield base64.b64encode(rest + gzip.flush()) + b"</script>\n"
