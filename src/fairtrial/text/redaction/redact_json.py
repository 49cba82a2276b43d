"""Redact secrets in JSON values, by keys, by names beside values, and in lists of arguments."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

import msgspec

from fairtrial.records.record import Json
from fairtrial.text.layers import unescape_json
from fairtrial.text.pointer import escape
from fairtrial.text.redaction import named_keys, secret_commands, secret_shapes
from fairtrial.text.redaction.redact import KINDS_BY_NAME, Redaction, make_finders, redact_with
from fairtrial.text.redaction.secret_search import Search, may_hold_number
from fairtrial.text.redaction.secret_values import is_bare_secret, secret_under

_SHORT_KEY = 100
"""The longest key whose meaning is remembered."""
LEAST_NUMBER = 1_000_000
"""The least number that may be a telephone number or personal number."""
Redacted = tuple[Json, tuple[Redaction, ...]]


def redact_json(value: Json, *, emails: bool = True, people: bool = False) -> Redacted:
    """Return a JSON value without secrets, and the removed secrets, each with the pointer to its place in that value.

    Strings and keys are redacted as texts. If a key names a secret, its value is removed. Keys that become equal are
    numbered, so that nothing else is lost. The value must not be nested deeper than the stack allows. Parts without a
    secret are not copied.
    With `emails` false, e-mail addresses stay. With `people`, personal data goes as in `redact`.
    """
    # One search through the whole value shows for most values that no secret can be in any of its texts.
    text = _extract_text(value)
    search = Search(make_finders(emails=emails, people=people), text)
    if not search.finders:
        return value, ()
    return _Redactor(search, len(text), emails=emails, people=people).redact(value)


def _extract_text(value: Json) -> str:
    """Return a text that contains all strings, keys and numbers in a value."""
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:  # the value holds half of a surrogate pair
        text = json.dumps(value, ensure_ascii=False, default=str)
    return unescape_json(text)


class _Key(NamedTuple):
    """An object key: how it reads without secrets, and what it tells about members."""

    clean: str
    redactions: tuple[Redaction, ...]
    names_secret: bool
    is_name_key: bool
    is_value_key: bool


def _classify_key(key: str, emails: bool, people: bool) -> _Key:
    """Return what a key tells. It is remembered if the key is short, because most keys occur in many values."""
    return (_read_short_key if len(key) <= _SHORT_KEY else _read_key)(key, emails, people)


def _read_key(key: str, emails: bool, people: bool) -> _Key:
    search = Search(make_finders(emails=emails, people=people), key)
    clean, redactions = redact_with(search, key)
    lowered = key.lower()
    return _Key(
        clean,
        redactions,
        names_secret=secret_shapes.names_secret(key) or bool(named_keys.forms_under(key)),
        is_name_key=lowered in secret_shapes.NAME_KEYS,
        is_value_key=lowered in secret_shapes.VALUE_KEYS,
    )


_read_short_key = lru_cache(maxsize=4096)(_read_key)


class _Redactor:
    """Redacts value parts that may hold a secret. Pointers begin at the part that is redacted."""

    def __init__(self, search: Search, size: int, *, emails: bool, people: bool) -> None:
        kinds = {finder.kind for finder, _ in search.finders}
        self._search = search
        self._pairs = "pair" in kinds
        self._numbers = not kinds.isdisjoint(KINDS_BY_NAME)
        self._remaining = 2 * size
        self._emails = emails
        self._people = people

    def redact(self, value: Json, name: str = "", key: str = "") -> Redacted:
        """Return a value without secrets and personal data.

        `name` is the secret name that the value may have, if there is one. `key` is the key before this value or its
        list.
        """
        if isinstance(value, str):
            clean, redactions = self._redact_text(value, key) if self._search.may_find(value) else (value, ())
            return (name and _as_secret(value, clean, name)) or (clean, redactions)
        if isinstance(value, list):
            return self._list(value, name, key)
        if isinstance(value, dict):
            return self._object(value, name)
        return (name and _as_secret(value, value, name)) or self._redact_number(value, key)

    def _redact_part(self, value: Json, name: str, key: str) -> Redacted:
        """Return a value part without secrets. Most objects and lists hold no sign of any."""
        if self._remaining > 0 and not name and isinstance(value, list | dict):
            text = _extract_text(value)
            if not self._search.may_find(text):
                return value, ()
            self._remaining -= len(text)
        return self.redact(value, name, key)

    def _redact_number(self, value: Json, key: str) -> Redacted:
        """Return a number's redaction that only its key shows to be personal, for example a telephone number."""
        if not self._numbers or not key or not isinstance(value, int) or value < LEAST_NUMBER:
            return value, ()
        clean, redactions = self._redact_text(str(value), key)
        return (clean, redactions) if redactions else (value, ())

    def _redact_text(self, text: str, key: str = "") -> tuple[str, tuple[Redaction, ...]]:
        is_named = key and self._numbers and may_hold_number(text)
        return redact_with(self._search, text, before=f"{key}: " if is_named else "")

    def _list(self, items: list[Json], name: str, key: str) -> Redacted:
        result: list[Json] = []
        redactions: list[Redaction] = []
        for place, item in enumerate(items):
            item_name = name or (self._name_of_item(items, place) if place else "")
            clean, inner_redactions = self._redact_part(item, item_name, key)
            result.append(clean)
            redactions += _below(str(place), inner_redactions) if inner_redactions else ()
        return result if redactions else items, tuple(redactions)

    def _name_of_item(self, items: list[Json], place: int) -> str:
        """Return an item's secret name that its predecessor shows, or an empty string."""
        before, item = items[place - 1], items[place]
        if not (self._pairs and isinstance(item, str) and isinstance(before, str)):
            return ""
        if secret_commands.secret_after_flag(before, item, items[0]):
            return "password"
        is_pair = len(items) == 2 and secret_shapes.names_secret(before)
        is_header = is_pair and ("cookie" in before.lower() or is_bare_secret(item, password=True))
        return before if is_header else ""

    def _object(self, value: dict[str, Json], name: str) -> Redacted:
        """Return an object without secrets. Most objects have only keys that tell nothing about their members."""
        keys = [_classify_key(key, self._emails, self._people) for key in value]
        if name or any(key.redactions or key.names_secret for key in keys):
            return self._telling_object(value, keys, name)
        may_find = self._search.may_find
        result: dict[str, Json] = {}
        redactions: list[Redaction] = []
        for (raw, inner), key in zip(value.items(), keys, strict=True):
            if isinstance(inner, str):
                if not may_find(inner):
                    continue
                if key.is_name_key and secret_shapes.names_secret(inner):
                    return self._telling_object(value, keys, name)
            clean, inner_redactions = self._redact_part(inner, "", raw)
            if inner_redactions:
                result[raw] = clean
                redactions += _below(raw, inner_redactions)
        return value | result if result else value, tuple(redactions)

    def _telling_object(self, value: dict[str, Json], keys: list[_Key], name: str) -> Redacted:
        result: dict[str, Json] = {}
        redactions: list[Redaction] = []
        for key, inner in zip(keys, value.values(), strict=True):
            if key.is_name_key and isinstance(inner, str) and secret_shapes.names_secret(inner):
                name = inner
        for (raw, inner), key in zip(value.items(), keys, strict=True):
            inherited = name if name and key.is_value_key else raw if key.names_secret else ""
            clean, inner_redactions = self._redact_part(inner, inherited, raw)
            clean_key = raw if key.clean == raw else _unique(key.clean, result, value)
            result[clean_key] = clean
            if inner_redactions or key.redactions:
                redactions += _below(clean_key, (*key.redactions, *inner_redactions))
        return result if redactions else value, tuple(redactions)


def _below(key: str, redactions: tuple[Redaction, ...]) -> list[Redaction]:
    """Return redactions in a member or an item with pointers to the object or list around it."""
    step = f"/{escape(key)}"
    return [msgspec.structs.replace(redaction, pointer=step + redaction.pointer) for redaction in redactions]


def _as_secret(value: Json, clean: Json, name: str) -> Redacted | None:
    """Return a removal if the value is secret by its name, or None. From cookies, only values are removed."""
    if isinstance(value, bool) or value is None:
        return None
    if name.lower() in {"cookie", "set-cookie"}:
        return _without_cookies(str(clean))
    if secret_under(name, str(clean)):
        return "[REDACTED:pair]", (Redaction(kind="pair", detail=name),)
    owner = named_keys.owner_under(name, str(clean))
    return ("[REDACTED:provider_key]", (Redaction(kind="provider_key", detail=f"{owner} key"),)) if owner else None


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
