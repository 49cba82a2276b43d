"""Read a large eval set in little more memory than its cases take."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from fairtrial.formats.large_text import LargeText, can_forget
from fairtrial.formats.recognise import Loaded, read_large_eval_set
from fairtrial.formats.spans.large_files import is_large_eval_set


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
