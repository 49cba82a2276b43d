"""Explain how a file is read: each leaf of its JSON is used, known to carry nothing, or unknown."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from fairtrial import loading
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import packed
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.jsontext import decode_documents, decode_lines, decode_text, repaired
from fairtrial.formats.known_keys import KNOWN_KEYS, KNOWN_NOTES, is_prose
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.reports.explanation_html import ExplainedLeaf, Explanation
from fairtrial.text.pointer import escape

_MOST_CHARACTERS = 200
"""A longer text of a leaf is cut."""
_LEAST_PART = 4
"""A shorter text is used only if it equals a text of the recording."""
_NOT_READ = ("extra", "withheld", "beginning", "incomplete")
"""The fields of a record that hold what nobody reads, or that say why it is missing."""


def explain(path: str | Path, columns: Mapping[str, str] = NO_COLUMNS, *, lenient: bool = False) -> Explanation:
    """Return how each leaf of a JSON file is read. Raises FormatError, or UsageError if the file is not JSON.

    A leaf is used if its value stands in the recordings or the cases of the file, known if its key carries nothing for
    scoring, and else unknown. A part of a text counts as used if it has about four words, or if another leaf under the
    same keys is used. `columns` are the paths of `--map`.
    """
    file = Path(path)
    part, _ = loading.read_part(file, lenient=lenient, columns=columns, hashed=False)
    loaded = loading.with_conversations([part], DEFAULTS)[0] if part.spans else part
    data = file.read_bytes()
    data = packed.unpacked(data, str(file)) if packed.packing_at(data) else data
    values = list(_leaves(_values(data, str(file)), (), is_known=False))
    records = msgspec.to_builtins({"recordings": list(loaded.recordings), "eval_set": loaded.eval_set})
    reasons = (recording.trace.incomplete for recording in loaded.recordings)
    leaves = _Reading(records).explain(values)
    return Explanation(str(path), tuple(leaves), loaded.kind, tuple(dict.fromkeys(filter(None, reasons))))


def _values(data: bytes, path: str) -> Any:
    """Return the JSON of a file: a document, or the list of its lines."""
    try:
        lines = decode_lines(data, path)
        values = decode_documents(data) if lines is None else list(lines)
        return repaired(data, path)[0] if values is None else values
    except (FormatError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: only JSON and JSON lines can be explained", code="other-content") from error


class _Leaf(NamedTuple):
    """A leaf of a document: its place, its value as text, and whether a key on the way to it is known."""

    keys: tuple[str | int, ...]
    text: str
    is_known: bool
    is_text: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The keys without the numbers of items."""
        return tuple(key for key in self.keys if isinstance(key, str))


def _leaves(value: Any, keys: tuple[str | int, ...], *, is_known: bool) -> Iterator[_Leaf]:
    """Yield the leaves of a document. JSON texts are opened."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = _decode(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*keys, key), is_known=is_known or key in KNOWN_KEYS or key in KNOWN_NOTES)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, (*keys, i), is_known=is_known)
    elif value is not None:
        yield _Leaf(keys, str(value), is_known or isinstance(value, bool), isinstance(value, str))


class _Reading:
    """The texts and numbers in records, with their places."""

    def __init__(self, records: Any) -> None:
        self._places: dict[str, deque[str]] = {}
        self._note(records, "")
        self._ends: list[int] = []
        self._texts: list[str] = []
        end = 0
        for text in self._places:
            end += len(text) + 1
            self._ends.append(end)
            self._texts.append(text)
        self._joined = "\n".join(self._texts)

    def _note(self, value: Any, place: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key not in _NOT_READ:
                    self._note(item, f"{place}/{escape(str(key))}")
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                self._note(item, f"{place}/{i}")
        elif value is not None and not isinstance(value, bool):
            self._places.setdefault(str(value), deque()).append(place)

    def explain(self, leaves: Sequence[_Leaf]) -> Iterator[ExplainedLeaf]:
        """Yield the leaves with their status."""
        places = [self._place(leaf.text) or self._place_of_prose(leaf.text) for leaf in leaves]
        used_names = {leaf.names for leaf, place in zip(leaves, places, strict=True) if place}
        for leaf, own_place in zip(leaves, places, strict=True):
            place = own_place or (self._place_of_part(leaf.text) if leaf.names in used_names else "")
            status: Literal["used", "known", "unknown"]
            status = "used" if place else "known" if leaf.is_known else "unknown"
            has_content = status == "unknown" and leaf.is_text and is_prose(leaf.text)
            at = "".join(f"/{escape(str(key))}" for key in leaf.keys)
            yield ExplainedLeaf(at, status, leaf.text[:_MOST_CHARACTERS], has_content, place)

    def _place(self, text: str) -> str:
        """Return where a text stands. If it stands at several places, each is returned in turn."""
        places = self._places.get(text)
        if places is None:
            return ""
        return places.popleft() if len(places) > 1 else places[0]

    def _place_of_prose(self, text: str) -> str:
        return self._place_of_part(text) if is_prose(text) else ""

    def _place_of_part(self, text: str) -> str:
        """Return where a text stands that contains this one."""
        bare = text.strip()
        start = self._joined.find(bare) if len(bare) >= _LEAST_PART else -1
        return self._places[self._texts[bisect_right(self._ends, start)]][0] if start >= 0 else ""


def _decode(text: str) -> Any:
    try:
        value = decode_text(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text
