"""Facts are marked in the expected reply and in the reply, in each language, and after emoji."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, axe_problems, opened

from fairtrial.metrics.facts_match import FactsMatch
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.reports.html import write_pages
from finished import FinishedRun

pytestmark = pytest.mark.browser

REPLIES = (
    ("The total is 29.90 USD, and 3 items ship on 2026-11-23.", "The total is 39.90 USD, and 3 items ship."),
    ("🎉👍🏽 총액은 29,900원이고 11월 23일에 도착합니다.", "🎉👍🏽🎉 총액은 39,900원이고 11월 23일에 도착합니다."),
    ("𠮷野家😀 料金は1,200円で、3月3日に届きます。", "😀😀 料金は1,500円で、3月3日に届きます。"),
    ("👨‍👩‍👧 总价是 88 元。", "👨‍👩‍👧👨‍👩‍👧 总价是 99 元。"),
    ("<b>9 USD</b><img src=x onerror=hit=1>", "<script>window.hit=1</script> 8 USD \u202e"),
)
"""The expected reply and the reply of each case."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run whose replies are compared by their facts."""
    results, expectations, recorded = [], [], []
    for position, (expected, reply) in enumerate(REPLIES):
        user = Message("What does it cost?")
        case = EvalCase(f"case_{position}", (Invocation(user, final_response=Message(expected)),))
        trace = Trace((Invocation(user, final_response=Message(reply)),))
        score = FactsMatch()(trace, case)
        expectations.append(ExpectedCase(position, case.id, case, "shop", f"{position:064d}"))
        recorded.append((position, Recording(case.id, trace)))
        outcomes = (Outcome("facts_match_v1", score, 1.0),)
        results.append(CaseResult(case.id, position, outcomes, eval_set="shop", digest=f"{position:064d}"))
    started = "2026-11-20T09:30:00+00:00"
    info = RunInfo("20261120-093000-aaaaaa", started, "0.1.0", "score", {}, {}, finished=started)
    file = tmp_path_factory.mktemp("facts") / "run.html"
    with file.open("wb") as stream:
        write_pages(stream, [FinishedRun(info, results, expectations, recorded)])
    return file.as_uri()


def show(own: Visit, address: str, position: int) -> None:
    """Open a case."""
    own.open(f"{address}#page=case&case={position}", ".fact-list mark.fact")


def words(own: Visit, side: int, state: str) -> list[str]:
    """The marked words of the expected reply, which is side 0, or of the reply."""
    script = """([side, state]) => [...document.querySelectorAll(
      `.fact-list .word-diff > div:nth-child(${side + 1}) mark.fact.${state}`)].map(mark => {
        const own = mark.cloneNode(true);
        own.querySelectorAll('.fact-sign, .visually-hidden').forEach(node => node.remove());
        return own.textContent;
      })"""
    found: list[str] = own.page.evaluate(script, [side, state])
    return found


@pytest.mark.parametrize(
    ("position", "expected", "actual"),
    [(0, "29.90 USD", "39.90 USD"), (1, "29,900원", "39,900원"), (2, "1,200円", "1,500円"), (3, "88 元", "99 元")],
)
def test_a_contradicted_fact_is_marked_in_both_texts(
    browser: Any, address: str, position: int, expected: str, actual: str
) -> None:
    """An emoji is two units of JavaScript and one code point, and joined emoji are more of both."""
    with opened(browser) as own:
        show(own, address, position)
        assert words(own, 0, "contradicted") == [expected]
        assert words(own, 1, "contradicted") == [actual]
        assert own.errors == []


def test_sentences_name_what_is_wrong_first(browser: Any, address: str) -> None:
    """A contradicted fact stands before a missing one, and facts that agree are counted."""
    with opened(browser) as own:
        show(own, address, 0)
        lines = own.page.locator(".fact-list li").all_inner_texts()
        assert lines[0] == "29.90 USD is expected, the reply says 39.90 USD"
        assert "2026-11-23 is expected" in lines[1]
        assert own.page.locator(".fact-list > p").inner_text() == "1 fact agrees"


def test_a_mark_is_more_than_a_colour(browser: Any, address: str) -> None:
    """A sign for those who see no colours, and a word for those who listen."""
    with opened(browser) as own:
        show(own, address, 0)
        mark = own.page.locator(".fact-list mark.fact.contradicted").first
        assert mark.locator(".fact-sign").inner_text() == "≠"
        assert mark.locator(".visually-hidden").text_content() == "contradicted: "


def test_the_conversation_has_the_same_marks(browser: Any, address: str) -> None:
    """Each in the reply and in the reply that was expected."""
    with opened(browser) as own:
        show(own, address, 1)
        marks = own.page.locator(".conversation mark.fact.contradicted").all_inner_texts()
        assert [text.split("\n")[-1] for text in marks] == ["29,900원", "39,900원"]


def test_hostile_texts_with_facts_are_only_text(browser: Any, address: str) -> None:
    """Markup beside a fact stays text, and a character that reorders is spelt out."""
    with opened(browser) as own:
        show(own, address, 4)
        assert own.page.evaluate("window.hit === undefined && !document.querySelector('.fact-list img')")
        assert words(own, 1, "contradicted") == ["8 USD"]
        assert "\u202e" not in own.page.locator(".fact-list").inner_text()
        assert own.errors == own.requests == []


def test_marks_are_accessible(browser: Any, address: str) -> None:
    """WCAG 2.2 AA, in both themes and five languages, at 320 and 1280 pixels."""
    for width in (1280, 320):
        with opened(browser, viewport={"width": width, "height": 2000}, bypass_csp=True) as own:
            show(own, address, 0)
            assert axe_problems(own.page) == []


def test_a_fact_behind_a_secret_keeps_its_mark(browser: Any, tmp_path: Path) -> None:
    """The page hides a secret of the reply, after which everything stands at another place."""
    key = "sk-" + "a1B2" * 12
    user = Message("?")
    case = EvalCase("c", (Invocation(user, final_response=Message("It costs 5 USD.")),))
    trace = Trace((Invocation(user, final_response=Message(f"The key is {key}, and it costs 7 USD.")),))
    outcome = Outcome("facts_match_v1", FactsMatch()(trace, case), 1.0)
    expected = ExpectedCase(0, "c", case, "shop", "0" * 64)
    result = CaseResult("c", 0, (outcome,), eval_set="shop", digest="0" * 64)
    started = "2026-11-20T09:30:00+00:00"
    info = RunInfo("20261120-093000-aaaaaa", started, "0.1.0", "score", {}, {}, finished=started)
    file = tmp_path / "run.html"
    with file.open("wb") as stream:
        write_pages(stream, [FinishedRun(info, [result], [expected], [(0, Recording("c", trace))])])
    with opened(browser) as own:
        show(own, file.as_uri(), 0)
        assert key not in own.page.content()
        assert words(own, 1, "contradicted") == ["7 USD"]
