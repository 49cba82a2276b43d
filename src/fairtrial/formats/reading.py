"""Diagnostics of readers: the problems of a file and their places, collected while a reader goes on."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import file_pointer, snake
from fairtrial.config.wording import format_value
from fairtrial.errors import FormatError, nearest
from fairtrial.formats.right_forms import right_form
from fairtrial.text.display import shorten, visible_line
from fairtrial.text.pointer import escape

if TYPE_CHECKING:
    from fairtrial.records.case import SessionInput

Place = tuple[Any, ...]
"""A place in a document: `(parent, key)`, the root is `()`. Rendered only when there is something to say."""

Names = Mapping[str, str]
"""Every accepted spelling of a key, with the one we use."""

MOST_PROBLEMS = 20
"""A file has at most this many lines of problems."""

NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
"""No column of a table is named, so that all are guessed."""

_MOST_HINTS = 1000
"""How many unknown keys of a file are compared with the known ones, which takes time."""

_LONGEST_NAME = 100
"""A longer key is not compared."""

_LONGEST_PLACE = 500
"""A longer JSON pointer is cut in messages."""


@lru_cache(maxsize=64)
def strip_suffixes(path: str) -> str:
    """Return the name of a file without its suffixes, for example `shop` for `data/shop.test.json`.

    Standard input, `-`, is `stdin`.
    """
    return "stdin" if path == "-" else PurePath(path).name.split(".")[0]


class Line(int):
    """The number of a line of a table, as the first key of a place."""

    __slots__ = ()


def pointer(at: Place) -> str:
    """Return a place as a JSON pointer (RFC 6901). In a table, the line comes first, as in `line 7, /expected`."""
    tokens: list[str] = []
    line = ""
    while at:
        at, key = at
        if isinstance(key, Line):
            line = f"line {key}"
        else:
            tokens.append(escape(str(key)))
    path = "".join(f"/{token}" for token in reversed(tokens))
    return ", ".join(filter(None, (line, path))) or "/"


@lru_cache(maxsize=1024)
def _hint(key: str, names: tuple[str, ...]) -> str:
    """Return a hint at the name that a key nearly spells, for example at `eval_id` for `evalid`, or an empty text."""
    name, candidates = snake(key), set(names)
    return nearest(name, candidates) if difflib.get_close_matches(name, candidates, n=1, cutoff=0.8) else ""


class Diagnostics:
    """The errors, warnings and notes of one file so far. `quotes` counts the quotes in the JSON of its eval set.

    `columns` are the columns of a table that the user named, by the parts of a case. `document` is the content of the
    file if it is a configuration, whose places are written with its own spelling of keys. `unread` is the reason why a
    conversation is not read in full, for example an unknown part of a message, and `unread_keys` are the places that
    are said already. `as_reference` says that only
    expectations are read, and not recordings: an ambiguous column of a table is then an expectation.
    """

    def __init__(
        self,
        path: str,
        *,
        lenient: bool = False,
        columns: Mapping[str, str] = NO_COLUMNS,
        as_reference: bool = False,
    ) -> None:
        self.path = path
        self.lenient = lenient
        self.columns = columns
        self.as_reference = as_reference
        self.notes: list[str] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.sessions: dict[bytes, SessionInput] = {}
        self.quotes = 0
        self.document: Any = None
        self.unread = ""
        self.unread_keys: set[tuple[Any, ...]] = set()
        self._of_messages: Diagnostics | None = None
        self._hints = 0
        self._allowed_keys: set[tuple[int, str]] = set()

    def for_messages(self) -> Diagnostics:
        """Return the problems of messages inside a file, which are warnings of the file. They are empty."""
        if self._of_messages is None:
            self._of_messages = Diagnostics(self.path, lenient=self.lenient)
        self._of_messages.errors.clear()
        self._of_messages.warnings.clear()
        self._of_messages.unread = ""
        return self._of_messages

    def pointer(self, at: Place) -> str:
        """Return a place as `pointer` does. The keys of a configuration are spelt as in its file."""
        place = pointer(at)
        return place if self.document is None or not at else file_pointer(self.document, place.removeprefix("/"))

    def error(self, at: Place, problem: str) -> None:
        """Note a problem that makes the file unreadable. Raises FormatError if the list of problems is full."""
        self.errors.append(f"{visible_line(shorten(self.pointer(at), _LONGEST_PLACE))}: {problem}")
        if len(self.errors) == MOST_PROBLEMS - 1:
            self.errors.append("reading stops after this many problems; repair them, and read the file again")
            self.finish()

    def warning(self, at: Place, problem: str) -> None:
        """Note a problem that the reader can tolerate."""
        self.warnings.append(f"{self.path}: {visible_line(shorten(self.pointer(at), _LONGEST_PLACE))}: {problem}")

    def finish(self) -> None:
        """Raise FormatError if there was any error."""
        if self.errors:
            raise FormatError(self.path, self.errors)

    def wrong_type(self, at: Place, allowed: str, got: Any) -> None:
        """Note a value of the wrong type."""
        self.error(at, f"must be {allowed}, got {format_value(got)}")

    def unknown(self, at: Place, key: str, names: Iterable[str], *, open_ended: bool = False, form: str = "") -> None:
        """Note an unknown key. It is an error, because nothing reads its value, or a warning if the reader is lenient.

        In an `open_ended` object, only a key that nearly spells a known key is a problem. `form` names the right form.
        """
        known_names = tuple(dict.fromkeys(names))
        self._hints += 1
        comparable = self._hints <= _MOST_HINTS and len(key) <= _LONGEST_NAME
        hint = _hint(key, known_names) if comparable else ""
        if open_ended and not hint:
            return
        if self.lenient:
            if not open_ended:
                self.warning((at, key), "unknown key, ignored (it is preserved when the file is written back)")
            return
        form = hint or form or right_form(key) or f"; known are {', '.join(map(repr, known_names[:12]))}"
        self.error((at, key), f"is not a known key{form}")

    def fields(
        self,
        raw: Any,
        names: Names,
        at: Place,
        *,
        open_ended: bool | Callable[[str], bool] = False,
        quiet: Collection[str] = (),
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Split an object into its known, non-null fields under our names and its other keys.

        `open_ended`: all unknown keys are allowed, or the unknown keys that it returns true for. `quiet` are unknown
        keys that are allowed. An unknown key whose value is null is allowed everywhere.
        """
        fields: dict[str, Any] = {}
        if type(raw) is not dict:
            self.wrong_type(at, "an object", raw)
            return fields, None
        extra: dict[str, Any] | None = None
        read_name = names.get
        for key, value in raw.items():
            name = read_name(key)
            if name is None:
                if extra is None:
                    extra = {}
                extra[key] = value
                allowed = open_ended is True or value is None or key in quiet or (open_ended and open_ended(key))
                # Files repeat the same keys, so that an allowed key is compared once. The names are constants, and
                # their ids stay the same. Hostile files have very many keys, which are no longer compared.
                if not allowed:
                    self.unknown(at, key, names.values())
                elif self._hints < _MOST_HINTS and (id(names), key) not in self._allowed_keys:
                    self._allowed_keys.add((id(names), key))
                    self.unknown(at, key, names.values(), open_ended=True)
            elif name in fields:
                first_key = next(first for first in raw if names.get(first) == name)
                self.error((at, key), f"stands there twice, as {first_key!r} and as {key!r}; keep one")
            elif value is not None:
                fields[name] = value
        return fields, extra

    def text(self, fields: dict[str, Any], name: str, at: Place, default: str = "") -> str:
        """Return a string field."""
        value = fields.get(name, default)
        if type(value) is not str:
            self.wrong_type((at, name), "a string", value)
            return default
        return value

    def required(self, fields: dict[str, Any], name: str, at: Place) -> str:
        """Return a string field that must be there."""
        if name not in fields:
            self.error(at, f"must have {name!r}")
            return ""
        return self.text(fields, name, at)

    def array(self, fields: dict[str, Any], name: str, at: Place) -> list[Any]:
        """Return an array field, or an empty array if it is absent or null."""
        value = fields.get(name)
        if value is None:
            return []
        if type(value) is not list:
            self.wrong_type((at, name), "an array", value)
            return []
        return value

    def mapping(self, fields: dict[str, Any], name: str, at: Place) -> dict[str, Any] | None:
        """Return an object field, or None if it is absent."""
        value = fields.get(name)
        if value is not None and type(value) is not dict:
            self.wrong_type((at, name), "an object", value)
            return None
        return value

    def number(self, fields: dict[str, Any], name: str, at: Place) -> float | None:
        """Return a number field, or None if it is absent."""
        value = fields.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.wrong_type((at, name), "a number", value)
            return None
        return value

    def flag(self, fields: dict[str, Any], name: str, at: Place) -> bool:
        """Return a field that is true or false, or false if it is absent."""
        value = fields.get(name, False)
        if type(value) is not bool:
            self.wrong_type((at, name), "true or false", value)
        return value is True
