"""How does a JSON value read without its secrets? Keys, names beside values, and lists of arguments tell of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from fairtrial.records.record import Json
from fairtrial.text import secret_shapes
from fairtrial.text.pointer import escape
from fairtrial.text.redact import (
    KINDS_BY_NAME,
    Finder,
    Redaction,
    finders_of,
    may_hold_number,
    redact_with,
    select_finders,
)
from fairtrial.text.secret_values import is_bare_secret, secret_under

SHORT = 48
"""The length of texts whose result is remembered."""
LEAST_NUMBER = 1_000_000
"""The least number that may be the number of a telephone or of a person."""
Redacted = tuple[Json, tuple[Redaction, ...]]


def redact_json(value: Json, *, emails: bool = True, people: bool = False) -> Redacted:
    """Return a JSON value without secrets, and the removed secrets, each with the pointer of its place in that value.

    Strings and keys are redacted as texts. If a key names a secret, its value is removed. Keys that become equal are
    numbered, so that nothing else is lost. The value must not be nested deeper than the stack allows.
    With `emails` false, e-mail addresses stay. With `people`, personal data goes as in `redact`.
    """
    # One search through all texts together shows for most values that no secret can be in any of them.
    texts: list[str] = []
    _collect_texts(value, texts)
    finders = select_finders(finders_of(emails=emails, people=people), texts)
    return _redactor(finders).redact(value) if finders else (value, ())


def _collect_texts(value: Json, texts: list[str]) -> None:
    """Append all strings, keys and long numbers of a value to `texts`."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict | list):
        members: Iterable[Json] = value
        if isinstance(value, dict):
            texts += value
            members = value.values()
        for member in members:
            if isinstance(member, str):  # most members are texts, and a call for each would take more time
                texts.append(member)
            else:
                _collect_texts(member, texts)
    elif isinstance(value, int) and value >= LEAST_NUMBER:  # it may be a telephone number
        texts.append(str(value))


class _Key(NamedTuple):
    """A key of an object: how it reads without secrets, and what it tells about members."""

    clean: str
    redactions: tuple[Redaction, ...]
    names_secret: bool
    is_name_key: bool
    is_value_key: bool


