"""Regular expressions of users on texts of strangers: a search ends in time, whatever the expression."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

SECONDS = 1.0
"""The longest time of a search."""
_MOST_TIMEOUTS = 3
"""An expression that took too long on this many texts is not tried again, so that it cannot hold up a run."""
_LONGEST = 100_000
"""The repetitions of an expression add at most this many characters. Each takes 260 bytes when it is compiled."""


class UserPattern:
    """A compiled expression. Raises ValueError if the text is not a regular expression.

    `ignore_case` also makes full and half width equal. Pattern and text are compared in NFC.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        import regex

        flags = regex.IGNORECASE if ignore_case else 0
        if _count_repeated(pattern) > _LONGEST:
            raise ValueError(f"must repeat at most {_LONGEST:,} characters, got {pattern!r:.80}")
        try:
            self._compiled = regex.compile(_widen(pattern) if ignore_case else _compose(pattern), flags)
        except Exception as error:  # noqa: BLE001  (besides its own errors, the library raises RecursionError and more)
            raise ValueError(f"must be a regular expression, got {pattern!r:.80}: {error}") from None
        self._timeouts = 0

    def search(self, text: str) -> tuple[int, int] | None:
        """Return the place of the first match, or None. Raises TimeoutError if the search takes too long."""
        return self._run(self._compiled.search, text)

    def fullmatch(self, text: str) -> tuple[int, int] | None:
        """Return the place of a match of the whole text, or None. Raises TimeoutError if it takes too long."""
        return self._run(self._compiled.fullmatch, text)

    def _run(self, find: Any, text: str) -> tuple[int, int] | None:
        if self._timeouts >= _MOST_TIMEOUTS:
            raise TimeoutError(f"took longer than {SECONDS:g} s on {_MOST_TIMEOUTS} texts, and is not tried again")
        try:
            match = find(text, timeout=SECONDS)
        except TimeoutError:
            self._timeouts += 1
            raise TimeoutError(f"took longer than {SECONDS:g} s") from None
        return None if match is None else match.span()


@lru_cache(maxsize=512)
def user_pattern(pattern: str, *, ignore_case: bool = False) -> UserPattern:
    """Return the compiled expression. Equal expressions are compiled once. Raises ValueError."""
    return UserPattern(pattern, ignore_case=ignore_case)


def escape(text: str) -> str:
    """Return the expression that finds a text as it is, with its spaces as they are."""
    import regex

    return str(regex.escape(text, literal_spaces=True))


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(?P<least>\d+)(?:,\d*)?\}|.", re.DOTALL)
_MOST_DIGITS = 9


def _count_repeated(pattern: str) -> int:
    """Return about how many characters its repetitions add: a compiler writes out `(?:a{9999}){9999}`.

    For example, `ab{3}` adds 2, and a list of any length without a repetition adds 0.
    """
    sizes, last, length = [0], 0, 0
    for piece in _PIECE.finditer(pattern):
        if piece["least"]:
            last, former = last * max(1, int(piece["least"][:_MOST_DIGITS])), last
            sizes[-1] += last - former
        elif piece[0] == "(":
            sizes.append(0)
        elif piece[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
            length += 1
    return sum(sizes) - length


def _compose(pattern: str) -> str:
    return unicodedata.normalize("NFC", pattern)


def _widen(pattern: str) -> str:
    """Return a pattern whose letters and digits have their usual width. Its other signs may be syntax, and stay."""
    return _compose("".join(map(_widen_letter, pattern)))


def _widen_letter(char: str) -> str:
    usual = unicodedata.normalize("NFKC", char)
    # The sound marks of half-width kana are not letters, and join the letter before them.
    return usual if usual.isalnum() or unicodedata.combining(usual[0]) else char
