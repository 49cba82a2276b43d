"""The terminal report of a search for a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.reports.numbers import rate
from fairtrial.reports.rows import Name, Rows
from fairtrial.text.display import DASH, count, shorten_commit, visible_line

if TYPE_CHECKING:
    from fairtrial.records.run_history import BisectedCommit, Bisection

_SHOWN = 0.01
"""Commits of a smaller probability that ran nothing are not listed."""
_LIKELY = 0.5


def bisection_report(bisection: Bisection) -> RenderableType:
    """Return the probable commits, the cases that changed, and the answer."""
    commits = Rows(("commit", "probability", "passed", "attempts", "date", "title"))
    probable = [own for own in bisection.commits if own.probability >= _SHOWN or own.attempts or own.problem]
    for commit in probable:
        commits.add(
            shorten_commit(commit.commit),
            rate(commit.probability),
            f"{commit.passed:,}" if commit.attempts else DASH,
            f"{commit.attempts:,}" if commit.attempts else DASH,
            visible_line(commit.date[:10]),
            visible_line(commit.problem) if commit.problem else Name(visible_line(commit.title)),
            style="yellow" if commit.commit == bisection.found else "",
        )
    lines: list[RenderableType] = [commits]
    if rest := len(bisection.commits) - len(probable):
        lines.append(Text(f"… and {count(rest, 'commit')}, each with a probability below {rate(_SHOWN)}", "dim"))
    elsewhere = bisection.attempts - sum(commit.attempts for commit in bisection.commits)
    if elsewhere > 0:
        good = visible_line(shorten_commit(bisection.good))
        lines.append(Text(f"{count(elsewhere, 'attempt')} ran at {good}, the good commit", "dim"))
    lines.append(Text(""))
    changed = [case for case in bisection.cases if case.changed >= _LIKELY]
    if changed:
        cases = Rows(("case", "before", "after", "changed"))
        for case in changed:
            cases.add(visible_line(case.case), rate(case.before), rate(case.after), rate(case.changed))
        lines.append(cases)
        if rest := len(bisection.cases) - len(changed):
            lines.append(
                Text(f"… and {count(rest, 'case')}, each changed with a probability below {rate(_LIKELY)}", "dim")
            )
        lines.append(Text(""))
    best = max(bisection.commits, key=lambda commit: commit.probability)
    attempts = count(bisection.attempts, "attempt")
    if bisection.found:
        lines.append(Text(f"{_name(best)} is the first commit with the change ({attempts}).", "bold"))
        lines.append(Text(f"Its probability is {rate(best.probability)}.", "dim"))
    else:
        lines.append(Text(f"No commit is found with a probability of {rate(bisection.confidence)}.", "bold"))
        if any(own.probability < best.probability for own in bisection.commits):
            lines.append(Text(f"The most probable is {_name(best)}: {rate(best.probability)} ({attempts}).", "dim"))
    return Group(*lines, *(Text(visible_line(note), "yellow") for note in bisection.notes))


def _name(commit: BisectedCommit) -> str:
    return visible_line(f"{shorten_commit(commit.commit)} {commit.title!r} by {commit.author}")
