"""Effects on the answer of a tool on its way to the agent. They are the same in every run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fairtrial.records.equality import equal_json
from fairtrial.records.record import Json
from fairtrial.text.display import compact

_GARBLED = "\ufffd"


def chance(*place: Json) -> float:
    """Return a number in [0, 1) that depends only on a place: seed, case, attempt, tool, arguments, occurrence.

    It is the first 53 bits of the SHA-256 of the place as canonical JSON, so the order of arrival cannot change it.
    """
    digest = hashlib.sha256(compact(list(place)).encode("utf-8", "replace")).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def truncated(response: Json, where: float) -> Json:
    """Return the beginning of an answer as text. At least one character is lost, so JSON breaks off."""
    text = response if isinstance(response, str) else compact(response)
    return text[: int(where * len(text))]


def emptied(response: Json, where: float) -> Json:  # noqa: ARG001
    """Return an answer of the same kind without content."""
    return type(response)() if isinstance(response, dict | list | str) else None


def corrupted(response: Json, where: float) -> Json:
    """Return an answer with one garbled value: every second character if it is text, else the whole value."""
    leaves = _leaves(response)
    return _garble_at(response, leaves[int(where * len(leaves))])


CHANGES: dict[str, Callable[[Json, float], Json]] = {
    "truncated": truncated,
    "corrupted": corrupted,
    "empty": emptied,
}
"""The effects that change an answer. A number in [0, 1) chooses the place in the answer."""

_Path = tuple[str | int, ...]


def _leaves(value: Json, at: _Path = ()) -> list[_Path]:
    """Return the paths of all values without inner values, for example texts and empty arrays."""
    inner: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        inner = sorted(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [leaf for key, member in inner for leaf in _leaves(member, (*at, key))] or [at]


def _garble_at(value: Json, path: _Path) -> Json:
    if path:
        key, *rest = path
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        members = [(name, _garble_at(member, tuple(rest)) if name == key else member) for name, member in pairs]
        return dict(members) if isinstance(value, dict) else [member for _, member in members]
    if isinstance(value, str) and value:
        return "".join(_GARBLED if i % 2 else char for i, char in enumerate(value)) if len(value) > 1 else _GARBLED
    return _GARBLED


def holds(args: Json, subset: Json) -> bool:
    """Return whether arguments contain a subset with equal values. For example, 1.0 equals 1, but true does not."""
    return all(key in args and equal_json(args[key], value) for key, value in subset.items())
