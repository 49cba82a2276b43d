"""The text of a large file, whose memory is freed block by block while it is read."""

from __future__ import annotations

import mmap
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fairtrial.formats.jsontext import ESCAPED_QUOTE, quote_count

_BLOCK = 1 << 16
_STEP = 4 << 20
"""So many bytes are forgotten at once: to forget them page by page takes longer."""

can_forget = sys.platform != "win32" and hasattr(mmap, "MADV_DONTNEED") and hasattr(mmap, "MAP_ANONYMOUS")
"""Whether this system takes back a part of the memory of a text. Windows does not."""
_CASES = (
    rb"(?:\xef\xbb\xbf)?\s*+\{"
    rb'(?:\s*+"[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s",{}\[\]]++)\s*+,)*+'
    rb'\s*+"(?:eval_cases|evalCases|eval_case_results|evalCaseResults)"\s*+:'
)
"""The beginning of an eval set or of its results, which may have texts and numbers before the cases."""


def begins_with_cases(start: bytes) -> bool:
    """Whether the first bytes of a file are the beginning of an eval set or of its results."""
    return re.match(_CASES, start) is not None


class LargeText:
    """The text of a file in memory of its own, which does not change if the file does."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            size = max(1, path.stat().st_size)
            self.memory = _own_memory(size)
            self._forgotten = 0
            # A file that has become shorter ends with zeros, and is then not JSON.
            file.readinto(self.memory)

    def quote_count(self) -> int:
        """Return the number of quotes as `jsontext.quote_count` does. No escaped quote is cut or counted twice."""
        return sum(map(quote_count, self._blocks()))

    def _blocks(self) -> Iterator[bytes]:
        start = 0
        while block := self.memory[start : start + _BLOCK]:
            escape = block.rfind(b"\\", -len(ESCAPED_QUOTE))
            if escape > 0 and len(block) == _BLOCK:
                block = block[:escape]
            start += len(block)
            yield block

    def forget(self, end: int) -> None:
        """Give back the memory of the text up to a position. Nobody may read that part again."""
        if sys.platform != "win32" and end - self._forgotten >= _STEP:
            end -= end % mmap.PAGESIZE
            self.memory.madvise(mmap.MADV_DONTNEED, self._forgotten, end - self._forgotten)
            self._forgotten = end


def _own_memory(size: int) -> mmap.mmap:
    """Return memory that belongs to no file."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
