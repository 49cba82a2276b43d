"""Writes the HTML report of a run, or of a run beside its base run."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from fairtrial.api.decisions.comparing import compare
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError
from fairtrial.reports.html import write_pages
from fairtrial.reports.html_summary import LANGUAGES
from fairtrial.reports.views.view_shapes import Traces
from fairtrial.store import DEFAULT_URL
from fairtrial.text.redaction.redact import finders_of


def write_html(
    path: str | Path,
    *runs: str | Run,
    store: str = DEFAULT_URL,
    traces: Traces | None = None,
    language: str = "",
    people: bool = False,
) -> list[str]:
    """Write a run, or a base run and another run side by side, as one HTML file. Return warnings.

    A run is a `Run`, or the beginning of the id of a stored run. `traces` says of which attempts the file contains the
    conversations: "all", "failed" or "none". By default it contains all of them if the file stays below 50 MB, and else
    those of attempts that did not pass. `language` is that of the page, by default the language of the browser.

    With `people`, the page holds no personal data: no e-mail addresses, telephone numbers, cards, accounts, numbers of
    persons, IP addresses and home folders.

    Raises UsageError if a run does not exist, and OSError if the file cannot be written.
    """
    if not 1 <= len(runs) <= 2:
        raise UsageError(f"an HTML report shows one or two runs, got {len(runs)}")
    if language and language not in LANGUAGES:
        raise UsageError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    if traces is not None and traces not in get_args(Traces):
        raise UsageError(f"traces must be one of {', '.join(get_args(Traces))}, got {traces!r}")
    open_runs = [run if isinstance(run, Run) else reread(store, run) for run in runs]
    comparison = compare(*open_runs, store=store) if len(open_runs) == 2 else None
    finders_of(people=people)  # raises if the library is missing
    with Path(path).open("wb") as file:
        return write_pages(file, open_runs, comparison=comparison, traces=traces, language=language, people=people)
