"""The page of a judged case: the conversation beside the verdict, only what differs, votes, Markdown, JSON, copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, opened

from judged_pages import JUDGES, write_judged
from report_pages import write_run

pytestmark = pytest.mark.browser

CASE = "#page=case&case=0"
READY = ".case .invocation"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A case of 60 invocations with five judged criteria, of which every tenth invocation fails a rubric."""
    return write_judged(tmp_path_factory.mktemp("judged") / "judged.html")


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    """The case in a page of its own."""
    with opened(browser) as own:
        own.open(address + CASE, READY)
        yield own


def test_the_conversation_stands_beside_the_verdict(visit: Visit) -> None:
    """Both begin in the first window, with one line for each criterion."""
    places = "name => document.querySelector(name).getBoundingClientRect().toJSON()"
    turn, verdict = (visit.page.evaluate(places, name) for name in (READY, ".verdict-pane"))
    assert turn["top"] < 400
    assert verdict["top"] < 400
    assert verdict["left"] >= turn["right"]
    assert visit.page.locator(".verdict-pane .outcome").count() == 6


def test_a_phone_shows_the_conversation_first(browser: Any, address: str) -> None:
    """And a button leads to the criteria."""
    with opened(browser, viewport={"width": 390, "height": 844}) as own:
        own.open(address + CASE, READY)
        assert own.page.locator(READY).first.bounding_box()["y"] < 600
        own.page.locator(".to-criteria").click()
        own.page.wait_for_function(
            "document.getElementById('outcomes-title').getBoundingClientRect().top < innerHeight"
        )


def test_sixty_invocations_draw_few_elements(visit: Visit) -> None:
    """Wherever the page is scrolled to, the window is filled, and the page stays below 2,000 elements."""
    for share in (0, 0.3, 0.7, 1):
        visit.page.evaluate("share => window.scrollTo(0, document.body.scrollHeight * share)", share)
        visit.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert visit.page.evaluate("document.querySelectorAll('*').length") < 2000
        assert visit.page.evaluate("document.elementFromPoint(200, 500).closest('.invocation') !== null")


def test_equal_invocations_are_one_line_and_a_changed_argument_is_a_change(visit: Visit) -> None:
    """The rest of the case is what differs."""
    trajectory = visit.page.locator(".outcome", has_text="tool_trajectory_avg_score")
    assert "54 of 60 invocations equal" in trajectory.locator(".full summary").last.inner_text()
    change = trajectory.locator(".trajectory .changed").first
    assert change.locator(".call-name").inner_text() == "issue_refund"
    assert change.locator(".arguments").inner_text().split() == ["amount", "19.9", "→", "29.9"]
    assert trajectory.locator(".trajectory .missing, .trajectory .surplus").count() == 0


def test_a_criterion_leads_to_its_invocation(visit: Visit) -> None:
    """Also if the invocation is not drawn yet."""
    assert visit.page.locator("[data-invocation='9']").count() == 0
    visit.page.locator(".to-turn").first.click()
    visit.page.locator("[data-invocation='9']").wait_for()
    visit.page.wait_for_function(
        "Math.abs(document.querySelector('[data-invocation=\"9\"]').getBoundingClientRect().top - 100) < 150"
    )


def test_a_rubric_has_its_text_and_one_row_of_votes_with_names(visit: Visit) -> None:
    """The rationale comes by a click or a key, and the prompt stands behind one fold."""
    outcome = visit.page.locator(".outcome", has_text="rubric_based_quality_v1")
    outcome.locator("> summary").click()
    rubric = outcome.locator(".part .part", has_text="names_order").first
    assert rubric.locator(".rubric-text").inner_text() == "The reply names the order that the user asked about."
    votes = rubric.locator(".vote")
    assert [vote.split() for vote in votes.all_inner_texts()] == [
        ["○", JUDGES[0], "yes"],
        ["●", JUDGES[1], "no"],
        ["●", JUDGES[2], "no"],
    ]
    assert rubric.locator(".rationale").count() == 0
    votes.nth(1).focus()
    visit.page.keyboard.press("Enter")
    assert rubric.locator(".rationale").inner_text() == "judge-bob read turn 10 and the order is not named."
    turn = outcome.locator(".outcome-body > .part").first
    assert turn.locator(".questions").count() == 1
    assert turn.locator(".code").count() == 0
    turn.locator(".questions > summary").click()
    turn.locator(".ballot .code", has_text="Judge turn 10 of 60.").first.wait_for()


