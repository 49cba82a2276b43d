"""Changes of the answers of tools: broken off, garbled, empty, wrong, or with documents lost or exchanged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_GARBLED = "\ufffd"


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
    return change_at(response, leaves[int(where * len(leaves))], _garble)


def make_wrong(response: Json, where: float) -> Json:
    """Return an answer with one plausible wrong value: another first digit of a number, or the other truth value."""
    places = [path for path in _leaves(response) if _other(_at(response, path)) is not None]
    return change_at(response, places[int(where * len(places))], _other) if places else response


def halve_list(response: Json, where: float) -> Json:
    """Return an answer without half of the items of its longest list, and without its only item."""
    path = _longest_list(response)
    if path is None:
        return response

    def halve(items: Json) -> Json:
        half = -(-len(items) // 2)
        start = int(where * (len(items) - half + 1))
        return [*items[:start], *items[start + half :]]

    return change_at(response, path, halve)


def exchange_texts(response: Json, where: float) -> Json:  # noqa: ARG001
    """Return an answer in which the items of its longest list hold the longest text of the next item."""
    path = _longest_list(response)
    items = [] if path is None else _at(response, path)
    keys = {_key_of_text(item) for item in items}
    if path is None or len(keys) != 1 or None in keys:
        return response
    (key,) = keys
    moved = [{**item, key: items[(n + 1) % len(items)][key]} for n, item in enumerate(items)]
    return change_at(response, path, lambda _: moved)


def _key_of_text(item: Json) -> str | None:
    """Return the key of the longest text of an object."""
    texts = [key for key, text in item.items() if isinstance(text, str)] if isinstance(item, dict) else []
    return max(texts, key=lambda key: len(item[key]), default=None)


CHANGES: dict[str, Callable[[Json, float], Json]] = {
    "truncated": truncated,
    "corrupted": corrupted,
    "empty": emptied,
    "wrong": make_wrong,
    "thinned": halve_list,
    "exchanged": exchange_texts,
}
"""The effects that change an answer. A number in [0, 1) chooses the place in the answer."""

Path = tuple[str | int, ...]


def _leaves(value: Json, at: Path = ()) -> list[Path]:
    """Return the paths of all values without inner values, for example texts and empty arrays."""
    inner: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        inner = sorted(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [leaf for key, member in inner for leaf in _leaves(member, (*at, key))] or [at]


def change_at(value: Json, path: Path, change: Callable[[Json], Json]) -> Json:
    """Return a value with a change at one place in it."""
    if not path:
        return change(value)
    key, *rest = path
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    members = [(name, change_at(member, tuple(rest), change) if name == key else member) for name, member in pairs]
    return dict(members) if isinstance(value, dict) else [member for _, member in members]


def _garble(value: Json) -> Json:
    if isinstance(value, str) and value:
        return "".join(_GARBLED if i % 2 else char for i, char in enumerate(value)) if len(value) > 1 else _GARBLED
    return _GARBLED


_DIGITS = re.compile(r"\d+", re.ASCII)


def _other(value: Json) -> Json:
    """Return a plausible wrong value, or None for a value without a number."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return type(value)(json.loads(_other_digits(json.dumps(value), 0))) if math.isfinite(value) else None
    return _other_digits(value, -1) if isinstance(value, str) and _DIGITS.search(value) else None


def _other_digits(text: str, which: int) -> str:
    """Return a text in which one of the numbers has another first digit."""
    place = list(_DIGITS.finditer(text))[which].start()
    return f"{text[:place]}{int(text[place]) % 9 + 1}{text[place + 1 :]}"


def _at(value: Json, path: Path) -> Json:
    for key in path:
        value = value[key]
    return value


def _longest_list(value: Json, at: Path = ()) -> Path | None:
    """Return the path of the longest list of objects or texts, or None."""
    paths: list[tuple[int, Path]] = []
    if isinstance(value, list) and value and all(isinstance(item, dict | str) for item in value):
        paths.append((len(value), at))
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in pairs:
        inner = _longest_list(member, (*at, key))
        if inner is not None:
            paths.append((len(_at(member, inner[len(at) + 1 :])), inner))
    return max(paths, key=lambda pair: pair[0])[1] if paths else None