class _Redactor:
    """Redacts the parts of a value with the finders that it needs. Pointers begin at the part that is redacted."""

    def __init__(self, finders: tuple[Finder, ...]) -> None:
        self._finders = finders
        self._pairs = any(finder.kind == "pair" for finder in finders)
        self._numbers = tuple(finder for finder in finders if finder.kind in KINDS_BY_NAME)
        # Keys, names of tools and types of steps are short, and occur in every trace.
        self._redact_short = lru_cache(maxsize=4096)(self._redact_text)
        self._key = lru_cache(maxsize=4096)(self._read_key)
        self._are_telling = lru_cache(maxsize=4096)(self._find_telling)

    def redact(self, value: Json, name: str = "", key: str = "") -> Redacted:
        """Return a value without secrets and personal data.

        `name` is the name of the secret that the value may be, if there is one. `key` is the key of the value or of the
        list around it.
        """
        if isinstance(value, str):
            clean, redactions = self._redact_string(value, key)
            return (name and _as_secret(value, clean, name)) or (clean, redactions)
        if isinstance(value, list):
            return self._list(value, name, key)
        if isinstance(value, dict):
            return self._object(value, name)
        return (name and _as_secret(value, value, name)) or self._redact_number(value, key)

    def _redact_string(self, text: str, key: str) -> tuple[str, tuple[Redaction, ...]]:
        if self._numbers and key and may_hold_number(text):
            return self._redact_text(text, key)
        return self._redact_short(text) if len(text) <= SHORT else self._redact_text(text)

    def _redact_number(self, value: Json, key: str) -> Redacted:
        """Return the redaction of a number that only its key shows to be personal, for example a telephone number."""
        if not self._numbers or not key or not isinstance(value, int) or value < LEAST_NUMBER:
            return value, ()
        clean, redactions = self._redact_text(str(value), key)
        return (clean, redactions) if redactions else (value, ())

    def _redact_text(self, text: str, key: str = "") -> tuple[str, tuple[Redaction, ...]]:
        return redact_with(self._finders, text, before=f"{key}: " if key else "")

    def _list(self, items: list[Json], name: str, key: str) -> Redacted:
        result: list[Json] = []
        redactions: list[Redaction] = []
        for place, item in enumerate(items):
            item_name = name or (self._name_of_item(items, place) if place else "")
            clean, inner_redactions = self.redact(item, item_name, key)
            result.append(clean)
            redactions += _below(str(place), inner_redactions) if inner_redactions else ()
        return result, tuple(redactions)

    def _name_of_item(self, items: list[Json], place: int) -> str:
        """Return the name of the secret that an item is because of the item before it, or an empty string."""
        before, item = items[place - 1], items[place]
        if not self._pairs or not isinstance(item, str):
            return ""
        if secret_shapes.secret_after_flag(before, item, items[0]):
            return "password"
        is_pair = len(items) == 2 and isinstance(before, str) and secret_shapes.names_secret(before)
        is_header = is_pair and ("cookie" in before.lower() or is_bare_secret(item, password=True))
        return before if is_header else ""

    def _object(self, value: dict[str, Json], name: str) -> Redacted:
        """Return an object without secrets. Most objects have only keys that tell nothing about their members."""
        if name or self._are_telling(tuple(value)):
            return self._telling_object(value, name)
        result: dict[str, Json] = {}
        redactions: list[Redaction] = []
        for key, inner in value.items():
            result[key], inner_redactions = self.redact(inner, "", key)
            if inner_redactions:
                redactions += _below(key, inner_redactions)
        return result, tuple(redactions)

    def _telling_object(self, value: dict[str, Json], name: str) -> Redacted:
        result: dict[str, Json] = {}
        redactions: list[Redaction] = []
        keys = [self._key(key) for key in value]
        for key, inner in zip(keys, value.values(), strict=True):
            if key.is_name_key and isinstance(inner, str) and secret_shapes.names_secret(inner):
                name = inner
        for (raw, inner), key in zip(value.items(), keys, strict=True):
            inherited = name if name and key.is_value_key else raw if key.names_secret else ""
            clean, inner_redactions = self.redact(inner, inherited, raw)
            clean_key = raw if key.clean == raw else _unique(key.clean, result, value)
            result[clean_key] = clean
            if inner_redactions or key.redactions:
                redactions += _below(clean_key, (*key.redactions, *inner_redactions))
        return result, tuple(redactions)

    def _find_telling(self, keys: tuple[str, ...]) -> bool:
        """Return whether any key of an object is redacted, or tells about its members."""
        return any(key.redactions or key.names_secret or key.is_name_key for key in map(self._key, keys))

    def _read_key(self, key: str) -> _Key:
        clean, redactions = self._redact_text(key)
        lowered = key.lower()
        return _Key(
            clean,
            redactions,
            names_secret=self._pairs and secret_shapes.names_secret(key),
            is_name_key=self._pairs and lowered in secret_shapes.NAME_KEYS,
            is_value_key=lowered in secret_shapes.VALUE_KEYS,
        )


_redactor = lru_cache(maxsize=64)(_Redactor)


def _below(key: str, redactions: tuple[Redaction, ...]) -> list[Redaction]:
    """Return redactions in a member or an item with the pointers of the object or list around it."""
    step = f"/{escape(key)}"
    return [msgspec.structs.replace(redaction, pointer=step + redaction.pointer) for redaction in redactions]


def _as_secret(value: Json, clean: Json, name: str) -> Redacted | None:
    """Return the removal of a value that is a secret by its name, or None. Of a cookie, only values are removed."""
    if isinstance(value, bool) or value is None:
        return None
    if name.lower() in {"cookie", "set-cookie"}:
        return _without_cookies(str(clean))
    if not secret_under(name, str(clean)):
        return None
    return "[REDACTED:pair]", (Redaction(kind="pair", detail=name),)


def _without_cookies(header: str) -> Redacted | None:
    spans = list(secret_shapes.find_cookies(header))
    for start, end, _ in reversed(spans):
        header = f"{header[:start]}[REDACTED:pair]{header[end:]}"
    return (header, tuple(Redaction(kind="pair", detail=detail) for *_, detail in spans)) if spans else None


def _unique(clean: str, result: dict[str, Json], value: dict[str, Json]) -> str:
    """Return a redacted key, numbered if the object has it already or will have it."""
    unique, number = clean, 2
    while unique in result or unique in value:
        unique, number = f"{clean}#{number}", number + 1
    return unique
