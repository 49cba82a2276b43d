"""The grid of cases: a column for each criterion, sorted and grouped by any column, in a file and in the viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, opened

from report_pages import write_run

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    """The list of a run of 12 cases."""
    with opened(browser, viewport={"width": 1280, "height": 3000}) as own:
        own.open(write_run(tmp_path / "run.html"))
        yield own


def column(own: Visit, name: str) -> list[str]:
    """The cells of a column from top to bottom."""
    heads = own.page.locator("[role=columnheader]").all_inner_texts()
    place = next(index for index, head in enumerate(heads) if name in head.replace("\n", ""))
    script = """place => [...document.querySelectorAll('.row')].sort((a, b) => a.dataset.index - b.dataset.index)
      .map(row => row.children[place].innerText)"""
    return list(own.page.evaluate(script, place))


def test_each_criterion_has_a_column_with_its_values(visit: Visit) -> None:
    """The same numbers as on the page of the case."""
    assert len(column(visit, "response_match_score")) == 12
    assert set(column(visit, "response_match_score")) == {"0.60"}
    visit.page.locator(".row", has_text="case_5").first.click()
    visit.page.locator(".case").wait_for()
    assert "0.60" in visit.page.locator(".outcome", has_text="response_match_score").inner_text()


def test_a_click_on_a_column_sorts_and_a_second_one_turns_the_order(visit: Visit) -> None:
    """Cases without a value come last."""
    head = visit.page.locator("[role=columnheader] button", has_text="tool_trajectory")
    head.click()
    visit.page.locator("[aria-sort=ascending]").wait_for()
    up = [float(text) for text in column(visit, "tool_trajectory") if text != "–"]
    assert up == sorted(up)
    head.click()
    visit.page.locator("[aria-sort=descending]").wait_for()
    values = column(visit, "tool_trajectory")
    down = [float(text) for text in values if text != "–"]
    assert down == sorted(up, reverse=True)
    assert values[: len(down)] == [text for text in values if text != "–"]
    assert "sort=-c.tool_trajectory_avg_score" in visit.page.url


def test_cases_are_grouped_by_the_sorted_column(visit: Visit) -> None:
    """Each group names its value and its number of cases."""
    visit.page.locator(".arrangement select").select_option("verdict")
    visit.page.get_by_role("button", name="Group", exact=True).click()
    visit.page.locator(".group-name").first.wait_for()
    groups = [text.split(" · ") for text in visit.page.locator(".group-name").all_inner_texts()]
    assert sum(int(count.split()[0]) for _, count in groups) == 12
    assert len({name for name, _ in groups}) == len(groups)


def test_a_column_can_be_hidden(visit: Visit) -> None:
    """And stays so when the page is opened again."""
    visit.page.locator(".columns-menu > summary").click()
    visit.page.get_by_role("checkbox", name="response_match_score").uncheck()
    visit.page.locator("[role=columnheader]", has_text="response_match").wait_for(state="detached")
    visit.open(visit.page.url)
    assert visit.page.locator("[role=columnheader]", has_text="response_match").count() == 0


def test_the_printer_gets_every_case_that_was_found(browser: Any, tmp_path: Path) -> None:
    """Not only those in the window."""
    with opened(browser) as own:
        own.open(write_run(tmp_path / "many.html", cases=100, attempts=1))
        assert own.page.locator(".row").count() < 60
        own.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        own.page.locator(".row[data-index='99']").wait_for()
        assert own.page.locator(".row").count() == 100
