"""Paper gets what the page shows: every case that was found, every turn of a case, the folds that are open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import opened, signed_in

from judged_pages import write_judged
from report_pages import write_run
from viewers import FIRST, two_runs, viewing

pytestmark = pytest.mark.browser

CASES = 200
CASE, READY = "#page=case&case=0", ".case .invocation"
NAME = re.compile(r"case_\d+")
HEAD = re.compile("Verdict ?Case")
"""The first columns of the grid of cases."""
DARK = 64
"""The most of 255 that a letter has in each colour. Dark themes have letters of more than 200."""


@contextmanager
def printed(page: Any) -> Iterator[list[Any]]:
    """The sheets of a page, as Chromium writes them to PDF."""
    pdfium = pytest.importorskip("pypdfium2")
    document = pdfium.PdfDocument(page.pdf(format="A4"))
    try:
        yield list(document)
    finally:
        document.close()


def read_texts(page: Any) -> list[str]:
    """The text of each sheet. PDF has no lines, so that line breaks are left out."""
    with printed(page) as sheets:
        return [sheet.get_textpage().get_text_bounded().replace("\r\n", "") for sheet in sheets]


def darkest(page: Any) -> int:
    """The lightest colour of the darkest pixel on the first sheet."""
    with printed(page) as sheets:
        pixels = sheets[0].render(scale=2).to_pil().convert("RGB")
        return int(min(max(color) for _, color in pixels.getcolors(pixels.width * pixels.height)))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with more cases than a window draws."""
    return write_run(tmp_path_factory.mktemp("printed") / "run.html", cases=CASES)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a judged case of 12 turns."""
    return write_judged(tmp_path_factory.mktemp("printed") / "judged.html", 12) + CASE


@pytest.mark.parametrize("width", [1280, 390])
def test_every_case_that_was_found_is_on_paper(browser: Any, run: str, width: int) -> None:
    """Also from a narrow window, whose list has another form. Rows stay whole: each name has its attempts beside it."""
    with opened(browser, viewport={"width": width, "height": 900}) as own:
        own.open(run)
        sheets = read_texts(own.page)
    listed = HEAD.split("".join(sheets))[1]
    names = NAME.findall(listed)
    assert len(names) == len(set(names)) == CASES
    assert 5 < len(sheets) < 15
    for sheet in sheets[2:]:
        assert len(NAME.findall(sheet)) == len(re.findall(r"\d/2\b", sheet))


def test_a_search_is_printed_as_it_was_found(browser: Any, run: str) -> None:
    """Cases that were not found are not on paper."""
    with opened(browser) as own:
        own.open(f"{run}#q=case_17")
        own.page.locator("[role=grid][aria-rowcount='11']").wait_for()
        listed = HEAD.split("".join(read_texts(own.page)))[1]
    assert set(NAME.findall(listed)) == {"case_17", *(f"case_17{digit}" for digit in range(10))}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_letters_are_dark_in_every_theme(browser: Any, run: str, judged: str, theme: str) -> None:
    """The theme of the system, and that which the reader chose."""
    with opened(browser, color_scheme=theme) as own:
        for address, ready in ((run, ".row .name"), (judged, READY)):
            own.open(address, ready)
            assert darkest(own.page) < DARK
            own.page.locator(".options select").nth(1).select_option(theme)
            assert darkest(own.page) < DARK


def test_every_turn_of_a_case_is_on_paper(browser: Any, judged: str) -> None:
    """Not only those in the window."""
    with opened(browser) as own:
        own.open(judged, READY)
        sheets = read_texts(own.page)
    text = "".join(sheets)
    assert len(sheets) > 2
    assert re.findall(r"Refund order (A-\d+), please", text) == [f"A-{turn}" for turn in range(12)]


def test_folds_are_printed_as_they_stand(browser: Any, judged: str) -> None:
    """A fold that is closed prints its line, and a fold that was opened prints what is in it."""
    with opened(browser) as own:
        own.open(judged, READY)
        closed = "".join(read_texts(own.page))
        own.page.locator(".outcome:not([open]) > summary").first.click()
        own.page.locator(".outcome[open]").nth(1).locator(".part").first.wait_for()
        name = own.page.locator(".outcome[open]").nth(1).locator(".part-name").first.inner_text()
        unfolded = "".join(read_texts(own.page))
    assert len(unfolded) > len(closed)
    assert unfolded.count(name) > closed.count(name)


@pytest.mark.parametrize("page", ["run", "judged"])
def test_no_control_is_on_paper(browser: Any, request: pytest.FixtureRequest, page: str) -> None:
    """Switches, choices, menus and keys. The headings of the grid are content, although they sort."""
    with opened(browser) as own:
        own.open(request.getfixturevalue(page), ".row .name" if page == "run" else READY)
        own.page.emulate_media(media="print")
        seen = "own => own.filter(entry => entry.checkVisibility() && !entry.closest('.grid-head, .votes'))"
        controls = own.page.eval_on_selector_all("input, select, [aria-pressed], .toolbar, .menu, nav a, kbd", seen)
        assert controls == []
        text = "".join(read_texts(own.page))
    assert not any(word in text for word in ("Search", "Sort by", "Thoughts", "Time line", "Columns", "Copy", "Help"))


def test_a_viewer_reads_all_rows_before_it_prints(browser: Any, tmp_path: Path) -> None:
    """The key of the printer waits for the rows of the server."""
    with viewing(two_runs(tmp_path, cases=CASES)) as site, signed_in(browser, site) as window:
        window.show(f"#run={FIRST}", ".row .name")
        window.page.evaluate("() => { window.print = () => { document.body.dataset.printed = 'yes'; }; }")
        window.page.keyboard.press("Control+p")
        window.page.locator("body[data-printed]").wait_for()
        listed = HEAD.split("".join(read_texts(window.page)))[1]
        assert len(set(NAME.findall(listed))) == CASES
        assert window.errors == window.requests == []
