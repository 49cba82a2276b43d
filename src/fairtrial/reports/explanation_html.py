"""The explanation of a file: each leaf beside its reading, as a page that holds no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal

from fairtrial.records.record import Record
from fairtrial.reports.page_shell import scriptless_page
from fairtrial.text.display import count, visible_line
from fairtrial.text.languages import chosen_language, say
from fairtrial.text.redaction.redact import without_secrets

MOST_LEAVES = 20_000
"""The most leaves that a page shows. The unread leaves come first if there are more."""

Mark = Literal["used", "known", "unknown", "unread"]


class ExplainedLeaf(Record, frozen=True):
    """A leaf of a file: its JSON pointer, how it was read, and its value as text.

    `read_at` is the place of a used value in the recordings or cases. An unknown leaf `has_content` if it is a text of
    about four words or more.
    """

    place: str
    status: Literal["used", "known", "unknown"]
    text: str
    has_content: bool = False
    read_at: str = ""

    @property
    def mark(self) -> Mark:
        """The status. An unknown leaf with content is unread."""
        return "unread" if self.has_content else self.status


class Explanation(Record, frozen=True):
    """The leaves of a file in their order.

    `incomplete` are the reasons why recordings were not read in full, for example two contents that contradict each
    other.
    """

    path: str
    leaves: tuple[ExplainedLeaf, ...]
    kind: str = ""
    incomplete: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The number of leaves of each status."""
        numbers = dict.fromkeys(("used", "known", "unknown"), 0)
        for leaf in self.leaves:
            numbers[leaf.status] += 1
        content = sum(leaf.has_content for leaf in self.leaves)
        shares = ", ".join(f"{number} {status}" for status, number in numbers.items())
        return f"{count(len(self.leaves), 'value')}: {shares}" + (
            f", {content} of them with content" if content else ""
        )


def explanation_html(explanations: Sequence[Explanation]) -> str:
    """Return how files are read as a page: a table of the leaves for each file."""
    title = say("How files are read")
    body = "".join(part for explanation in explanations for part in _parts(explanation))
    return scriptless_page(_text(title), f"<h1>{_text(title)}</h1>\n{body}", chosen_language())


def _parts(explanation: Explanation) -> Iterator[str]:
    kind = f": {explanation.kind}" if explanation.kind else ""
    yield f"<h2>{_text(explanation.path + kind)}</h2>\n"
    yield f'<p class="note">{_text(explanation.summary)}</p>\n'
    if explanation.incomplete:
        yield f"<p>{_text(say('Not read in full; nothing is said to be absent:'))}</p>\n"
        yield f"<ul>{''.join(f'<li>{_text(reason)}</li>' for reason in explanation.incomplete)}</ul>\n"
    leaves: Sequence[ExplainedLeaf] = explanation.leaves
    if len(leaves) > MOST_LEAVES:
        yield f'<p class="note">{_text(say("{n} values are left out.", n=len(leaves) - MOST_LEAVES))}</p>\n'
        leaves = sorted(leaves, key=lambda leaf: leaf.mark != "unread")[:MOST_LEAVES]
    heads = (say("reading"), say("place in the file"), say("value"), say("place in the recording"))
    head = "".join(f'<th scope="col">{_text(text)}</th>' for text in heads)
    rows = "\n".join(map(_row, leaves))
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    yield f'<div class="scroll" tabindex="0">{table}</div>\n'


def _row(leaf: ExplainedLeaf) -> str:
    style = {"unread": ' class="removed"', "used": ' class="added"'}.get(leaf.mark, ' class="small"')
    cells = "".join(f"<td>{_text(text)}</td>" for text in (leaf.place, leaf.text, leaf.read_at))
    return f"<tr><td{style}>{_text(say(leaf.mark))}</td>{cells}</tr>"


def _text(value: str) -> str:
    return escape(without_secrets(visible_line(value)))
