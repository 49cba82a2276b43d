"""Select values in JSON documents by JSONPath.

The paths are a part of RFC 9535: `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[*]`, `.*`, `..name`, and filters that
compare a value with a constant or ask for its existence, for example `$.steps[?(@.type=='tool')].name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

_NAME = r"[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*"
_SEGMENT = re.compile(
    rf"""(?P<deep>\.\.)?(?:
        (?<=\.\.)(?P<deep_name>{_NAME}|\*) | \.(?P<name>{_NAME}|\*)
      | \[\s*(?P<key>'[^']*'|"[^"]*")\s*\] | \[\s*(?P<index>-?\d{{1,9}}|\*)\s*\]
      | \[\s*\?\s*(?P<open>\()?\s*@(?P<inner>(?:\.{_NAME})+)
          (?:\s*(?P<operator>==|!=)\s*(?P<constant>'[^']*'|"[^"]*"|-?[\d.]+|true|false|null))?\s*(?(open)\))\s*\]
    )""",
    re.VERBOSE,
)
_Step = Callable[[Any], Iterable[Any]]


class JsonPath:
    """A path that was read. Raises ValueError if the text is not a path."""

    def __init__(self, path: str) -> None:
        if not path.startswith("$"):
            raise ValueError("must begin with $, for example $.choices[0].text")
        self.text = path
        self._steps: list[_Step] = []
        place = 1
        while place < len(path):
            match = _SEGMENT.match(path, place)
            if match is None:
                raise ValueError(f"is not understood from {path[place:]!r} on")
            if match["deep"]:
                self._steps.append(_descendants)
            self._steps.append(_step(match))
            place = match.end()

    def find(self, document: Any) -> list[Any]:
        """Return the values that the path names in a document, in document order."""
        values = [document]
        for step in self._steps:
            values = [inner for value in values for inner in step(value)]
        return values


def _step(match: re.Match[str]) -> _Step:
    """Return the function that goes from a value to the values of one segment."""
    name = match["deep_name"] or match["name"] or (match["key"] or "")[1:-1]
    if (name == "*" and not match["key"]) or match["index"] == "*":
        return _children
    if match["index"]:
        index = int(match["index"])
        return lambda value: value[index : index + 1 or None] if isinstance(value, list) else ()
    if match["inner"]:
        return _filter(match)
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _filter(match: re.Match[str]) -> _Step:
    names = match["inner"][1:].split(".")
    constant, operator = _constant(match["constant"]), match["operator"]

    def is_chosen(value: Any) -> bool:
        for name in names:
            if not isinstance(value, dict) or name not in value:
                return operator == "!="
            value = value[name]
        is_equal = type(value) is type(constant) and value == constant
        return True if operator is None else is_equal if operator == "==" else not is_equal

    return lambda value: (inner for inner in _children(value) if is_chosen(inner))


def _constant(text: str | None) -> Any:
    if text is None or text[0] in "'\"":
        return text and text[1:-1]
    return msgspec.json.decode(text)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _descendants(value: Any) -> Iterator[Any]:
    """Yield a value and everything in it, each before its children."""
    rest = [value]
    while rest:
        last = rest.pop()
        yield last
        rest += reversed(list(_children(last)))
