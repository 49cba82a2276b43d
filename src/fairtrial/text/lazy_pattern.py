"""Compile patterns when they are first used: a command uses few of them. Those of facts alone take 0.1 s."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, cast

_Found = Callable[..., "re.Match[str] | None"]


def compile_properties(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Compile a pattern with properties of characters such as `\p{Han}`, which the library regex knows.

    The library is imported when the first such pattern is used: its import takes 50 ms.
    """
    import regex

    return cast("re.Pattern[str]", regex.compile(pattern, flags))


class LazyPattern:
    """A regular expression that is compiled when it is first used.

    `source` is a pattern, or a function that returns one. `engine` is `re.compile` or `compile_properties`.
    """

    def __init__(
        self, source: str | Callable[[], str], engine: Callable[..., re.Pattern[str]] = re.compile, flags: int = 0
    ) -> None:
        self._source = source
        self._engine = engine
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return self._engine(self._source if isinstance(self._source, str) else self._source(), self._flags)

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """The method of the compiled pattern, as are the other members."""
        return self.compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[Any]]:  # noqa: D102
        return self.compiled.findall

    @cached_property
    def search(self) -> _Found:  # noqa: D102
        return self.compiled.search

    @cached_property
    def match(self) -> _Found:  # noqa: D102
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> _Found:  # noqa: D102
        return self.compiled.fullmatch

    @cached_property
    def sub(self) -> Callable[..., str]:  # noqa: D102
        return self.compiled.sub

    @cached_property
    def split(self) -> Callable[..., list[str]]:  # noqa: D102
        return self.compiled.split
