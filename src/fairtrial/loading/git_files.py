"""The files of a Git repository, for machines without the program git.

The formats are those of gitrepository-layout(5) and gitformat-pack(5) of Git's documentation.
"""

from __future__ import annotations

import re
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from fairtrial.system.paths import is_repository

_LARGEST_FILE = 1 << 20
_LARGEST_COMMIT = 1 << 16
"""The bytes of a commit that are read. Its author is in its first lines."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AUTHOR = re.compile(rb"^author [^\n]*> (\d{1,11}) ([+-])(\d\d)(\d\d)$", re.MULTILINE)
_COMMIT_TYPE = 1
_FAN_OUT = 8
_HASHES = _FAN_OUT + 256 * 4
_LONG_OFFSET = 1 << 31


class Head(NamedTuple):
    """The commit that is checked out, and its branch, or an empty text."""

    commit: str
    branch: str


@dataclass(frozen=True)
class GitFiles:
    """The folder of a working tree, and the folder that its work trees share."""

    own: Path
    shared: Path

    def head(self) -> Head | None:
        """Return the commit that is checked out, or None if the files do not tell it."""
        text = _read(self.own / "HEAD")
        if not text.startswith("ref: "):
            return Head(text, "") if _COMMIT.fullmatch(text) else None
        name = text.removeprefix("ref: ")
        if ".." in name or not name.startswith("refs/"):
            return None
        for folder in (self.own, self.shared):
            if _COMMIT.fullmatch(commit := _read(folder / name)):
                return Head(commit, name.removeprefix("refs/heads/"))
        for line in _read(self.shared / "packed-refs").splitlines():
            commit, _, packed = line.partition(" ")
            if packed == name and _COMMIT.fullmatch(commit):
                return Head(commit, name.removeprefix("refs/heads/"))
        return None

    def author_date(self, commit: str) -> str:
        """Return the author date of a commit in ISO 8601, or an empty text if the files do not tell it."""
        try:
            body = self._read_loose(commit) or self._read_packed(commit)
        except (OSError, ValueError, struct.error, zlib.error):
            return ""
        author = _AUTHOR.search(body)
        if author is None:
            return ""
        offset = timedelta(hours=int(author[3]), minutes=int(author[4]))
        with suppress(ValueError, OverflowError, OSError):
            zone = timezone(-offset if author[2] == b"-" else offset) if offset else UTC
            return datetime.fromtimestamp(int(author[1]), zone).isoformat()
        return ""

    def _read_loose(self, commit: str) -> bytes:
        path = self.shared / "objects" / commit[:2] / commit[2:]
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return zlib.decompressobj().decompress(file.read(_LARGEST_COMMIT), _LARGEST_COMMIT)

    def _read_packed(self, commit: str) -> bytes:
        """Return a commit that a pack holds whole. A commit that is stored as a difference has no text."""
        for index in sorted((self.shared / "objects" / "pack").glob("*.idx")):
            offset = _find_in_index(index, bytes.fromhex(commit))
            if offset is None:
                continue
            with index.with_suffix(".pack").open("rb") as pack:
                pack.seek(offset)
                data = pack.read(_LARGEST_COMMIT)
            start = next(place for place, byte in enumerate(data) if not byte & 0x80) + 1
            if data[0] >> 4 & 7 == _COMMIT_TYPE:
                return zlib.decompressobj().decompress(data[start:], _LARGEST_COMMIT)
        return b""


def find_repository(folder: Path) -> GitFiles | None:
    """Return the files of the repository that holds a folder, or None outside of one."""
    top = next((place for place in (folder, *folder.parents) if is_repository(place)), None)
    if top is None:
        return None
    own = top / ".git"
    if not own.is_dir():  # a work tree or a submodule
        own = top / _read(own).removeprefix("gitdir: ")
    return GitFiles(own, own / (_read(own / "commondir") or "."))


def _read(path: Path) -> str:
    """Return the text of a small file without the white space around it, or an empty text."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_FILE).strip()
    except (OSError, ValueError):
        return ""


def _find_in_index(index: Path, name: bytes) -> int | None:
    """Return where a pack holds an object, from the index of the pack in version 2, or None."""
    width = len(name)
    with index.open("rb") as file:
        if file.read(_FAN_OUT) != b"\xfftOc\0\0\0\x02":
            return None
        fan_out = struct.unpack(">256I", file.read(256 * 4))
        low, total = fan_out[name[0] - 1] if name[0] else 0, fan_out[-1]
        file.seek(_HASHES + low * width)
        names = file.read((fan_out[name[0]] - low) * width)
        place = next((at for at in range(0, len(names), width) if names[at : at + width] == name), None)
        if place is None:
            return None
        number = low + place // width
        file.seek(_HASHES + total * (width + 4) + number * 4)
        (offset,) = struct.unpack(">I", file.read(4))
        if offset < _LONG_OFFSET:
            return int(offset)
        file.seek(_HASHES + total * (width + 8) + (offset - _LONG_OFFSET) * 8)
        return int(struct.unpack(">Q", file.read(8))[0])
