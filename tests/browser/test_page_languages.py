"""No page in another language holds an English sentence of this package. Texts of users and agents stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, opened, unfold

from fairtrial.reports.html import write_pages
from fairtrial.text.languages import LANGUAGES
from judged_pages import write_judged
from mode_runs import EXTRA, NOW, mode_run
from report_pages import write_comparison, write_run

pytestmark = pytest.mark.browser

READY = ".case .invocation, .case .callout"
PAGES = {
    "run": ("run", "", ".row .name"),
    "setup": ("run", "#page=setup", ".setup-page"),
    "case": ("run", "#page=case&case=1", READY),
    "error": ("run", "#page=case&case=3", READY),
    "judged case": ("judged", "#page=case&case=0", READY),
    "comparison": ("both", "#page=compare", ".compared-cases li"),
    "case in two runs": ("both", "#page=compare&case=2", ".pane .invocation"),
    "modes": ("modes", "", ".modes"),
    "call that nobody expects": ("modes", "#page=case&case=12", ".decisive"),
    "call that is missing": ("modes", "#page=case&case=1", ".callout, .invocation"),
}
FOREIGN = {"the day differs", "calls differ"}
"""The reasons that the criteria of the runs give, which are not of this package."""
SENTENCES = """() => {
  const content = '.foreign:not(.reason, .warning, .note), pre, code, script, [class^=md-], .limb-steps';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    if (walker.currentNode.parentElement.closest(content)) continue;
    if (/[A-Za-z]{2,}[ ,:;]+[a-z]{2,}/.test(text)) found.push(text);
  }
  return [...new Set(found)];
}"""
"""A script that finds two words of English or more, outside of what users, agents and judges wrote."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the pages."""
    folder = tmp_path_factory.mktemp("languages")
    with (folder / "modes.html").open("wb") as stream:
        write_pages(stream, [mode_run(NOW, extra=EXTRA)])
    return {
        "run": write_run(folder / "run.html"),
        "judged": write_judged(folder / "judged.html", turns=2),
        "both": write_comparison(folder / "both.html"),
        "modes": Path(folder / "modes.html").as_uri(),
    }


@pytest.fixture(scope="module")
def visit(browser: Any) -> Iterator[Visit]:
    """One window for all pages."""
    with opened(browser) as own:
        yield own


@pytest.mark.parametrize("page", PAGES)
def test_every_sentence_is_translated(visit: Visit, files: dict[str, str], page: str) -> None:
    """With everything unfolded. In English the page has such sentences, so that the test can fail."""
    file, fragment, ready = PAGES[page]
    visit.open(files[file] + fragment, ready)
    unfold(visit.page)
    found: dict[str, list[str]] = {}
    for language in LANGUAGES:
        visit.page.locator(".options select").nth(0).select_option(language)
        visit.page.locator(f":root[lang='{language}']").wait_for()
        unfold(visit.page)
        found[language] = [text for text in visit.page.evaluate(SENTENCES) if text not in FOREIGN]
    assert found.pop("en")
    assert found == {language: [] for language in LANGUAGES if language != "en"}
