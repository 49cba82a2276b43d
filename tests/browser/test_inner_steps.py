"""The page of an attempt whose tools are agents: their work stands indented between the call and its result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, axe_problems, opened

from fairtrial.records.attempt import Recording
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace
from fairtrial.reports.html import write_pages
from finished import FinishedRun

pytestmark = pytest.mark.browser

CASE = "#page=case&case=0"
READY = ".inner-steps"
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
SHOWN = "<img src=x onerror=alert(1)>\\u202e"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An attempt in which an agent calls an agent, which calls a third one with a hostile name."""
    read = (ToolCall("read", {"path": HOSTILE}, author=HOSTILE), ToolResult("read", HOSTILE, author=HOSTILE))
    deep = Trace((Invocation(Message("look"), read, Message(HOSTILE, author=HOSTILE)),))
    look = (
        Thought("where?", author="asker"),
        ToolCall("look", author="asker"),
        ToolResult("look", 7, author="asker", inner=deep),
    )
    inner = Trace((Invocation(Message("ask"), look, Message("it is 7", author="asker")),))
    steps = (Thought("hm"), ToolCall("ask"), ToolResult("ask", "it is 7", inner=inner))
    return write_page(tmp_path_factory.mktemp("inner") / "run.html", steps)


def write_page(path: Path, steps: tuple[Step, ...]) -> str:
    """Write the page of an attempt with these steps, and return its address."""
    recording = Recording("case", Trace((Invocation(Message("how many?"), steps, Message("7")),)))
    info = RunInfo("r", "2026-01-01T00:00:00.000+00:00", "0", "run")
    with path.open("wb") as stream:
        write_pages(stream, [FinishedRun(info, [CaseResult("case", 0, ())], [], [(0, recording)])])
    return path.as_uri()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    """The attempt in a page of its own."""
    with opened(browser) as own:
        own.open(address + CASE, READY)
        yield own


def left(visit: Visit, kind: str, name: str) -> float:
    """The left edge of a step in pixels."""
    step = visit.page.locator(f".step.{kind}", has=visit.page.locator(".step-name", has_text=name))
    return float(step.bounding_box()["x"])


def test_the_work_inside_of_a_tool_stands_indented_below_its_call(visit: Visit) -> None:
    """Each depth is further to the right than the depth above, and the results come after the work."""
    names = visit.page.locator(".invocation .step .step-name").all_inner_texts()
    assert names == ["ask", "look", "read", "read", "look", "ask"]
    assert left(visit, "tool_call", "ask") < left(visit, "tool_call", "look") < left(visit, "tool_call", "read")
    assert left(visit, "tool_call", "ask") == left(visit, "tool_result", "ask")


def test_each_inner_step_names_its_agent(visit: Visit) -> None:
    """The steps of the outer agent do not, because the page names it above the invocation."""
    assert visit.page.locator(".invocation .step .tag").all_inner_texts() == ["asker", SHOWN, SHOWN, "asker"]
    assert visit.page.locator(".inner-steps .bubble .caption").all_inner_texts() == [SHOWN, "asker"]


def test_inner_texts_are_only_text(visit: Visit) -> None:
    """Also with every step unfolded."""
    for fold in visit.page.locator(".inner-steps .step > summary").all():
        fold.click()
    visit.page.locator(".inner-steps .step[open]").nth(3).wait_for()
    assert visit.page.locator("img[src=x]").count() == 0
    assert visit.errors == []


def test_inner_thoughts_are_hidden_and_counted_as_those_of_the_agent(visit: Visit) -> None:
    """A key shows all of them."""
    note = visit.page.locator(".invocation", has_text="2 thoughts")
    note.wait_for()
    assert visit.page.locator(".step.thought").count() == 0
    visit.page.keyboard.press("t")
    visit.page.locator(".inner-steps .step.thought").wait_for()
    assert visit.page.locator(".step.thought").count() == 2
    assert note.count() == 0


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_no_violation(browser: Any, address: str, width: int) -> None:
    """In both themes and all languages. A narrow page does not scroll sideways."""
    with opened(browser, viewport={"width": width, "height": 2000}, bypass_csp=True) as own:
        own.open(address + CASE, READY)
        assert own.page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_problems(own.page) == []


def test_agents_inside_of_30_tools_fit_on_a_narrow_page(browser: Any, tmp_path: Path) -> None:
    """The third depth is the last that is further to the right."""
    steps: tuple[Step, ...] = ()
    for depth in range(30, -1, -1):
        name = f"tool-{depth}"
        inner = Trace((Invocation(Message("go"), steps),)) if steps else None
        steps = (ToolCall(name), ToolResult(name, "a long result " * 20, inner=inner))
    with opened(browser, viewport={"width": 320, "height": 2000}) as own:
        own.open(write_page(tmp_path / "run.html", steps) + CASE, READY)
        edges = [step.bounding_box()["x"] for step in own.page.locator(".step.tool_call").all()]
        assert len(edges) == 31
        assert edges[:4] == sorted(set(edges))
        assert own.page.evaluate("document.documentElement.scrollWidth") <= 320
