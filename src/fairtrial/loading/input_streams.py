"""Read large inputs: an eval set in little memory, and a stream, which cannot be read twice, from a temporary file."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, NamedTuple

from fairtrial.formats.large_text import LargeText, can_forget
from fairtrial.formats.recognise import Loaded, read_large_eval_set
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.large_files import LargeFile, is_large, is_large_eval_set, large_file
from fairtrial.formats.values import BLOCK


def large_eval_set(
    path: Path, *, lenient: bool, columns: Mapping[str, str], hashed: bool = True
) -> tuple[Loaded, str] | None:
    """Return a large eval set and the SHA-256 of its file, or None if the file has to be read as a whole.

    The SHA-256 is empty if the file is not to be `hashed`.

    Raises FormatError for a file with a problem, and OSError for a file that cannot be read.
    """
    if not (can_forget and is_large_eval_set(path)):
        return None
    text = LargeText(path)
    digest = hashlib.sha256(text.memory).hexdigest() if hashed else ""
    loaded = read_large_eval_set(text, str(path), lenient=lenient, columns=columns)
    return None if loaded is None else (loaded, digest)


STDIN = "-"
"""The path that stands for standard input."""


class StreamContent(NamedTuple):
    """The content of a stream: spans that stay in a temporary file, or else all bytes. `sha256` is of the bytes."""

    sha256: str
    data: bytes = b""
    spans: LargeFile | None = None


def read_stream(path: Path) -> StreamContent:
    """Return the content of standard input, or of a pipe. Raises OSError.

    A large stream is written into a temporary file, which is deleted when its spans are no longer needed.
    """
    with _open(path) as stream:
        data = stream.read(large_files.LARGE + 1)
        if not is_large(data[:2], len(data)):
            return StreamContent(hashlib.sha256(data).hexdigest(), data)
        file = NamedTemporaryFile(prefix="fairtrial-")  # noqa: SIM115  # it lives as long as its spans
        file.write(data)
        del data
        shutil.copyfileobj(stream, file, BLOCK)
    file.flush()
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if (spans := large_file(Path(file.name), name=str(path), holder=file)) is not None:
        return StreamContent(sha256, spans=spans)
    file.seek(0)
    with file:
        return StreamContent(sha256, file.read())


def _open(path: Path) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if str(path) == STDIN else path.open("rb")
