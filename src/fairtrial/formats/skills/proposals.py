"""Propose checks without a model for assertions that name a file, a text or a number."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairtrial.records.workspace import WorkspaceCheck

_LONGEST = 300
_FILE = r"[`\"']?(?P<path>[\w./-]{1,80}\.\w{1,8})[`\"']?"
_REPLY = r"(?:the )?(?:final )?(?:output|reply|response|answer)"
_QUOTED = r"(?:the )?(?:exact )?(?:text|value|word|phrase|string|line)? ?[`\"'“](?P<text>[^`\"'”]{1,120})[`\"'”]"
_PROPOSALS: tuple[tuple[str, Callable[[re.Match[str]], WorkspaceCheck]], ...] = (
    (
        rf"^(?:the |a |an )?(?:file )?{_FILE} (?:is|contains) valid JSON\.?$",
        lambda match: WorkspaceCheck("json", path=match["path"]),
    ),
    (
        rf"^{_REPLY} is valid JSON\.?$",
        lambda _: WorkspaceCheck("json"),
    ),
    (
        (
            rf"^(?:the |a |an )?(?:file )?(?:called |named )?{_FILE} "
            r"(?:exists|is created|was created|is written|is produced|is created or updated)\b[^,;]{0,60}$"
        ),
        lambda match: WorkspaceCheck("exists", path=match["path"]),
    ),
    (
        rf"^{_REPLY} (?:contains|includes|mentions|has) {_QUOTED}\.?$",
        lambda match: WorkspaceCheck("contains", texts=(match["text"],)),
    ),
    (
        rf"^{_REPLY} (?:does not|doesn't|never) (?:contain|include|mention)s? {_QUOTED}\.?$",
        lambda match: WorkspaceCheck("not_contains", texts=(match["text"],)),
    ),
    (
        rf"^(?:the )?(?:file )?{_FILE} (?:contains|includes|mentions|has) {_QUOTED}\.?$",
        lambda match: WorkspaceCheck("contains", path=match["path"], texts=(match["text"],)),
    ),
    (
        rf"^(?:the )?(?:file )?{_FILE} (?:does not|doesn't) (?:contain|include|mention) {_QUOTED}\.?$",
        lambda match: WorkspaceCheck("not_contains", path=match["path"], texts=(match["text"],)),
    ),
    (
        (
            rf"^(?:the )?(?:file )?(?:called |named )?{_FILE} "
            r"(?:does not exist|is not created|was not created|is deleted|was deleted|is removed|was removed)\.?$"
        ),
        lambda match: WorkspaceCheck("absent", path=match["path"]),
    ),
    (
        (
            rf"^(?:the )?(?:file )?{_FILE} (?:has|contains) (?P<least>at least |exactly )?(?P<number>\d{{1,6}}) "
            r"(?:data )?rows\.?$"
        ),
        lambda match: _count_rows(match["path"], float(match["number"]), least=match["least"]),
    ),
    (
        rf"^{_REPLY} (?:contains|includes) (?:a|an|one) (?P<suffix>\.\w{{1,8}}) file\.?$",
        lambda match: WorkspaceCheck("exists", path=f"**/*{match['suffix']}"),
    ),
    (
        rf"^{_REPLY} (?:contains|includes|has) the value (?P<text>-?\d[\d.,]{{0,20}}?)\.?$",
        lambda match: WorkspaceCheck("contains", texts=(match["text"],)),
    ),
    (
        (
            r"^at least (?P<number>\d{1,3}) (?P<suffix>\.\w{1,8}) files? (?:are|is|were|was) "
            r"(?:created|written|produced)\b[^,;]{0,60}$"
        ),
        lambda match: WorkspaceCheck("exists", path=f"**/*{match['suffix']}", at_least=float(match["number"])),
    ),
)


def _count_rows(path: str, number: float, *, least: str | None) -> WorkspaceCheck:
    """Return the check of so many rows. Without a word before it, the number is exact."""
    is_least = least is not None and least.lower().startswith("at")
    return WorkspaceCheck("csv_rows", path=path, at_least=number, at_most=None if is_least else number)


def propose_check(text: str) -> WorkspaceCheck | None:
    """Return a check that decides an assertion without a model, or None. Nobody uses it unless a person writes it.

    For example, "report.md exists" becomes the check `exists` of that path.
    """
    if len(text) > _LONGEST:
        return None
    for pattern, make in _PROPOSALS:
        if (match := re.search(pattern, text.strip(), re.IGNORECASE)) is not None:
            return make(match)
    return None
