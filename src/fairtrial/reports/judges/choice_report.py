"""The choice of a judge as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.reports.numbers import dollars, format_estimate, interval, number
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.text.display import DASH, count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.judging.judge_choice import JudgeChoice, JudgeOnLabels
    from fairtrial.records.summary import Estimate

_MOST_JUDGES = 12
_MOST_CHANGED = 10
_RATES = ("accuracy", "sensitivity", "specificity")


def choice_tables(choice: JudgeChoice) -> RenderableType:
    """Return the test of the chosen judge, what it gains, and the best of the judges that were searched."""
    lines: list[RenderableType] = [
        Text(f"{visible_line(choice.criterion)}: {visible_line(choice.after.name)}", "bold"),
        Text(f"on {choice.test_labels:,} labels that had no part in the choice", "dim"),
        _compare(choice.before, choice.after),
        Text(_describe_gain(choice), "green" if choice.is_better else "yellow"),
    ]
    lines += [Text(sentence) for sentence in _describe_floors(choice)]
    for language, (before, after) in choice.languages.items():
        lines += [Text(""), Text(f"{language}: {count(after.labels, 'label')}", "dim"), _compare(before, after)]
    lines += [Text(""), *_list_searched(choice), *_list_changed(choice)]
    return Group(*lines, *(Text(visible_line(note), "yellow") for note in choice.notes))


def _compare(before: JudgeOnLabels, after: JudgeOnLabels) -> Group:
    rows = Rows(("judge", *(cell for rate in _RATES for cell in (rate, INTERVAL)), "kappa", "loss", "cost", "seconds"))
    for judge in dict.fromkeys((before, after)):
        rates: list[str] = []
        for name in _RATES:
            rate: Estimate = getattr(judge, name)
            rates += [format_estimate(rate, percent=True), interval(rate, percent=True) or DASH]
        rows.add(judge.name, *rates, format_estimate(judge.kappa), number(judge.loss), *_price(judge))
    return Group(rows, *table_sentence(_rates(before, after)))


def _rates(*judges: JudgeOnLabels) -> Iterator[TableNumber]:
    for judge in judges:
        for name in _RATES:
            yield TableNumber(f"the {name} of {judge.name}", count(judge.labels, "label"), getattr(judge, name))


def _price(judge: JudgeOnLabels) -> tuple[str, str]:
    cost = DASH if judge.cost is None else dollars(judge.cost)
    return cost, DASH if judge.seconds is None else f"{judge.seconds:.2f}"


def _describe_gain(choice: JudgeChoice) -> str:
    """Return what the test shows about the gain."""
    gain = choice.gain
    size = "no number" if gain.value is None else f"{gain.value:+.3f}"
    ends = "" if gain.low is None or gain.high is None else f" ({gain.low:+.3f} to {gain.high:+.3f})"
    if choice.before.name == choice.after.name:
        return "No judge that was searched loses less: the current judge stays."
    sentence = {
        "better": "The chosen judge is better",
        "worse": "The chosen judge is worse",
    }.get(choice.verdict, "No gain is shown")
    return f"{sentence}: it saves {size}{ends} of loss for an outcome."


def _describe_floors(choice: JudgeChoice) -> Iterator[str]:
    for name, holds in choice.holds.items():
        floor = f"{100 * choice.floors[name]:g} %"
        if holds is None:
            yield f"These labels do not decide whether its {name} is at least {floor}."
        else:
            yield f"Its {name} is {'at least' if holds else 'below'} {floor}."


def _list_searched(choice: JudgeChoice) -> list[RenderableType]:
    """Return the judges on the labels that chose: those on the frontier first, then by loss."""
    ranked = sorted(choice.searched, key=lambda own: (not own.on_frontier, own.loss))
    rows = Rows(("searched judge", "loss", "accuracy", INTERVAL, "cost", "seconds", "frontier"))
    for judge in ranked[:_MOST_JUDGES]:
        rows.add(
            judge.name,
            number(judge.loss),
            format_estimate(judge.accuracy, percent=True),
            interval(judge.accuracy, percent=True) or DASH,
            *_price(judge),
            "yes" if judge.on_frontier else "",
        )
    more = len(ranked) - _MOST_JUDGES
    remainder = f"; {more:,} with more loss are left out" if more > 0 else ""
    about = f"on the {choice.search_labels:,} labels that chose, so that these numbers flatter{remainder}"
    return [rows, Text(about, "dim")]


def _list_changed(choice: JudgeChoice) -> Sequence[RenderableType]:
    if not choice.changed:
        return ()
    lines = [Text(""), Text(f"{count(len(choice.changed), 'label')} of the test on which both judges differ", "dim")]
    for own in choice.changed[:_MOST_CHANGED]:
        verdicts = f"people {_word(own.people)}, before {_word(own.before)}, now {_word(own.after)}"
        lines.append(Text(f"{visible_line(own.key)}: {verdicts}", "" if own.after is own.people else "yellow"))
    if (more := len(choice.changed) - _MOST_CHANGED) > 0:
        lines.append(Text(f"and {more:,} more", "dim"))
    return lines


def _word(verdict: bool | None) -> str:
    return "unread" if verdict is None else "pass" if verdict else "fail"
