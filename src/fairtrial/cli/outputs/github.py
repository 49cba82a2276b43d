"""GitHub Actions output: annotations at the lines of cases that did not pass, and a step summary."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fairtrial import api

if TYPE_CHECKING:
    from fairtrial.api import Run

SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST = 10
"""GitHub shows at most 10 annotations of a kind for each step."""
_LONGEST = 1_000


def is_github() -> bool:
    """Whether this process runs in GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def step_summary() -> Path | None:
    """Return the file of the step summary, if there is one."""
    path = os.environ.get(SUMMARY)
    return Path(path) if path else None


@contextmanager
def without_commands(stream: TextIO) -> Iterator[None]:
    """Let GitHub read no workflow command in the block, so that the text of an agent cannot give any."""
    token = uuid.uuid4().hex
    stream.write(f"::stop-commands::{token}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"::{token}::\n")
        stream.flush()


def write_annotations(stream: TextIO, run: Run) -> None:
    """Write an annotation for each case that did not pass, at the line of the case in its file."""
    for number, place in enumerate(api.problem_places(run, limit=_MOST + 1)):
        if number == _MOST:
            stream.write("::notice::more cases did not pass; the summary has their number\n")
            break
        level = "error" if place.verdict in ("failed", "error") else "warning"
        properties = {"title": f"{place.title}: {place.verdict}"}
        if place.file:
            properties |= {"file": place.file, "line": str(place.line)}
        escaped = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        stream.write(f"::{level} {escaped}::{_data(place.message)}\n")
    stream.flush()


def _data(text: str) -> str:
    from fairtrial.text.display import shorten, visible_line
    from fairtrial.text.redaction.redact import without_secrets

    # A secret is searched before the text is cut: no search finds a part of one.
    return (
        shorten(without_secrets(visible_line(text)), _LONGEST)
        .replace("%", "%25")
        .replace("\r", "%0D")
        .replace("\n", "%0A")
    )


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
