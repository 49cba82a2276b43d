"""The page that compares runs with a base run: two or more, in a file and in the viewer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from browsing import opened, signed_in

from fairtrial.store import Store
from report_pages import run as report_run
from report_pages import write_comparison, write_comparisons
from viewers import fill, viewing

pytestmark = pytest.mark.browser

IDS = ("20261120-093000-aaaaaa", "20261121-093000-bbbbbb", "20261122-093000-cccccc")


def test_four_runs_stand_in_one_table(browser: Any, tmp_path: Path) -> None:
    """Each run has a column, and a link leads to its comparison with the base."""
    with opened(browser) as own:
        own.open(write_comparisons(tmp_path / "many.html") + "#page=compare", ".compare-all tbody a")
        heads = own.page.locator(".compare-all table").first.locator("th[scope=col]").all_inner_texts()
        assert [head[-6:] for head in heads[1:]] == ["aaaaaa", "bbbbbb", "cccccc", "dddddd"]
        own.page.locator(".compare-all .runs-line a", has_text="cccccc").click()
        own.page.locator(".runs-line [aria-current]", has_text="cccccc").wait_for()
        assert "cccccc" in own.page.locator("section > .runs-line").last.inner_text()
        assert "run=20261122-093000-cccccc" in own.page.url
        assert own.errors == []


def test_a_case_that_moved_leads_to_the_run_in_which_it_lost_most(browser: Any, tmp_path: Path) -> None:
    """The two conversations open below."""
    with opened(browser) as own:
        own.open(write_comparisons(tmp_path / "many.html") + "#page=compare", ".compare-all tbody a")
        name = own.page.locator(".compare-all tbody a").first
        case, target = name.inner_text(), str(name.get_attribute("href"))
        name.click()
        own.page.locator("#pair-title").wait_for()
        assert case in own.page.locator("#pair-title").inner_text()
        assert own.page.locator(".pane .half").count() >= 2
        run = parse_qs(target.removeprefix("#"))["run"][0]
        assert run in own.page.locator("section > .runs-line").last.inner_text()


def test_every_case_that_moved_is_listed_and_the_largest_losses_come_first(browser: Any, tmp_path: Path) -> None:
    """Cases that broke stand before all others, and cases that were fixed stand last."""
    with opened(browser) as own:
        own.open(write_comparison(tmp_path / "both.html") + "#page=compare", ".compared-cases li")
        kinds = own.page.locator(".compared-cases > li > .tag").all_inner_texts()
        counts = own.page.locator("#changed-title + .toolbar button").all_inner_texts()
        assert len(kinds) == sum(int(text.split()[-1]) for text in counts if not text.startswith("same"))
        assert kinds == sorted(kinds, key=lambda kind: kind.lower() != "broken")


def test_a_viewer_compares_all_chosen_runs(browser: Any, tmp_path: Path) -> None:
    """The oldest is the base. The link shows all of them again."""
    url = f"sqlite:///{tmp_path}/runs.db"
    with closing(Store(url)) as store:
        for seed, run_id in enumerate(IDS):
            fill(store, report_run(run_id, seed=seed))
    with viewing(url) as site, signed_in(browser, site) as window:
        boxes = window.page.locator(".run-choice input")
        boxes.first.wait_for()
        for place in range(3):
            boxes.nth(place).check()
        window.page.locator("a.button").click()
        window.page.locator(".compare-all tbody a").first.wait_for()
        heads = window.page.locator(".compare-all table").first.locator("th[scope=col]").all_inner_texts()
        assert heads[1:] == list(IDS)
        link = window.page.url
        window.page.goto("about:blank")
        window.page.goto(link)
        window.page.locator(".compare-all tbody a").first.wait_for()
        window.page.locator(".compare-all .runs-line a", has_text="bbbbbb").click()
        window.page.locator(".runs-line [aria-current]", has_text="bbbbbb").wait_for()
        assert window.page.locator(".compare-all table").first.locator("th[scope=col]").count() == 4
        assert window.errors == []
