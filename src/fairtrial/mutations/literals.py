"""Find the parts of a text that are copied letter by letter: addresses, paths, code, codes and quoted words.

Another word or another form of a number in such a part is another address, another command or another name. So a
harmless operator leaves every such part as it is, and a harmful one leaves addresses as they are: nobody knows what
stands at another address.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

import regex

from fairtrial.mutations.structures import is_structured

if TYPE_CHECKING:
    from fairtrial.mutations.operator import Invocations, Plant, Scene

_LITERAL = regex.compile(
    r"(?P<fence>(?P<mark>`{3,}|~{3,}).*?(?:(?P=mark)|\Z))"
    r"|(?P<block>(?: {4}|\t)(?<=(?:\A|\n[ \t]{0,8}\n)(?: {4}|\t))[^\n]*(?:\n(?: {4}|\t)[^\n]*)*)"
    r"|(?P<code>(?P<tick>`{1,2})[^`\n]{1,300}(?P=tick))"
    r"|(?P<url>(?:[A-Za-z][A-Za-z\d+.-]{0,20}://|\bwww\.)[^\s<>\"`、。，！？；：「」『』（）【】“”]+)"
    r"|(?P<quote>\"[^\"\n]{1,300}\"|“[^“”\n]{1,300}”|‘[^‘’\n]{1,300}’|「[^「」\n]{1,300}」|『[^『』\n]{1,300}』"
    r"|《[^《》\n]{1,300}》|〈[^〈〉\n]{1,300}〉)"
    r"|(?P<tag><[A-Za-z/!][^<>\n]{0,300}>|\{[^{}\n]{1,300}\})"
    r"|(?P<token>(?:(?![\"`<{])[\x21-\x7e])+(?:(?<=[A-Za-z\d]-)\p{L}+)?)",
    regex.S,
)
_EDGES = "()[]{}<>,.;:!?'*"
"""The marks around an address that do not belong to it."""
_ADDRESS = regex.compile(
    r"://|\w@\w|\\\w|\]\(\S|\A~?[/\\]\w|\A[A-Za-z]:[/\\]|\A[A-Za-z][\w.-]*:\d+/|\A[A-Za-z][\w.-]*(?:/[\w.-]+){2,}"
    r"|\A[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z\d]{1,9}(?:[:/?#]|\Z)"
)
"""A mail address, a path, a host with its port, a link, or a name with dots such as "help.shop.example"."""
_CODE = regex.compile(
    r"[A-Za-z]-\w|\w-[A-Za-z]|[A-Za-z]\w*_\w|[A-Za-z]{2}\.[A-Za-z\d]|[A-Za-z]/[A-Za-z\d]|[\w)\]]=\S|\w\(\S|\A[#@$%-]+[A-Za-z]"
    r"|\A[A-Za-z][\w.-]*:\d"
)
"""A word with a hyphen, such as "AB-12-may", a name of a program, an assignment, an option, a host with its port."""
_TRIES = 4
"""How often a harmless change is tried before it counts as impossible."""


@lru_cache(maxsize=64)  # most operators look at the same reply
def address_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return the places of the URLs, mail addresses, paths and names with dots of a text."""
    return tuple(
        span
        for match in _LITERAL.finditer(text)
        for span in ([match.span()] if match["url"] else _tokens(match, _ADDRESS))
        if not match["fence"]
    )


def is_in_address(text: str, start: int, end: int) -> bool:
    """Return whether a place touches an address, such as "help" in "help.shop.example"."""
    return any(low < end and start < high for low, high in address_spans(text))


def address_texts(text: str) -> list[str]:
    """Return the addresses of a text."""
    return [text[start:end] for start, end in address_spans(text)]


@lru_cache(maxsize=64)
def literals(text: str) -> Counter[str]:
    """Return the parts of a text that are copied letter by letter, with their numbers."""
    found: Counter[str] = Counter()
    for match in _LITERAL.finditer(text):
        if match["token"] is None:
            found[match[0]] += 1
        else:
            found.update(text[low:high] for low, high in _tokens(match, _ADDRESS, _CODE))
    return found


def _tokens(match: regex.Match[str], *kinds: regex.Pattern[str]) -> list[tuple[int, int]]:
    """Return the place of a word without the marks around it, if it is of one of these kinds."""
    token = match["token"] or ""
    word = token.strip(_EDGES)
    if not word or not any(kind.search(word) for kind in kinds):
        return []
    start = match.start() + token.index(word)
    return [(start, start + len(word))]


def keeping_literals(plant: Plant) -> Plant:
    """Return a harmless operator that changes no literal part, and no reply that a program reads, such as JSON."""

    def plant_beside(scene: Scene, random: Random) -> Invocations | None:
        if is_structured(scene.reply):
            return None
        for _ in range(_TRIES):
            mutant = plant(scene, random)
            if mutant is None or literals(scene.reply) <= literals(mutant[scene.index].reply):
                return mutant
        return None

    return plant_beside
