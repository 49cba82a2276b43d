"""The page of a series of runs: no violation of WCAG, no page wider than a phone, links and keys, and paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import AXE, HEIGHTS, opened, signed_in

from fairtrial.api import history, history_html
from fairtrial.reports.html_summary import LANGUAGES
from fairtrial.text.languages import speaking
from graded_runs import graded_run
from viewers import Site, viewing

pytestmark = pytest.mark.browser

SCROLLED = """new Promise(done => {
  const own = document.querySelector('.scroll');
  if (own.scrollLeft > 0) done(true);
  own.addEventListener('scroll', () => done(own.scrollLeft > 0), { once: true });
})"""
RUNS, BROKEN = 12, 6
"""The cases pass in the first runs, and half of them are broken since the sixth."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a series of runs that has a step."""
    url = f"sqlite:///{tmp_path_factory.mktemp('series')}/runs.db"
    for number in range(1, RUNS + 1):
        values = {f"case_{case}_with_a_long_name": [float(number < BROKEN or case % 2), 1.0] for case in range(40)}
        graded_run(values, store=url)
    return url


@pytest.fixture(scope="module")
def site(store: str) -> Iterator[Site]:
    """A viewer of the store."""
    with viewing(store) as own:
        yield own


def written(store: str, folder: Path, language: str) -> str:
    """The address of the page as a file."""
    path = folder / f"{language}.html"
    with speaking(language):
        path.write_text(history_html(history(store=store)), encoding="utf-8")
    return path.as_uri()


def violations(page: Any) -> list[str]:
    """What axe finds, and whether the page is wider than the window."""
    page.evaluate(AXE.read_text("utf-8"))
    tags = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']"
    found = page.evaluate(f"axe.run({{runOnly: {tags}}})")
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [f"{own['id']}: {own['nodes'][0]['html'][:200]}" for own in found["violations"]] + [
        "wider than the window"
    ] * wide


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing(browser: Any, store: str, tmp_path: Path, language: str, width: int, theme: str) -> None:
    """In each language and theme, wide and narrow, and it asks for nothing."""
    window = {"width": width, "height": HEIGHTS[width]}
    with opened(browser, viewport=window, color_scheme=theme, bypass_csp=True) as own:
        own.open(written(store, tmp_path, language), "svg.series")
        assert violations(own.page) == []
        assert own.page.locator("html").get_attribute("lang") == language
        assert own.errors == own.requests == []


def test_the_list_of_runs_leads_to_the_page_and_back(browser: Any, site: Site) -> None:
    """In the reader's language and theme. A run of the series is a link to its page."""
    with signed_in(browser, site, color_scheme="light") as window:
        page = window.page
        page.locator(".options select").nth(0).select_option("ko")
        page.locator(".options select").nth(1).select_option("dark")
        page.locator(".run a[href^='/history/']").first.click()
        page.locator("svg.series").wait_for()
        root = page.locator("html")
        assert (root.get_attribute("lang"), root.get_attribute("data-theme")) == ("ko", "dark")
        assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") == "rgb(21, 23, 27)"
        page.locator("tr[id^='run-'] a").first.click()
        page.locator(".row .name").first.wait_for()
        page.locator(".bar a[href^='/history/']").click()
        page.locator("svg.series").wait_for()
        page.locator("nav a").click()
        page.locator(".run-link").first.wait_for()
        assert window.errors == window.requests == []


def test_keys_reach_every_link_and_scroll_the_map(browser: Any, store: str, tmp_path: Path) -> None:
    """A wide map scrolls by arrow keys, and each link can be seen when it has the focus."""
    with opened(browser, viewport={"width": 320, "height": 700}) as own:
        own.open(written(store, tmp_path, "en"), "svg.series")
        page = own.page
        regions, reached = page.locator(".scroll").count(), set()
        links = page.locator("a").count()
        for _ in range(regions + links):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("[...document.querySelectorAll('a, .scroll')].indexOf(document.activeElement)"))
        assert reached == set(range(regions + links))
        chart = page.locator(".scroll").first
        chart.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate(SCROLLED)


def test_paper_gets_the_whole_series(browser: Any, store: str, tmp_path: Path) -> None:
    """Every case and every run, in dark letters."""
    pdfium = pytest.importorskip("pypdfium2")
    with opened(browser, color_scheme="dark") as own:
        own.open(written(store, tmp_path, "en"), "svg.series")
        document = pdfium.PdfDocument(own.page.pdf(format="A4"))
        text = "".join(sheet.get_textpage().get_text_bounded() for sheet in document)
        pixels = document[0].render(scale=2).to_pil().convert("RGB")
        document.close()
    assert all(f"case_{case}_with" in text for case in range(40))
    assert min(max(color) for _, color in pixels.getcolors(pixels.width * pixels.height)) < 64
