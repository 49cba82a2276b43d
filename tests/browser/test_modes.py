"""Failure modes in a browser: the section of a run, the filter, the example, and the decisive step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, axe_problems, opened, signed_in, wait_in_window

from fairtrial.reports.html import write_pages
from fairtrial.store import Store
from graded_runs import Value, graded_run
from mode_runs import BASE, EXTRA, NOW, mode_run
from viewers import Site, fill, viewing

pytestmark = pytest.mark.browser

NAME = f"{EXTRA} is called and was not expected"


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """A page of its own."""
    with opened(browser) as own:
        yield own


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with two modes."""
    file = tmp_path_factory.mktemp("modes") / "run.html"
    with file.open("wb") as stream:
        write_pages(stream, [mode_run(NOW, extra=EXTRA)])
    return file.as_uri()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A viewer of a run and its base run."""
    url = f"sqlite:///{tmp_path_factory.mktemp('modes')}/runs.db"
    store = Store(url)
    fill(store, mode_run(BASE))
    fill(store, mode_run(NOW, extra=EXTRA))
    store.close()
    with viewing(url) as own:
        yield own


def check_modes(page: Any) -> None:
    """A mode filters the cases, and its example opens at the decisive step."""
    page.locator(".modes tbody tr").nth(1).wait_for()
    first = page.locator(".modes tbody tr").first
    assert NAME in first.inner_text()
    assert [cell.split("\n")[0] for cell in first.locator("td").all_inner_texts()][2:] == ["9", "9"]
    first.locator("a").first.click()
    page.locator("[role=grid][aria-rowcount='9']").wait_for()
    assert "mode=1" in page.url
    page.locator(".modes tbody tr").first.locator("a").nth(1).click()
    page.locator(".conversation .decisive").wait_for()
    assert EXTRA in page.locator(".conversation .decisive").inner_text()
    assert "invocation 1, step 3" in page.locator(".decisive-note").inner_text()
    assert "step=1.3" in page.url
    wait_in_window(page.locator(".conversation .decisive"))


def test_a_page_lists_its_modes(visit: Visit, address: str) -> None:
    """In a file."""
    visit.open(address)
    check_modes(visit.page)
    assert visit.errors == visit.requests == []


def test_a_page_begins_with_what_failed_most(visit: Visit, address: str) -> None:
    """Nine of 14 failures have one mode, and without it nine of the 14 failed cases pass."""
    visit.open(address)
    lead = visit.page.locator("#main > *").first
    assert lead.inner_text() == (
        f"Most failures: {NAME}, in 9 of 14 failed attempts (64%). Without it, 9 of 14 failed cases would pass."
    )
    lead.locator("a").click()
    visit.page.locator("[role=grid][aria-rowcount='9']").wait_for()


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ("pff", "has failed since"),
        ("ppf", "did not fail in the run before."),
        ("pxx", "has been flaky since"),
        ("f", ""),
    ],
)
def test_a_viewer_says_since_when_a_case_fails(browser: Any, tmp_path: Path, runs: str, sentence: str) -> None:
    """And names the run. Of a single run, nothing is known."""
    url = f"sqlite:///{tmp_path}/runs.db"
    values: dict[str, list[Value]] = {"p": [1.0], "f": [0.0], "x": [0.0, 1.0]}
    ids = [graded_run({"good": [1.0], "refund": values[own], "cancel": values[own]}, store=url).info.id for own in runs]
    with viewing(url) as site, signed_in(browser, site) as window:
        window.show(f"#run={ids[-1]}", ".lead")
        lead = window.page.locator(".lead").inner_text()
        assert sentence in lead
        assert ("since" in sentence) is (ids[1 % len(ids)] in lead)
        assert axe_problems(window.page) == []


def test_a_viewer_lists_the_modes_of_a_run(browser: Any, site: Site) -> None:
    """As a file does."""
    with signed_in(browser, site) as window:
        window.show(f"#run={NOW}", ".modes")
        check_modes(window.page)
        assert window.errors == window.requests == []


def test_a_viewer_says_which_mode_is_new(browser: Any, site: Site) -> None:
    """If another run stands beside it."""
    with signed_in(browser, site) as window:
        window.show(f"#run={NOW}&base={BASE}", ".modes .tag")
        assert window.page.locator(".modes tbody tr", has=window.page.locator(".tag")).count() == 1
        assert "new" in window.page.locator(".modes tbody tr").first.inner_text()


def test_a_link_to_a_step_is_a_deep_link(visit: Visit, address: str) -> None:
    """A step that is unfolded and in the window, also if it is not the decisive one."""
    visit.open(f"{address}#page=case&case=12&step=1.2", "[data-step='1.2'] details[open]")
    wait_in_window(visit.page.locator("[data-step='1.2'] details"))


def test_the_section_is_accessible(browser: Any, address: str) -> None:
    """WCAG 2.2 AA, in both themes and five languages, at 320 and 1280 pixels."""
    for width in (1280, 320):
        for fragment, ready in (("", ".modes"), ("#page=case&case=12", ".decisive")):
            with opened(browser, viewport={"width": width, "height": 2000}, bypass_csp=True) as own:
                own.open(address + fragment, ready)
                assert axe_problems(own.page) == []


def test_a_hostile_mode_is_only_text(browser: Any, tmp_path: Path) -> None:
    """The name of a tool is part of the name of a mode."""
    file = tmp_path / "run.html"
    with file.open("wb") as stream:
        write_pages(stream, [mode_run(NOW, extra="<img src=x onerror=hit=1>\u202e", name="<b>case</b>")])
    with opened(browser) as own:
        own.open(file.as_uri(), ".modes tbody tr")
        assert own.page.evaluate("window.hit === undefined && !document.querySelector('.modes img')")
        assert "\u202e" not in own.page.locator(".modes").inner_text()
        own.page.locator(".modes tbody tr a").nth(1).click()
        own.page.locator(".conversation .decisive").wait_for()
        assert own.page.evaluate("window.hit === undefined")
        assert own.errors == own.requests == []
