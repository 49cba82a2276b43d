"""Reports in the language of the terminal: the texts of a finished report are translated one by one."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.constrain import Constrain
from rich.padding import Padding
from rich.text import Text

from fairtrial.reports.rows import Name, Rows
from fairtrial.reports.terminal_text import Paragraph
from fairtrial.text.languages import ENGLISH, chosen_language
from fairtrial.text.translated_lines import say_sentence


def translate(report: Any) -> Any:
    """Return a report whose sentences are in the language of the terminal. Other content stays as it is."""
    if chosen_language() == ENGLISH:
        return report
    if isinstance(report, (str, Text)):
        return say_sentence(report) if isinstance(report, str) else _translate_text(report)
    if isinstance(report, Group):
        return Group(*map(translate, report.renderables))
    if isinstance(report, Constrain):
        report = Constrain(translate(report.renderable), report.width)
    if isinstance(report, Padding):
        sides = (report.top, report.right, report.bottom, report.left)
        return Padding(translate(report.renderable), sides, style=report.style)
    if isinstance(report, Rows):
        return Rows(report.titles, [(tuple(map(_translate_cell, cells)), style) for cells, style in report.rows])
    return report


def _translate_cell(cell: str) -> str:
    return cell if isinstance(cell, Name) else say_sentence(cell)


def _translate_text(text: Text) -> Group:
    """Return a text of one style in the language of the terminal. One of several styles is translated already.

    It stands in a group, because a console joins texts that it prints to a text whose lines end at spaces only.
    """
    plain = text.plain if text.spans else say_sentence(text.plain)
    own = Paragraph(plain, text.style, justify=text.justify, overflow=text.overflow, end=text.end, spans=text.spans)
    return Group(own)
