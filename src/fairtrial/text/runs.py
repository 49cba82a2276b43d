"""Find long character runs in a text. Most texts have no word that is long enough to be a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def long_runs(characters: str, length: int) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Return a function that yields start and end of each run of at least `length` of some ASCII characters.

    It is ten times faster than a pattern: it maps each character to one of two bytes, and searches for a constant.
    """
    table = bytes(ord("a") if chr(code) in characters else ord(" ") for code in range(256))
    run = b"a" * length

    def find_runs(text: str) -> Iterator[tuple[int, int]]:
        # Latin-1 has one byte for each character, so that places are the same. Other characters become `?`.
        mapped = text.encode("latin-1", "replace").translate(table)
        start = mapped.find(run)
        while start >= 0:
            end = mapped.find(b" ", start + length)
            if end < 0:
                yield start, len(mapped)
                return
            yield start, end
            start = mapped.find(run, end)

    return find_runs
