"""Propose checks without a model for assertions that name a file, a text or a number."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairtrial.records.workspace import WorkspaceCheck

_LONGEST = 300
_FILE = r"[`\"']?(?P<path>[\w./-]{1,80}\.\w{1,8})[`\"']?"
_PROPOSALS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], WorkspaceCheck]], ...] = (
    (
        re.compile(rf"^(?:the |a |an )?(?:file )?{_FILE} (?:is|contains) valid JSON\.?$", re.IGNORECASE),
        lambda match: WorkspaceCheck("json", path=match["path"]),
    ),
    (
        re.compile(r"^the (?:output|reply|response) is valid JSON\.?$", re.IGNORECASE),
        lambda _: WorkspaceCheck("json"),
    ),
    (
        re.compile(
            rf"^(?:the |a |an )?(?:file )?(?:called |named )?{_FILE} "
            r"(?:exists|is created|was created|is written|is produced|is created or updated)\b[^,;]{0,60}$",
            re.IGNORECASE,
        ),
        lambda match: WorkspaceCheck("exists", path=match["path"]),
    ),
    (
        re.compile(
            r"^the (?:output|reply|response) (?:contains|includes|mentions|has) (?:the (?:text|value|word) )?"
            r"[`\"'“](?P<text>[^`\"'”]{1,120})[`\"'”]\.?$",
            re.IGNORECASE,
        ),
        lambda match: WorkspaceCheck("contains", texts=(match["text"],)),
    ),
    (
        re.compile(
            r"^the (?:output|reply|response) (?:contains|includes|has) the value (?P<text>-?\d[\d.,]{0,20}?)\.?$",
            re.IGNORECASE,
        ),
        lambda match: WorkspaceCheck("contains", texts=(match["text"],)),
    ),
    (
        re.compile(
            r"^at least (?P<number>\d{1,3}) (?P<suffix>\.\w{1,8}) files? (?:are|is|were|was) "
            r"(?:created|written|produced)\b[^,;]{0,60}$",
            re.IGNORECASE,
        ),
        lambda match: WorkspaceCheck("exists", path=f"**/*{match['suffix']}", at_least=float(match["number"])),
    ),
)


def propose_check(text: str) -> WorkspaceCheck | None:
    """Return a check that decides an assertion without a model, or None. Nobody uses it unless a person writes it.

    For example, "report.md exists" becomes the check `exists` of that path.
    """
    if len(text) > _LONGEST:
        return None
    for pattern, make in _PROPOSALS:
        if (match := pattern.search(text.strip())) is not None:
            return make(match)
    return None
