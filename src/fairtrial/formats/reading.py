"""What is wrong with a file, and where? Collects every problem while a reader goes on."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from fairtrial.config.spelling import snake
from fairtrial.config.wording import format_value
from fairtrial.errors import FormatError, nearest
from fairtrial.formats.right_forms import right_form
from fairtrial.records.case import SessionInput
from fairtrial.text.display import shortened
from fairtrial.text.pointer import escape

Place = tuple[Any, ...]
"""A place in a document: `(parent, key)`, the root is `()`. Rendered only when there is something to say."""

Names = Mapping[str, str]
"""Every accepted spelling of a key, with the one we use."""

MOST_PROBLEMS = 20
"""A file has at most this many lines of problems."""

_MOST_HINTS = 1000
"""How many unknown keys of a file are compared with the known ones, which takes time."""

_LONGEST_NAME = 100
"""A longer key is not compared."""

_LONGEST_PLACE = 500
"""A longer JSON pointer is cut in messages."""


def pointer(at: Place) -> str:
    """Return a place as a JSON pointer (RFC 6901)."""
    tokens: list[str] = []
    while at:
        at, key = at
        tokens.append(escape(str(key)))
    return "".join(f"/{token}" for token in reversed(tokens)) or "/"


@lru_cache(maxsize=1024)
def _nearly(key: str, names: tuple[str, ...]) -> str:
    """Which of the names is meant by a key that is nearly one of them, in words; empty where it is near to none."""
    name, known = snake(key), set(names)
    return nearest(name, known) if difflib.get_close_matches(name, known, n=1, cutoff=0.8) else ""


class Diagnostics:
    """The errors and warnings found so far in one file; `keys` counts the keys that its eval set holds."""

    def __init__(self, path: str, *, lenient: bool = False) -> None:
        self.path = path
        self.lenient = lenient
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.sessions: dict[bytes, SessionInput] = {}
        self.keys = 0
        self._hints = 0

    def error(self, at: Place, problem: str) -> None:
        """Note something that makes the file unreadable; raise FormatError if there is no room for another problem."""
        self.errors.append(f"{shortened(pointer(at), _LONGEST_PLACE)}: {problem}")
        if len(self.errors) == MOST_PROBLEMS - 1:
            self.errors.append("reading stops after this many problems; repair them, and read the file again")
            self.finish()

    def warning(self, at: Place, problem: str) -> None:
        """Note something that the user should know."""
        self.warnings.append(f"{self.path}: {shortened(pointer(at), _LONGEST_PLACE)}: {problem}")

    def finish(self) -> None:
        """Raise FormatError if there was any error."""
        if self.errors:
            raise FormatError(self.path, self.errors)

    def wanted(self, at: Place, allowed: str, got: Any) -> None:
        """Note a value of the wrong type."""
        self.error(at, f"must be {allowed}, got {format_value(got)}")

    def unknown(self, at: Place, key: str, names: Iterable[str], *, open_ended: bool = False) -> None:
        """Note an unknown key: an error, since nothing reads its value; a warning if the reader is lenient.

        In an object that is `open_ended` only a key that is nearly a known one is worth a word.
        """
        known = tuple(dict.fromkeys(names))
        self._hints += 1
        comparable = self._hints <= _MOST_HINTS and len(key) <= _LONGEST_NAME
        hint = _nearly(key, known) if comparable else ""
        if open_ended and not hint:
            return
        if self.lenient:
            if not open_ended:
                self.warning((at, key), "unknown key, ignored (it is preserved when the file is written back)")
            return
        form = hint or right_form(key) or f"; known are {', '.join(map(repr, known[:12]))}"
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
        """Split an object into its known, non-null fields under our names and what else it holds.

        `open_ended`: all unknown keys are allowed, or the unknown keys that it returns true for. `quiet` are unknown
        keys that are allowed. An unknown key whose value is null is allowed everywhere.
        """
        known: dict[str, Any] = {}
        if type(raw) is not dict:
            self.wanted(at, "an object", raw)
            return known, None
        extra: dict[str, Any] | None = None
        for key, value in raw.items():
            name = names.get(key)
            if name is None:
                extra = extra or {}
                extra[key] = value
                allowed = value is None or key in quiet or (open_ended(key) if callable(open_ended) else open_ended)
                self.unknown(at, key, names.values(), open_ended=allowed)
            elif name in known:
                first_key = next(first for first in raw if names.get(first) == name)
                self.error((at, key), f"stands there twice, as {first_key!r} and as {key!r}; keep one")
            elif value is not None:
                known[name] = value
        return known, extra

    def text(self, known: dict[str, Any], name: str, at: Place, default: str = "") -> str:
        """Return a string field."""
        value = known.get(name, default)
        if type(value) is not str:
            self.wanted((at, name), "a string", value)
            return default
        return value

    def required(self, known: dict[str, Any], name: str, at: Place) -> str:
        """Return a string field that must be there."""
        if name not in known:
            self.error(at, f"must have {name!r}")
            return ""
        return self.text(known, name, at)

    def array(self, known: dict[str, Any], name: str, at: Place) -> list[Any]:
        """Return an array field; empty where absent or null."""
        value = known.get(name)
        if value is None:
            return []
        if type(value) is not list:
            self.wanted((at, name), "an array", value)
            return []
        return value

    def mapping(self, known: dict[str, Any], name: str, at: Place) -> dict[str, Any] | None:
        """Return an object field; None where absent."""
        value = known.get(name)
        if value is not None and type(value) is not dict:
            self.wanted((at, name), "an object", value)
            return None
        return value

    def number(self, known: dict[str, Any], name: str, at: Place) -> float | None:
        """Return a number field; None where absent."""
        value = known.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.wanted((at, name), "a number", value)
            return None
        return value

    def flag(self, known: dict[str, Any], name: str, at: Place) -> bool:
        """Return a field that is true or false; false where absent."""
        value = known.get(name, False)
        if type(value) is not bool:
            self.wanted((at, name), "true or false", value)
        return value is True
