"""Key spellings: snake_case and camelCase in files, snake_case in records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def snake(name: str) -> str:
    """Return a camelCase name in snake_case. A name in snake_case stays as it is."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def spellings(*names: str) -> dict[str, str]:
    """Return the snake_case and camelCase spelling of each name, both leading to the snake_case one."""
    return {spelling: name for name in names for spelling in (name, camel(name))}


def file_pointer(raw: Any, place: str) -> str:
    """Return a place below an object as a JSON pointer, with each key as the object spells it."""
    pointer = ""
    for token in place.split("/") if place else ():
        key = token
        if isinstance(raw, Mapping):
            key = token if token in raw else next((given for given in raw if snake(str(given)) == token), token)
            raw = raw.get(key)
        elif isinstance(raw, list | tuple):
            raw = raw[int(token)] if token.isdecimal() and int(token) < len(raw) else None
        pointer += f"/{key}"
    return pointer