def test_markdown_becomes_elements_and_links_stay_text(visit: Visit) -> None:
    """On a switch, which shows the text as it was written."""
    reply = visit.page.locator("[data-invocation='0'] .side:not(.expected) .bubble").last
    assert reply.locator(".md-heading").inner_text() == "Your order"
    assert reply.locator("b").first.inner_text() == "arrive on Monday"
    assert reply.locator(".md-list li").count() == 2
    assert reply.locator("td").all_inner_texts() == ["book", "12.50", "lamp", "29.90"]
    assert reply.locator(".md-code").inner_text() == "refund(29.9)"
    assert reply.locator("a, img").count() == 0
    assert "[a link](https://evil.example)" in reply.inner_text()
    visit.page.keyboard.press("m")
    reply.get_by_text("# Your order").wait_for()
    assert reply.locator(".md-heading").count() == 0


def test_json_is_a_tree(visit: Visit) -> None:
    """Of a result, each member can be folded."""
    step = visit.page.locator("[data-invocation='0'] .step.tool_result", has_text="get_order")
    step.locator("> summary").click()
    tree = step.locator(".json")
    assert tree.locator("summary").first.inner_text().startswith("order")
    assert tree.locator(".json-number").first.inner_text() == "19.9"
    tree.locator("summary").first.click()
    tree.locator(".json-number").first.wait_for(state="detached")


def test_id_link_command_and_case_can_be_copied(browser: Any, address: str) -> None:
    """Each by a button."""
    with opened(browser, permissions=["clipboard-read", "clipboard-write"]) as own:
        own.open(address + CASE, READY)
        own.page.locator(".menu > summary").click()
        buttons = own.page.locator(".menu button")
        buttons.nth(3).wait_for()  # `all` does not wait for the menu
        copied = []
        for button in buttons.all():
            button.click()
            button.get_by_text("✓").wait_for()
            copied.append(own.page.evaluate("navigator.clipboard.readText()"))
    assert copied[0] == "case_0"
    assert "page=case" in copied[1]
    assert copied[2] == "fairtrial show 20261120-093000-judged case_0"
    assert '"case_id": "case_0"' in copied[3]


def test_the_printer_gets_every_invocation(visit: Visit) -> None:
    """Not only those in the window."""
    visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    visit.page.locator("[data-invocation='59']").wait_for(state="attached")
    assert visit.page.locator(READY).count() == 60
    visit.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    visit.page.locator("[data-invocation='59']").wait_for(state="detached")


def test_keys_lead_to_the_next_case_that_failed_and_that_is_disputed(browser: Any, tmp_path: Path) -> None:
    """In the order of the list."""
    with opened(browser) as own:
        own.open(write_judged(tmp_path / "three.html", 10, cases=3) + CASE, READY)
        for key, name in (("x", "case_1"), ("d", "case_2")):
            own.page.keyboard.press(key)
            own.page.locator("#case-title", has_text=name).wait_for()
        assert own.errors == []


def test_the_time_line_shows_model_tools_and_waiting_by_turn(visit: Visit) -> None:
    """With the sums above it, and the first token, the tokens and the cost of each turn: 60 turns of 0.0038 dollars."""
    visit.page.get_by_role("button", name="Time line").click()
    legend = visit.page.locator(".legend").inner_text()
    assert [part in legend for part in ("Model 96 sec", "Tools 42 sec", "Waiting 12 sec")] == [True] * 3
    turn = visit.page.locator(".time-line tbody tr").first
    assert turn.locator("rect.model").count() == 1
    assert turn.locator("rect.tool").count() == 3
    assert "issue_refund 0.4 sec" in turn.inner_text()
    assert "1,280" in turn.inner_text()
    assert "$0.0038" in turn.inner_text()
    assert "Cost $0.228" in legend
    assert turn.locator("rect.first-token").count() == 1
    heads = visit.page.locator(".time-line thead th").all_inner_texts()
    assert turn.locator("td").nth(heads.index("First token") - 1).inner_text() == "0.4 sec"
    assert visit.page.evaluate("document.querySelectorAll('*').length") < 2000


def test_attempts_are_a_tree(browser: Any, tmp_path: Path) -> None:
    """With the pass rate of each branch and a link to each attempt."""
    with opened(browser) as own:
        own.open(write_run(tmp_path / "run.html", attempts=3) + CASE, READY)
        own.page.locator(".branches > summary").click()
        limb = own.page.locator(".limb").first
        limb.wait_for()
        assert "of 3 attempts passed" in limb.inner_text()
        assert "get_order" in own.page.locator(".limb-steps").first.inner_text()
        limb.locator("a").nth(1).click()
        own.page.locator(".attempt[aria-current]", has_text="2").wait_for()
