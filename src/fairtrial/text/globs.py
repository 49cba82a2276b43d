"""Match names with patterns of `*` and `?`."""

from __future__ import annotations

import fnmatch


def fits(name: str, glob: str) -> bool:
    """Return whether a name fits a glob: the name itself, with any brackets, or a pattern of * and ?."""
    return name == glob or fnmatch.fnmatchcase(name, glob.replace("[", "[[]"))
