"""Change places inside the answer of a real tool: the tool and its state stay real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairtrial.simulate.answer_changes import Path, change_at

if TYPE_CHECKING:
    from fairtrial.records.record import Json

ORIGINAL = "{original}"
"""The mark in a text for the value that stood at the place."""
_ANY = "*"
_ANY_DEPTH = "**"
_MOST_PLACES = 1000


def plant(response: Json, pointer: str, value: Json) -> tuple[Json, int]:
    """Return an answer with another value at each place that a pointer means, and the number of these places.

    The pointer is a JSON pointer such as `/bills/0/subject`. A part `*` is every key or item of its level, and `**` is
    any number of levels. The empty pointer is the whole answer. In a text, `{original}` is the earlier value.
    """
    count = 0
    for path in list(dict.fromkeys(_find_places(response, split_pointer(pointer), ())))[:_MOST_PLACES]:
        response = change_at(response, path, lambda original: _insert(original, value))
        count += 1
    return response, count


def split_pointer(pointer: str) -> list[str]:
    """Return the parts of a pointer. `~1` is a slash, and `~0` is a tilde."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def find_pointer_problem(pointer: str) -> str:
    """Return why a pointer cannot be used, or an empty text."""
    parts = split_pointer(pointer)
    if pointer and not pointer.startswith("/"):
        return "must be empty or begin with a slash, such as /bills/*/subject"
    if parts.count(_ANY_DEPTH) > 1 or parts[-1:] == [_ANY_DEPTH]:
        return "may have ** once, and not at the end"
    return ""


def _find_places(response: Json, parts: Sequence[str], at: Path) -> Iterator[Path]:
    if not parts:
        yield at
        return
    if parts[0] == _ANY_DEPTH:
        yield from _find_places(response, parts[1:], at)
    pairs = (
        response.items() if isinstance(response, dict) else enumerate(response if isinstance(response, list) else ())
    )
    for key, inner in pairs:
        if parts[0] == _ANY_DEPTH:
            yield from _find_places(inner, parts, (*at, key))
        elif parts[0] in (_ANY, str(key)):
            yield from _find_places(inner, parts[1:], (*at, key))


def _insert(original: Json, value: Json) -> Json:
    if not isinstance(value, str) or ORIGINAL not in value:
        return value
    return value.replace(ORIGINAL, original if isinstance(original, str) else str(original))
