"""The threshold of a criterion is a tick that a reader moves: its counts and its rate follow, and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from browsing import axe_problems, opened, signed_in
from msgspec.structs import replace

from fairtrial import api
from fairtrial.records.result import Outcome
from fairtrial.records.score import Score
from fairtrial.reports.html import write_pages
from fairtrial.store import Store
from finished import FinishedRun
from mode_runs import NOW, mode_run
from viewers import Site, fill, viewing

pytestmark = pytest.mark.browser

REACHED = {0.6: 31, 0.7: 21, 0.8: 11}
"""How many of 50 cases with the values 0.41, 0.42, ..., 0.90 have at least such a value."""


def graded_run() -> FinishedRun:
    """A run of 50 cases with the values 0.41, 0.42, ..., 0.90 on a criterion that needs 0.6."""
    own = mode_run(NOW)
    results = [
        replace(result, outcomes=(Outcome("response_match_score", Score((41 + result.position) / 100), 0.6),))
        for result in own.results
    ]
    return FinishedRun(own.info, results, own.expectations, own.recorded)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the run."""
    file = tmp_path_factory.mktemp("threshold") / "run.html"
    with file.open("wb") as stream:
        write_pages(stream, [graded_run()])
    return file.as_uri()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the run."""
    own = f"sqlite:///{tmp_path_factory.mktemp('threshold')}/runs.db"
    with closing(Store(own)) as store:
        fill(store, graded_run())
    return own


@pytest.fixture(scope="module")
def site(url: str) -> Iterator[Site]:
    """A viewer of the store."""
    with viewing(url) as own:
        yield own


def check_tick(page: Any) -> None:
    """Move the tick by keys and by the mouse, and back."""
    row = page.locator(".numbers tbody tr", has_text="response_match_score").first
    tick, tried = row.get_by_role("slider"), row.locator(".tried")
    stored = row.locator("td").first.inner_text()
    assert tick.get_attribute("aria-valuetext") == "≥ 0.60"
    assert tried.count() == 0
    tick.focus()
    for threshold in (0.7, 0.8):
        # A click of the page, unlike one of the mouse, waits until the tick stands still.
        tick.click(position={"x": 4 + 112 * (threshold + 0.03), "y": tick.bounding_box()["height"] / 2})
        row.locator(f"[aria-valuetext^='≥ {threshold}']").wait_for()
        while (at := float(tick.get_attribute("aria-valuetext").removeprefix("≥ "))) != threshold:
            page.keyboard.press("ArrowRight" if at < threshold else "ArrowLeft")
            row.locator(f"[aria-valuetext='≥ {at + (0.01 if at < threshold else -0.01):.2f}']").wait_for()
        text = f"With ≥ {threshold:.2f}, {REACHED[threshold]} of 50 cases would pass"
        tried.get_by_text(text).wait_for()
        assert f"{2 * REACHED[threshold]}" in tried.locator(".estimate b").inner_text()
    # Wilson's interval of 11 of 50.
    assert tried.locator(".ends").inner_text() == "13% … 35%"
    assert row.locator("td").first.inner_text() == stored
    tried.get_by_role("button").click()
    tried.wait_for(state="detached")
    assert tick.get_attribute("aria-valuetext") == "≥ 0.60"


def test_a_tick_moves_in_a_file(browser: Any, address: str) -> None:
    """Counts, rate and interval follow; the stored counts stay."""
    with opened(browser) as own:
        own.open(address)
        check_tick(own.page)
        assert own.errors == own.requests == []


def test_a_tick_in_the_viewer_stores_nothing(browser: Any, site: Site, url: str) -> None:
    """The verdicts in the store are the same before and after."""
    with closing(api.StoreViewer(url)) as viewer:
        before = api.encode_view(viewer.rows(NOW, range(50)))
    with signed_in(browser, site) as window:
        window.show(f"#run={NOW}", ".threshold")
        check_tick(window.page)
        assert window.errors == window.requests == []
    with closing(api.StoreViewer(url)) as viewer:
        assert api.encode_view(viewer.rows(NOW, range(50))) == before


def test_a_moved_tick_is_accessible(browser: Any, address: str) -> None:
    """WCAG 2.2 AA, in both themes and five languages."""
    with opened(browser, viewport={"width": 320, "height": 2000}, bypass_csp=True) as own:
        own.open(address)
        own.page.get_by_role("slider").focus()
        own.page.keyboard.press("ArrowRight")
        own.page.locator(".tried").wait_for()
        assert axe_problems(own.page) == []
