"""A text from which facts are taken, the clearest first. A pattern does not see the facts of the patterns before it."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairtrial.text.facts.fact import Fact, Kind, Reading, new_fact
from fairtrial.text.facts.word_patterns import Cue, find_cues, read_cues
from fairtrial.text.lazy_pattern import LazyPattern

Finder = Callable[[re.Match[str]], tuple[Kind, tuple[Reading, ...]] | None]
"""Returns the kind and the readings of a match, or `None` if it states nothing."""

_DIGIT, _DIGITS = LazyPattern("[0-9]"), LazyPattern("[0-9]+")
_WEAK = frozenset({"day", "period"})
_WHOLE: tuple[tuple[int, ...], ...] = ((),)
"""The window of a whole text."""
_SHORT = 200
_REACH = 40
"""The number of characters beside a digit that belong to its fact at most."""


class Claims:
    """A text whose claimed parts are blank, and the facts that were found."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cues = cues = read_cues(text)
        self.cue_bits = find_cues(cues.words, cues.signs)
        self.facts: list[Fact] = []
        self.windows: list[tuple[int, int]] | None = None
        self.has_digits = True

    def near_digits(self) -> bool:
        """Search near digits only from now on. Return whether there is a digit."""
        windows: list[tuple[int, int]] = []
        if len(self.text) <= _SHORT:
            # One search of a short text is faster than several of its parts.
            return bool(_DIGIT.search(self.text))
        for match in _DIGITS.finditer(self.text):
            start, end = max(0, match.start() - _REACH), match.end() + _REACH
            if windows and start <= windows[-1][1]:
                windows[-1] = (windows[-1][0], end)
            else:
                windows.append((start, end))
        self.windows = windows
        return bool(windows)

    def drop(self, pattern: LazyPattern, needs: Cue | None = None) -> None:
        """Blank the matches of a pattern, if the text holds its cue."""
        if needs is not None and not self.cue_bits & needs:
            return
        self.text = pattern.sub(lambda match: "\0" * len(match[0]), self.text)

    def take(self, pattern: LazyPattern, find: Finder, needs: Cue | None = None) -> None:
        """Take the fact of each match that is one, if the text holds the cue of the pattern."""
        if needs is not None and not self.cue_bits & needs:
            return
        text, finditer = self.text, pattern.finditer
        spans: list[tuple[int, int]] = []
        for window in self.windows or _WHOLE:
            for match in finditer(text, *window):
                if fact := find(match):
                    kind, readings = fact
                    span = match.span()
                    self.facts.append(new_fact((kind, readings, *span, "", False, kind in _WEAK)))
                    spans.append(span)
        if spans:
            self._blank(spans)

    def take_many(
        self, pattern: LazyPattern, find: Callable[[re.Match[str]], list[Fact]], needs: Cue | None = None
    ) -> None:
        """Take the facts of each match, and blank it, if the text holds the cue of the pattern."""
        if needs is not None and not self.cue_bits & needs:
            return
        text, finditer = self.text, pattern.finditer
        spans: list[tuple[int, int]] = []
        for window in self.windows or _WHOLE:
            for match in finditer(text, *window):
                if facts := find(match):
                    self.facts += facts
                    spans.append(match.span())
        if spans:
            self._blank(spans)

    def _blank(self, spans: list[tuple[int, int]]) -> None:
        """Blank places of the text, which are in order."""
        pieces: list[str] = []
        copied_to = 0
        for first, last in spans:
            pieces += (self.text[copied_to:first], "\0" * (last - first))
            copied_to = last
        self.text = "".join((*pieces, self.text[copied_to:]))
        self.has_digits = self.has_digits and bool(_DIGIT.search(self.text))
