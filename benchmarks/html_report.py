"""How large and how fast is the HTML report of 10,000 attempts, beside the report of 200?

    python benchmarks/html_report.py DIALOGUES [--attempts 10000] [--folder FOLDER]

DIALOGUES are recordings, for example results of tau-bench. They are repeated with their words in another order, so that
compression cannot find them again. The pages are opened in Chromium, and everything is measured in one run.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
sys.path.append(str(Path(__file__).parent.parent / "tests" / "browser"))

from browsing import BLANK_ROWS
from repeated_run import RepeatedRun

from fairtrial import api
from fairtrial.reports.html import write_pages

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def measure(page: Page, file: Path) -> dict[str, float]:
    """Open a page, and measure what a reader waits for, in milliseconds."""
    client = page.context.new_cdp_session(page)
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("[role=row] .name")
    usable = page.evaluate("performance.now()")
    page.wait_for_load_state("load")
    found: dict[str, float] = {"usable": usable}
    found["paint"] = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    # The first search reads all texts. The next searches are those that a reader waits for while typing.
    page.fill("#search", "reservation")
    page.wait_for_timeout(5000)
    found["search"] = max(_search(page, text) for text in ("baggage", "zzzzqk", "the flight", "user_id"))
    page.fill("#search", "")
    page.locator("[role=row]").nth(9).wait_for()
    found["open"] = max(_open(page, index) for index in (2, 5, 9))
    found["elements"] = 0.0
    height = page.evaluate("document.body.scrollHeight")
    blank = 0
    for step in range(61):
        page.evaluate(f"window.scrollTo(0, {height} * {step} / 60)")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        blank += page.evaluate(BLANK_ROWS)
        found["elements"] = max(found["elements"], page.evaluate("document.querySelectorAll('*').length"))
    found["blank rows"] = blank
    page.evaluate("window.scrollTo(0, 0)")
    client.send("HeapProfiler.collectGarbage")
    found["heap MB"] = client.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return found


def _search(page: Page, text: str) -> float:
    """Return the milliseconds from the end of the pause after typing until the list is drawn."""
    return float(
        page.evaluate(
            """text => new Promise(done => {
              const input = document.getElementById('search');
              const status = document.querySelector('[role=status]');
              let start = 0;
              const observer = new MutationObserver(() => {
                if (!/[0-9]/.test(status.textContent)) { start ||= performance.now(); return; }
                observer.disconnect();
                requestAnimationFrame(() => done(performance.now() - (start || performance.now())));
              });
              observer.observe(status, {childList: true, characterData: true, subtree: true});
              input.value = text;
              input.dispatchEvent(new InputEvent('input', {bubbles: true}));
            })""",
            text,
        )
    )


def _open(page: Page, index: int) -> float:
    taken = page.evaluate(
        """index => new Promise(done => {
          const start = performance.now();
          document.querySelectorAll('[role=row]')[index].click();
          const look = () => document.querySelector('.case .invocation') ? done(performance.now() - start)
            : requestAnimationFrame(look);
          look();
        })""",
        index,
    )
    page.evaluate("history.back()")
    page.locator("[role=row]").nth(9).wait_for()
    return float(taken)


def main() -> None:
    """Write both pages, measure them, and print the numbers with their limits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dialogues")
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--read-again", action="store_true", help="measure pages that an earlier call wrote")
    arguments = parser.parse_args()
    dialogues = list(api.load_recordings(arguments.dialogues))
    files = [arguments.folder / f"report_{n}.html" for n in (200, arguments.attempts)]
    for file, attempts in zip(files, (200, arguments.attempts), strict=True):
        if arguments.read_again and file.exists():
            continue
        start = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with file.open("wb") as stream:
            write_pages(stream, [RepeatedRun(dialogues, attempts)], traces="all")
        seconds = time.perf_counter() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = file.stat().st_size
        print(
            f"{attempts} attempts: {size / attempts:,.0f} B each, {size / 1e6:.1f} MB, {seconds:.1f} s, +{grown:.0f} MB"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        numbers = [measure(browser.new_page(viewport={"width": 1280, "height": 900}), file) for file in files]
        browser.close()
    for name in numbers[0]:
        few, many = (entry[name] for entry in numbers)
        ratio = f"  {many / few:.1f} times" if few else ""
        print(f"{name:>12} {few:>8,.0f} {many:>8,.0f}{ratio}")


if __name__ == "__main__":
    sys.exit(main())
