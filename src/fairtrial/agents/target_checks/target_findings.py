"""Findings about a server of tools or agents."""

from __future__ import annotations

from typing import NamedTuple


class TargetFinding(NamedTuple):
    """A property of a server, a tool or a card. `problem` is empty if it holds."""

    subject: str
    problem: str
    detail: str = ""
