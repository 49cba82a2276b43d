"""Explain how a file is read: each leaf of its JSON is used, known to carry nothing, or unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from fairtrial import loading
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import packed
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.jsontext import decode_documents, decode_lines, decode_text, repaired
from fairtrial.formats.known_keys import KNOWN_KEYS, KNOWN_NOTES, is_prose
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.records.record import Record
from fairtrial.text.display import count
from fairtrial.text.pointer import escape

_MOST_CHARACTERS = 200
"""A longer text of a leaf is cut."""
_LEAST_PART = 4
"""A shorter text is used only if it equals a text of the recording."""
_NOT_READ = ("extra", "withheld", "beginning", "incomplete")
"""The fields of a record that hold what nobody reads, or that say why it is missing."""


class ExplainedLeaf(Record, frozen=True):
    """A leaf of a file: its JSON pointer, how it was read, and its value as text.

    An unknown leaf `has_content` if it is a text of about four words or more.
    """

    place: str
    status: Literal["used", "known", "unknown"]
    text: str
    has_content: bool = False


class Explanation(Record, frozen=True):
    """The leaves of a file in their order."""

    path: str
    leaves: tuple[ExplainedLeaf, ...]

    @property
    def summary(self) -> str:
        """The number of leaves of each status."""
        numbers = dict.fromkeys(("used", "known", "unknown"), 0)
        for leaf in self.leaves:
            numbers[leaf.status] += 1
        content = sum(leaf.has_content for leaf in self.leaves)
        shares = ", ".join(f"{number} {status}" for status, number in numbers.items())
        return f"{count(len(self.leaves), 'value')}: {shares}" + (
            f", {content} of them with content" if content else ""
        )


def explain(path: str | Path, columns: Mapping[str, str] = NO_COLUMNS) -> Explanation:
    """Return how each leaf of a JSON file is read. Raises FormatError, or UsageError if the file is not JSON.

    A leaf is used if its value stands in the recordings or the cases of the file, known if its key carries nothing for
    scoring, and else unknown. `columns` are the paths of `--map`.
    """
    file = Path(path)
    part, _ = loading.read_part(file, columns=columns, hashed=False)
    loaded = loading.with_conversations([part], DEFAULTS)[0] if part.spans else part
    data = file.read_bytes()
    data = packed.unpacked(data, str(file)) if packed.packing_at(data) else data
    texts = set(_texts(msgspec.to_builtins([list(loaded.recordings), loaded.eval_set])))
    reader = _Leaves(texts)
    return Explanation(str(path), tuple(reader.read(_values(data, str(file)), "")))


def _values(data: bytes, path: str) -> Any:
    """Return the JSON of a file: a document, or the list of its lines."""
    try:
        lines = decode_lines(data, path)
        values = decode_documents(data) if lines is None else list(lines)
        return repaired(data, path)[0] if values is None else values
    except (FormatError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: only JSON and JSON lines can be explained") from error


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in records, as text."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _NOT_READ:
                yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


class _Leaves:
    """Reads the leaves of a document. JSON texts are opened."""

    def __init__(self, texts: set[str]) -> None:
        self._texts = texts
        self._joined = "\n".join(texts)

    def read(self, value: Any, place: str, *, is_known: bool = False) -> Iterator[ExplainedLeaf]:
        """Yield the leaves of a value."""
        if isinstance(value, str) and value[:1] in ("{", "["):
            value = _decode(value)
        if isinstance(value, dict):
            for key, item in value.items():
                has_known_key = is_known or key in KNOWN_KEYS or key in KNOWN_NOTES
                yield from self.read(item, f"{place}/{escape(key)}", is_known=has_known_key)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                yield from self.read(item, f"{place}/{i}", is_known=is_known)
        elif value is not None:
            yield self._leaf(value, place, is_known=is_known)

    def _leaf(self, value: Any, place: str, *, is_known: bool) -> ExplainedLeaf:
        text = str(value)
        if text in self._texts or (len(text) >= _LEAST_PART and text.strip() in self._joined):
            return ExplainedLeaf(place, "used", text[:_MOST_CHARACTERS])
        if is_known or isinstance(value, bool):
            return ExplainedLeaf(place, "known", text[:_MOST_CHARACTERS])
        has_content = isinstance(value, str) and is_prose(text)
        return ExplainedLeaf(place, "unknown", text[:_MOST_CHARACTERS], has_content)


def _decode(text: str) -> Any:
    try:
        value = decode_text(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text
