"""The failure modes of a run as one HTML file: it holds no script, and opens without a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from fairtrial.reports.failures.failure_table import (
    decisive_line,
    describe_shares,
    head_line,
    shared_lines,
    summary_lines,
)
from fairtrial.reports.numbers import interval, rate
from fairtrial.reports.page_shell import scriptless_page
from fairtrial.text.display import DASH, count, visible_line
from fairtrial.text.languages import chosen_language, say
from fairtrial.text.redaction.redact import without_secrets
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FailedAttempt, FailureMode, Failures
    from fairtrial.records.summary import Estimate

_MOST_ATTEMPTS = 200
"""The most attempts that the page lists for a mode."""


def failures_html(failures: Failures) -> str:
    """Return the report as a page: a line for each mode, and below it the attempts with their decisive steps.

    Its words are in the language that is spoken now: of the terminal, or of `speaking`.
    """
    return scriptless_page(_sentence(head_line(failures)), "".join(_parts(failures)), chosen_language())


def _parts(failures: Failures) -> Iterator[str]:
    head = f"{_text(failures.run)} · {_sentence(head_line(failures))}"
    yield f'<h1>{_sentence("Failure modes")}</h1>\n<p class="note">{head}</p>\n'
    titles = ("mode", "attempts", "of failures", "95 % interval", "cases", "repaired")
    head = "".join(f'<th scope="col">{_sentence(title)}</th>' for title in titles)
    body = "\n".join(map(_row, failures.modes))
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    yield f'<div class="scroll" tabindex="0">{table}</div>\n'
    yield _items((*filter(None, [describe_shares(failures)]), *summary_lines(failures), *failures.notes))
    by_mode: dict[int | None, list[FailedAttempt]] = {}
    for own in failures.failed:
        by_mode.setdefault(own.mode, []).append(own)
    for mode in failures.modes:
        yield _mode(mode, by_mode.get(mode.number, []))
    if alone := by_mode.get(None):
        yield f"<h2>{_sentence('Alone')}</h2>\n{''.join(_attempts(alone))}"


def _row(mode: FailureMode) -> str:
    cells = (
        f"{mode.attempts:,}",
        rate(mode.of_failures.value),
        f"{_picture(mode.of_failures)} {interval(mode.of_failures, percent=True) or DASH}",
        f"{mode.cases:,}",
        f"{mode.repaired:,}",
    )
    link = f'<a href="#mode-{mode.number}">{mode.number} {_sentence(mode.name)}</a>'
    return f'<tr><th scope="row">{link}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _picture(estimate: Estimate) -> str:
    """Return a share and its interval as a picture. The text beside it says the same."""
    if estimate.value is None:
        return ""
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<line x1="0" y1="5" x2="100" y2="5"/>'
        f'<line class="interval" x1="{100 * low:.1f}" y1="5" x2="{100 * high:.1f}" y2="5"/>'
        f'<circle cx="{100 * estimate.value:.1f}" cy="5" r="2.5"/></svg>'
    )


def _mode(mode: FailureMode, members: list[FailedAttempt]) -> str:
    counts = f"{count(mode.attempts, 'attempt')} in {count(mode.cases, 'case')}; side at fault: {mode.side}"
    title = f'<h2 id="mode-{mode.number}">{mode.number} {_sentence(mode.name)}</h2>'
    return (
        f'{title}\n<p class="note">{_sentence(counts)}</p>\n{_items(shared_lines(mode))}{"".join(_attempts(members))}'
    )


def _attempts(members: list[FailedAttempt]) -> Iterator[str]:
    for own in members[:_MOST_ATTEMPTS]:
        step = "" if own.step is None else f"<pre>{_sentence(own.step.kind)}: {_text(own.step.text)}</pre>"
        title = f"<b>{_text(own.case)}</b> {_sentence(f'attempt {own.attempt}: {decisive_line(own)}')}"
        yield f"<details><summary>{title}</summary>{step}</details>\n"
    if len(members) > _MOST_ATTEMPTS:
        more = say("… and {n} more", n=f"{len(members) - _MOST_ATTEMPTS:,}")
        yield f'<p class="note">{_text(more)}</p>\n'


def _items(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_sentence(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>\n" if items else ""


def _sentence(value: str) -> str:
    """Return a text of this package in the language of the page, escaped."""
    return _text(say_sentence(value))


def _text(value: str) -> str:
    return escape(without_secrets(visible_line(value)))
