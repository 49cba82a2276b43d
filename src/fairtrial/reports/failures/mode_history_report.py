"""The terminal report of failure modes along a series of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.reports.rows import Rows, name_series
from fairtrial.text.display import DASH, count, shorten_commit, visible_line
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.mode_history import ModeHistory, ModeLine

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40
_MOST = 20
_STYLES = {"new": "red", "back": "red", "gone": "green"}


def mode_history_report(history: ModeHistory) -> RenderableType:
    """Return a row for each mode with its cases in each run, and a sentence for each that is new, back or gone."""
    lines: list[RenderableType] = [Text(visible_line(name_series(history.series)), "bold")]
    if not history.modes:
        return Group(*lines, Text(f"no failure mode in {count(len(history.runs), 'run')}"), *_notes(history))
    most = max(number or 0 for line in history.modes for number in line.cases)
    rows = Rows(("failure mode", "cases by run", "cases now", "first seen", "last seen", "state"))
    for line in history.modes[:_MOST]:
        bars = _draw(line.cases, most)
        now = DASH if line.cases[-1] is None else f"{line.cases[-1]:,}"
        rows.add(
            say_sentence(line.name), bars, now, line.first, line.last, line.state, style=_STYLES.get(line.state, "")
        )
    lines += [rows, Text("")]
    if len(history.modes) > _MOST:
        lines.append(Text(f"… and {count(len(history.modes) - _MOST, 'more mode')}; --json FILE lists them all", "dim"))
    commits = {row.id: shorten_commit(row.commit, dirty=row.dirty) for row in history.runs}
    lines += [Text(visible_line(sentence)) for line in history.modes[:_MOST] for sentence in _sentences(line, commits)]
    shown = f"{count(len(history.runs), 'run')}, the oldest first; · no case, blank: its cases were not run"
    chance = f"gone: chance explains so many runs without the mode in one of {history.false_every:,.0f} times at most"
    lines.append(Text(shown, "dim"))
    if any(line.gone or line.back for line in history.modes):
        lines.append(Text(chance, "dim"))
    return Group(*lines, *_notes(history))


def _draw(cases: Sequence[int | None], most: int) -> str:
    """Return the numbers of the last runs as bars: blank if they are not known, a dot if there are none."""
    steps = len(_BARS) - 1
    cells = (" " if own is None else "·" if own == 0 else _BARS[round(steps * own / most)] for own in cases[-_WIDTH:])
    return "".join(cells)


def _sentences(line: ModeLine, commits: dict[str, str]) -> list[str]:
    def place(run: str) -> str:
        return f"{run} (commit {commits[run]})" if commits.get(run) else run

    sentences = [f"{line.name}: back again in {place(run)}" for run in line.back]
    if line.state == "new":
        sentences.append(f"{line.name}: new in {place(line.first)}")
    if line.gone:
        sentences.append(f"{line.name}: gone since {place(line.gone)}")
    return sentences


def _notes(history: ModeHistory) -> list[Text]:
    verb = "belongs" if history.alone == 1 else "belong"
    notes = [f"{count(history.alone, 'failed attempt')} of all runs {verb} to no mode"] if history.alone else []
    if history.earlier:
        notes.append(f"{count(history.earlier, 'older run')} left out; --last N shows more")
    return [Text(visible_line(note), "yellow") for note in (*notes, *history.notes)]
