"""Make random texts of a form, for example keys that `redact` must find."""

from __future__ import annotations

import random
import re
from functools import lru_cache

_PART = re.compile(
    r"(?P<set>\[(?:\\.|[^\]\\])+\])|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<other>\|)|(?P<sign>\\?.)", re.DOTALL
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}|([?*+])")
_MOST = 40
"""The most repetitions where a form names no number, and the most above the least number."""


def make_text(form: str, chance: random.Random) -> str:
    """Return a random text of a form.

    A form is a pattern of literals, sets such as `[a-z0-9]`, groups, alternatives and numbers of repetitions.
    """
    return _make(_read(form), chance)


class _Group:
    """Alternatives, each a list of parts with the least and the most repetitions."""

    def __init__(self) -> None:
        self.alternatives: list[list[tuple[str | _Group, int, int]]] = [[]]


@lru_cache(maxsize=1024)
def _read(form: str) -> _Group:
    stack = [_Group()]
    place = 0
    while place < len(form):
        part = _PART.match(form, place)
        if part is None:
            raise ValueError(form)
        place = part.end()
        if part["open"]:
            stack.append(_Group())
            continue
        if part["other"]:
            stack[-1].alternatives.append([])
            continue
        item: str | _Group
        inner = _expand(part["set"][1:-1]) if part["set"] else (part["sign"] or "")[-1:]
        item = stack.pop() if part["close"] else inner
        repeat = _REPEAT.match(form, place)
        least, most = 1, 1
        if repeat is not None:
            place = repeat.end()
            least, most = _limits(repeat)
        stack[-1].alternatives[-1].append((item, least, most))
    (whole,) = stack
    return whole


def _limits(repeat: re.Match[str]) -> tuple[int, int]:
    if repeat[3]:
        return {"?": (0, 1), "*": (0, _MOST), "+": (1, _MOST)}[repeat[3]]
    least = int(repeat[1])
    is_exact = "," not in repeat[0]
    return least, least if is_exact else min(int(repeat[2] or least + _MOST), least + _MOST)


@lru_cache(maxsize=1024)
def _expand(inner: str) -> str:
    """Return all characters of a set."""
    characters = ""
    for start, end, sign in re.findall(r"(\w)-(\w)|\\?(.)", inner):
        characters += sign or "".join(map(chr, range(ord(start), ord(end) + 1)))
    return characters


def _make(group: _Group, chance: random.Random) -> str:
    text = ""
    for item, least, most in chance.choice(group.alternatives):
        for _ in range(chance.randint(least, most)):
            text += chance.choice(item) if isinstance(item, str) else _make(item, chance)
    return text
