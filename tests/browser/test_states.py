"""The states of a page that a reader makes: no violation of WCAG 2.2 AA in any of them, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from browsing import AXE, HEIGHTS, axe_problems, opened

from judged_pages import write_judged
from report_pages import write_run

pytestmark = pytest.mark.browser

CASE, READY = "#page=case&case=0", ".case .invocation"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A page of 12 cases, and the page of a judged case."""
    folder = tmp_path_factory.mktemp("states")
    return {"run": write_run(folder / "run.html"), "judged": write_judged(folder / "judged.html", turns=3) + CASE}


def help_opened(page: Any) -> None:
    """The keys, in a dialog."""
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()


def plain_text(page: Any) -> None:
    """Markdown as it was written."""
    page.keyboard.press("m")


def moved_to_a_step(page: Any) -> None:
    """The next case that did not pass, after the expectation and thoughts were hidden."""
    for key in "etx":
        page.keyboard.press(key)


def grouped(page: Any) -> None:
    """Cases by their verdict, downwards."""
    page.locator(".arrangement select").select_option("verdict")
    page.get_by_role("button", name="Group", exact=True).click()
    page.locator(".group-name").first.wait_for()


def columns_chosen(page: Any) -> None:
    """The menu of columns is open."""
    page.locator(".columns-menu > summary").click()
    page.get_by_role("checkbox", name="response_match_score").uncheck()


def nothing_found(page: Any) -> None:
    """A search without a result."""
    page.locator("#search").fill("zzzz no such text")
    page.locator("[role=grid][aria-rowcount='0']").wait_for()


def only_failed(page: Any) -> None:
    """A filter is on, and a row has the focus."""
    page.keyboard.press("f")
    page.keyboard.press("j")


STATES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "judged": ("judged", lambda _: None),
    "plain text": ("judged", plain_text),
    "hidden": ("judged", moved_to_a_step),
    "help": ("run", help_opened),
    "grouped": ("run", grouped),
    "columns": ("run", columns_chosen),
    "nothing": ("run", nothing_found),
    "failed": ("run", only_failed),
}


WIDTHS = [(name, width) for name in STATES for width in (1280, 320) if (name, width) != ("columns", 320)]
"""A narrow page has no columns, and no menu of them."""


@pytest.mark.parametrize(("name", "width"), WIDTHS)
def test_axe_finds_no_violation_in_a_state(browser: Any, files: dict[str, str], name: str, width: int) -> None:
    """In both themes, in the language with the longest and in that with the widest letters."""
    file, make = STATES[name]
    with opened(browser, viewport={"width": width, "height": HEIGHTS[width]}, bypass_csp=True) as own:
        own.open(files[file], READY if file == "judged" else ".row .name")
        make(own.page)
        if name == "help":  # the rest of the page cannot be reached behind a dialog
            own.page.evaluate(AXE.read_text("utf-8"))
            found = own.page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']})")
            assert [entry["id"] for entry in found["violations"]] == []
        else:
            assert axe_problems(own.page, ("en", "ja")) == []
        assert own.errors == own.requests == []
