"""A sentence in plain words below a small table. It names the facts that the numbers show, and their limits.

A table is small if one of its 95 % intervals is wider than 20 points. For example, 3 cases that all pass leave 14 to
100 % possible. The sentence is about the widest interval of the table, so that no other number is less certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from rich.console import RenderableType
from rich.constrain import Constrain

from fairtrial.reports.numbers import interval
from fairtrial.reports.terminal_text import Paragraph
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.summary import Estimate

WIDE = 0.2
"""A table is small if an interval in it is wider than this share of the possible values."""
_VAGUE = 0.5
"""With a wider interval, a table does not show how often anything happens. With a narrower one, it shows it roughly."""
_WIDTH = 100
Quote = Callable[[str], str]
"""How a name from a file is written, for example as code in Markdown."""


class TableNumber(NamedTuple):
    """A number of a table, as a sentence may name it.

    `sample` is the number of things that it comes from: `3 cases`. `fact` is an event that happened among them, for
    example `the agent can pass`, or empty if they prove none. `width` is that of all possible values.
    `is_single` says that it comes from one case, which has no interval. Other numbers without an interval are left out:
    for example, pass^k has none if the cases come in clusters.
    """

    name: str
    sample: str
    estimate: Estimate
    fact: str = ""
    is_rate: bool = True
    width: float = 1.0
    is_single: bool = False

    @property
    def doubt(self) -> float:
        """The share of the possible values that its interval leaves. A single case leaves all of them."""
        low, high = self.estimate.low, self.estimate.high
        return float(self.is_single) if low is None or high is None else (high - low) / self.width


def describe_table(numbers: Iterable[TableNumber]) -> str:
    """Return the sentence about a table, in English. It is empty unless the table is small."""
    widest = max((own for own in numbers if own.estimate.value is not None), key=lambda own: own.doubt, default=None)
    if widest is None or widest.doubt <= WIDE:
        return ""
    ends = interval(widest.estimate, percent=widest.is_rate)
    unit = " %" if widest.is_rate else ""
    low, _, high = ends.partition(" … ")
    reach = f"can be anywhere from {low.removesuffix(unit)} to {high}" if ends else "has no interval"
    return f"With {widest.sample}, {widest.name} {reach}: {_describe_proof(widest)}."


def _describe_proof(number: TableNumber) -> str:
    if not number.fact:
        return "this is too little to say more"
    if number.doubt > _VAGUE:
        return f"this shows that {number.fact}, not how often"
    return f"this shows that {number.fact}, and only roughly how often"


def describe_reach(cases: int, fewest: int) -> str:
    """Return, in English, how many of so many cases must change before a difference of two runs can be shown.

    `fewest` is the number that a test needs whose p value is 0.05 at most only if so many cases change.
    """
    sample = count(cases, "case")
    if cases < fewest:
        return f"With {sample}, no difference in cases can be shown: at least {fewest} cases would have to change."
    return f"With {sample}, a difference in cases can be shown only if at least {fewest} of them change."


def write_paragraph(sentence: str) -> list[RenderableType]:
    """Return a sentence as a paragraph of at most 100 columns for a terminal, or nothing without a sentence."""
    return [Constrain(Paragraph(visible_line(sentence)), _WIDTH)] if sentence else []


def table_sentence(numbers: Iterable[TableNumber]) -> list[RenderableType]:
    """Return the sentence about a table as a paragraph, or nothing unless the table is small."""
    return write_paragraph(describe_table(numbers))
