"""A browser for tests: the distribution's Chromium, in which each request but those to files is refused and counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BLANK_ROWS = """() => {
  const grid = document.querySelector('[role=grid]').getBoundingClientRect();
  let blank = 0;
  for (let y = Math.max(grid.top, 60) + 8; y < Math.min(grid.bottom, innerHeight) - 8; y += 64) {
    if (!document.elementFromPoint(grid.left + 40, y)?.closest('[role=row]')) blank++;
  }
  return blank;
}"""
"""A script that counts the places in the list of cases where no row is drawn."""

CHROMIUM = Path(os.environ.get("FAIRTRIAL_CHROMIUM", "/usr/bin/chromium"))
AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Visit:
    """A page of a browser, with the requests and the errors since it was opened."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, address: str, ready: str = "[role=row] .name") -> None:
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
