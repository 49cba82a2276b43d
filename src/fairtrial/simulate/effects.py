"""What happens to a tool's answer on its way to the agent? The same each time that it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fairtrial.records.equality import same
from fairtrial.records.record import Json
from fairtrial.text.display import compact

_GARBLED = "\ufffd"


def chance(*place: Json) -> float:
    """Return a number in [0, 1) that depends on nothing but a place: seed, case, attempt, tool, arguments, occurrence.

    It is the first 53 bits of the SHA-256 of the place as canonical JSON, so that no order of arrival can change it.
    """
    digest = hashlib.sha256(compact(list(place)).encode("utf-8", "replace")).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def truncated(response: Json, where: float) -> Json:
    """Return the beginning of an answer as text, its JSON broken off; at least one character is lost."""
    text = response if isinstance(response, str) else compact(response)
    return text[: int(where * len(text))]


def emptied(response: Json, where: float) -> Json:  # noqa: ARG001
    """Return an answer of the same kind with nothing in it."""
    return type(response)() if isinstance(response, dict | list | str) else None


def corrupted(response: Json, where: float) -> Json:
    """Return an answer in which one value is garbled: every second character of a text, the whole of anything else."""
    leaves = _leaves(response)
    return _garbled_at(response, leaves[int(where * len(leaves))])


CHANGES: dict[str, Callable[[Json, float], Json]] = {
    "truncated": truncated,
    "corrupted": corrupted,
    "empty": emptied,
}
"""The effects that change an answer, by the number that says where."""

_Path = tuple[str | int, ...]


def _leaves(value: Json, at: _Path = ()) -> list[_Path]:
    """The places of all values that hold no others; an empty object or array is one."""
    inner: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        inner = sorted(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [leaf for key, one in inner for leaf in _leaves(one, (*at, key))] or [at]


def _garbled_at(value: Json, path: _Path) -> Json:
    if path:
        key, *rest = path
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        changed = [(name, _garbled_at(one, tuple(rest)) if name == key else one) for name, one in pairs]
        return dict(changed) if isinstance(value, dict) else [one for _, one in changed]
    if isinstance(value, str) and value:
        return "".join(_GARBLED if i % 2 else char for i, char in enumerate(value)) if len(value) > 1 else _GARBLED
    return _GARBLED


def holds(args: Json, wanted: Json) -> bool:
    """Whether arguments have all the wanted ones among them, each equal; true is not 1, but 1.0 is."""
    return all(key in args and same(args[key], value) for key, value in wanted.items())
