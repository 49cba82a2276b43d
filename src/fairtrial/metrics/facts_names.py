"""Names that calls and their results contain, as the values of one key: customers, hotels, products."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairtrial.records.trace import Invocation, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_IDENTIFIER = re.compile(r"[a-z]+[a-z0-9]*(?:[_@.-][a-z0-9]+)+")
_LONGEST = 40
_MOST = 2000
"""The number of values that are read at most."""


def collect_names(invocations: Iterable[Invocation]) -> tuple[frozenset[str], ...]:
    """Return the names of calls and results in groups: those of one key exclude one another.

    A name begins with a capital letter, or with a letter of a script without capitals, or is an identifier such as
    `user_a`. It has at most 40 characters.
    """
    groups: dict[str, set[str]] = {}
    for number, (key, value) in enumerate(_values(invocations)):
        if number == _MOST:
            break
        text = value.strip()
        if 2 <= len(text) <= _LONGEST and text[0].isalpha() and (not text[0].islower() or _IDENTIFIER.fullmatch(text)):
            groups.setdefault(key, set()).add(text)
    return tuple(frozenset(names) for names in groups.values())


def _values(invocations: Iterable[Invocation]) -> Iterator[tuple[str, str]]:
    """Yield the texts of calls and results with their keys."""
    for invocation in invocations:
        for step in (*(invocation.steps or ()), *invocation.tool_calls):
            if isinstance(step, ToolCall):
                yield from _leaves(step.args)
            elif isinstance(step, ToolResult):
                yield from _leaves(step.response)


def _leaves(content: Json | Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, Json | Mapping[str, Json]]] = [("", content)]
    while stack:
        key, item = stack.pop()
        if isinstance(item, str):
            yield key, item
        elif isinstance(item, Mapping):
            stack.extend((str(name), value) for name, value in reversed(tuple(item.items())))
        elif isinstance(item, Sequence):
            stack.extend((key, value) for value in reversed(item))
