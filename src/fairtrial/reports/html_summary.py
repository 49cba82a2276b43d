"""The plain HTML summary of a run, for readers without scripts, for example in a mail preview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from itertools import islice
from typing import Any

import msgspec

from fairtrial.reports.numbers import number, rate
from fairtrial.text.display import DASH, visible_line

LISTED = 50
LANGUAGES = ("en", "ko", "ja", "zh-TW", "zh-CN")
_MARKS = {"passed": "✓", "failed": "✗", "error": "!", "unscored": "?", "informational": "·"}
_GREEN = ("passed", "informational")

View = Mapping[str, Any]


@dataclass(frozen=True)
class PlainSummary:
    """The title of a page, and its summary as HTML."""

    title: str
    body: str


@cache
def texts(language: str) -> dict[str, Any]:
    """Return the texts of a language by their names."""
    file = resources.files("fairtrial.reports").joinpath("assets", "texts", f"{language}.json")
    content: dict[str, Any] = msgspec.json.decode(file.read_bytes())
    return content


def summary_html(page: View) -> PlainSummary:
    """Return the summary of a page, given its view as plain data. Cases whose attempts all passed may be left out."""
    own = texts(page.get("language") or "en")
    runs = page["runs"]
    title = f"{runs[-1]['verdict']} {DASH} {runs[-1]['id']}"
    parts = [_run(run, cases, own) for run, cases in zip(runs, page["cases"], strict=True)]
    return PlainSummary(_text(title), f"<main>{''.join(parts)}</main>")


def _text(value: Any) -> str:
    return escape(visible_line(str(value)))


def _run(run: View, cases: Sequence[View], own: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{_MARKS[verdict]} {n:,} {_text(verdict)}" for verdict, n in run["counts"].items())
    notes = [f"note: {note}" for note in run.get("notes", ())]
    reasons = "".join(f"<li>{_text(reason)}</li>" for reason in (*run.get("reasons", ()), *notes))
    return (
        f"<h1>{_text(run['verdict'])}</h1><p>{_text(run['id'])} · {_text(run['started'])}</p><p>{counts}</p>"
        f"<ul>{reasons}</ul>{_criteria(run, own)}{_modes(run.get('failures') or {}, own)}{_not_passed(cases, own)}"
    )


def _modes(failures: View, own: Mapping[str, Any]) -> str:
    """Return the largest failure modes, and those that are new."""
    largest = failures.get("largest", ())
    items = "".join(
        f"<li>{_text(mode['name'])}: {mode['attempts']:,} ({rate(mode['of_failures'].get('value'))})</li>"
        for mode in failures.get("modes", ())
        if mode["number"] in largest
    )
    return f"<h2>{escape(own['failureModes'])}</h2><ul>{items}</ul>" if items else ""


def _criteria(run: View, own: Mapping[str, Any]) -> str:
    titles = (own["criterion"], own["mean"], own["interval"], own["passRate"], own["interval"])
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = "".join(
        f"<tr><th>{_text(criterion['criterion'])}</th>"
        f"{_estimate(criterion['mean'], percent=False, unit=criterion.get('unit', ''))}"
        f"{_estimate(criterion['pass_rate'], percent=True)}</tr>"
        for criterion in run["criteria"]
    )
    limits = f"<p>{_text(run['limits'])}</p>" if run.get("limits") else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{limits}"


def _estimate(estimate: View, *, percent: bool, unit: str = "") -> str:
    written = rate if percent else number
    low, high = estimate.get("low"), estimate.get("high")
    ends = DASH if low is None or high is None else f"{written(low)} … {written(high)}"
    value = f"{written(estimate.get('value'))} {unit}".rstrip()
    return f"<td>{value}</td><td>{ends}</td>"


def _not_passed(cases: Sequence[View], own: Mapping[str, Any]) -> str:
    rows = list(islice(_attempts(cases), LISTED + 1))
    if not rows:
        return ""
    items = "".join(rows[:LISTED])
    more = f"<p>{escape(own['needsScript'])}</p>"
    return f"<h2>{escape(own['notPassed'])}</h2><ul>{items}</ul>{more if len(rows) > LISTED else ''}"


def is_listed(attempt: View) -> bool:
    """Return whether the summary lists an attempt, as far as it has room."""
    return attempt["verdict"] not in _GREEN


def _attempts(cases: Sequence[View]) -> Iterator[str]:
    """Yield a line for each attempt that did not pass."""
    for case in cases:
        for attempt in case["attempts"]:
            if is_listed(attempt):
                attempt_number = f" ({attempt['attempt']})" if len(case["attempts"]) > 1 else ""
                reason = f": {_text(case['reason'])}" if case.get("reason") else ""
                mark = _MARKS[attempt["verdict"]]
                verdict = _text(attempt["verdict"])
                yield f"<li>{mark} <b>{_text(case['name'])}</b>{attempt_number} {verdict}{reason}</li>"
