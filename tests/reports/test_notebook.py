"""Records look right in a notebook, and hostile text stays text there."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

import fairtrial.api.stored_runs
from fairtrial.records.record import Record
from fairtrial.records.result import Verdict
from fairtrial.records.summary import CriterionSummary, Estimate, Summary
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult, Trace
from hostile_corpus import HOSTILE, LONG, filled
from reported import COMPARISON, RICH

pytestmark = pytest.mark.long

assert fairtrial.api.stored_runs

SUMMARY = Summary(Verdict.FAILED, (CriterionSummary("match", Estimate(0.5, 0.1, 0.9, "t"), threshold=0.8),))
STEPS = (Thought("hm"), ToolCall("buy", {"a": 1}), ToolResult("buy", "no"))
TRACE = Trace((Invocation(Message("hi"), STEPS, Message("x")),))
RECORDS = (SUMMARY, RICH, RICH.outcomes[0], TRACE, COMPARISON)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


def alive(text: str) -> list[tuple[str, list[str]]]:
    """Every tag but <pre> and <span>, and every attribute but style."""
    parser = _Tags()
    parser.feed(text)
    return [(tag, names) for tag, names in parser.found if tag not in {"pre", "span"} or names not in ([], ["style"])]


def render_html(record: Any) -> str:
    """What a notebook shows."""
    text: str = record._repr_html_()
    return text


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (SUMMARY, "0.50"),
        (RICH, "reason"),
        (RICH.outcomes[0], "rubric one"),
        (TRACE, "buy(a=1)"),
        (COMPARISON, "no difference shown"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_record_has_a_view(record: Record, text: str) -> None:
    """With the same words as in a terminal."""
    assert text in render_html(record)
    assert alive(render_html(record)) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_hostile_text_stays_text(record: Record) -> None:
    """In every field: no tag, handler or link comes from it."""
    for offset in range(0, len(HOSTILE), 47):
        texts = cycle((*HOSTILE[offset:], *HOSTILE[:offset]))
        filled_record = filled(record, texts.__next__)
        if record is COMPARISON:
            filled_record = replace(filled_record, signature="s:1|holm:1")
        text = render_html(filled_record)
        assert alive(text) == []
        assert not {"\x1b", "\u202e", "\x00"} & {*text}


MANY = (
    replace(TRACE, invocations=TRACE.invocations * 500),
    Trace((Invocation(Message("한" * 500), (), Message("국" * 500)),) * 50),
    replace(RICH, outcomes=RICH.outcomes * 500),
    replace(SUMMARY, criteria=SUMMARY.criteria * 1000),
    replace(COMPARISON, rows=COMPARISON.rows * 100),
)


@pytest.mark.parametrize("record", [RICH, TRACE], ids=lambda record: type(record).__name__)
def test_views_are_small(record: Record) -> None:
    """A notebook stores them, so a megabyte of text is cut."""
    for text in LONG:
        assert len(render_html(filled(record, text)).encode()) <= 100_000


@pytest.mark.parametrize("record", MANY, ids=lambda record: type(record).__name__)
def test_views_of_long_records_are_small(record: Record) -> None:
    """A thousand outcomes or criteria are cut too."""
    assert len(render_html(record).encode()) <= 100_000
