"""Does a name fit a pattern of * and ?"""

from __future__ import annotations

import fnmatch


def fits(name: str, glob: str) -> bool:
    """Whether a glob means a name: the name itself, brackets and all, or a pattern of * and ?."""
    return name == glob or fnmatch.fnmatchcase(name, glob.replace("[", "[[]"))
