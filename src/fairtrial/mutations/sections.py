"""Read lists of words and patterns that stand in files beside the operators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def sections(name: str) -> Mapping[str, list[str]]:
    """Return the lines below each heading of a file. A heading is a language in brackets, such as "[ko]"."""
    by_heading: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in files("fairtrial.mutations").joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = by_heading.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            lines.append(line)
    return by_heading
