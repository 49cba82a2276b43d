"""A browser for tests: the distribution's Chromium, in which each request but those to files is refused and counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairtrial.reports.html_summary import LANGUAGES
from viewers import Site

BLANK_ROWS = """() => {
  const grid = document.querySelector('[role=grid]').getBoundingClientRect();
  let blank = 0;
  for (let y = Math.max(grid.top, 60) + 8; y < Math.min(grid.bottom, innerHeight) - 8; y += 64) {
    if (!document.elementFromPoint(grid.left + 40, y)?.closest('[role=row]')) blank++;
  }
  return blank;
}"""
"""A script that counts the places in the list of cases where no row is drawn."""

HEIGHTS = {1280: 900, 320: 3000}
"""The heights of windows by their widths. A narrow page is long, and only rows that can be seen are drawn."""

CHROMIUM = Path(os.environ.get("FAIRTRIAL_CHROMIUM", "/usr/bin/chromium"))
AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def wait_in_window(place: Any) -> None:
    """Wait until a reader sees an element without scrolling; a page scrolls after it is drawn."""
    pytest.importorskip("playwright.sync_api").expect(place).to_be_in_viewport()


@contextmanager
def launched(*flags: str) -> Iterator[Any]:
    """Run a browser during the block."""
    sync_api = pytest.importorskip("playwright.sync_api")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*FLAGS, *root, *flags])
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page of a browser, with the requests and the errors since it was opened."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, address: str, ready: str = ".row .name") -> None:
        """Open an address, also if only its fragment is new, and wait until an element is there."""
        self.page.goto("about:blank")
        self.page.goto(address)
        self.page.locator(ready).first.wait_for()


@contextmanager
def opened(browser: Any, **options: Any) -> Iterator[Visit]:
    """Yield a page of a new context, with the options of a context."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-US", **options})
    visit = Visit(context.new_page())

    def refuse(route: Any) -> None:
        visit.requests.append(route.request.url)
        route.abort()

    def dismiss(dialog: Any) -> None:
        visit.errors.append(dialog.message)
        dialog.dismiss()

    context.route(lambda url: not url.startswith(("file:", "data:", "about:")), refuse)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    visit.page.on("dialog", dismiss)
    try:
        yield visit
    finally:
        context.close()


@dataclass
class Window:
    """A page of the browser on a viewer, with the requests to other servers and the errors."""

    page: Any
    site: Site
    requests: list[str]
    errors: list[str]

    def show(self, fragment: str, ready: str) -> None:
        """Open a fragment, and wait until an element is there."""
        self.page.goto("about:blank")
        self.page.goto(f"http://{self.site.host}/{fragment}")
        self.page.locator(ready).first.wait_for()


@contextmanager
def signed_in(browser: Any, site: Site, **options: Any) -> Iterator[Window]:
    """Yield a window that opened the printed address."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-US", **options})
    window = Window(context.new_page(), site, [], [])

    def refuse(route: Any) -> None:
        window.requests.append(route.request.url)
        route.abort()

    context.route(lambda url: not url.startswith((f"http://{site.host}/", "data:", "about:")), refuse)
    window.page.on("pageerror", lambda error: window.errors.append(str(error)))
    window.page.goto(f"{site.address}#page=runs")
    window.page.locator("h1").wait_for()
    try:
        yield window
    finally:
        context.close()


def wait_until_drawn(page: Any) -> None:
    """Wait for two frames, after which what a script changed is laid out and drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def unfold(page: Any) -> None:
    """Open everything that can be unfolded, also what is made when it is opened."""
    page.evaluate(_UNFOLD)


_UNFOLD = """async () => {
  for (let rounds = 0; rounds < 20; rounds++) {
    const closed = [...document.querySelectorAll('details:not([open])')];
    if (!closed.length) return;
    closed.forEach(entry => { entry.open = true; });
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  }
}"""


def axe_problems(page: Any, languages: Iterable[str] = LANGUAGES) -> list[tuple[object, ...]]:
    """Return the violations of WCAG 2.2 AA on a page, in both themes and five languages.

    A page that is wider than the window is a violation, too.
    """
    problems: list[tuple[object, ...]] = []
    unfold(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for language in languages:
        for theme in ("light", "dark"):
            page.locator(".options select").nth(0).select_option(language)
            page.locator(".options select").nth(1).select_option(theme)
            page.locator(f":root[lang='{language}'][data-theme='{theme}']").wait_for()
            found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
            problems += [(language, theme, own["id"], own["nodes"][0]["html"]) for own in found["violations"]]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append((language, theme, "wider than the window"))
    return problems


def seen(window: Window) -> list[object]:
    """Return the elements of a text, the effects, the requests and the errors that a page should not have."""
    foreign = ["iframe", "object", "embed", "base", "link", "#app img", "#app script", "#app form[action]"]
    script = "names => window.hit !== undefined || document.querySelector(names) !== null"
    hit: bool = window.page.evaluate(script, ", ".join(foreign))
    return [*(["a text came alive"] if hit else []), *window.errors, *window.requests]
