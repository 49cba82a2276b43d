"""The viewer works in a real browser: runs, comparison, a run that goes on, keys and hostile texts."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import HEIGHTS, axe_problems, launched, seen, signed_in
from msgspec.structs import replace

from fairtrial.store import Store
from finished import FinishedRun
from hostile_corpus import HOSTILE
from report_pages import run as report_run
from viewers import FIRST, SECOND, Site, fill, two_runs, viewing

FOLLOW = """([run, cases]) => {
  const address = (position) => `#page=case&run=${run}&case=${position}`;
  let next = 0;
  new MutationObserver(() => {
    const shown = document.querySelector('.case')?.dataset.position;
    if (shown === String(next) && next + 1 < cases) location.hash = address(++next);
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
  location.hash = address(next);
}"""
"""A script that opens each case of a run at the moment at which the case before it is drawn."""

pytestmark = pytest.mark.browser

EVIL = "evil.example"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for which a foreign name resolves to this machine."""
    with launched(f"--host-resolver-rules=MAP {EVIL} 127.0.0.1") as own:
        yield own


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A viewer of two runs."""
    with viewing(two_runs(tmp_path_factory.mktemp("store"))) as own:
        yield own


VIEWS = {
    "runs": ("#page=runs", ".run-link"),
    "run": (f"#run={FIRST}", ".row .name"),
    "case": (f"#page=case&run={FIRST}&case=4", ".case .invocation"),
    "setup": (f"#page=setup&run={FIRST}", ".setup-page"),
    "compare": (f"#page=compare&run={SECOND}&base={FIRST}&case=2", ".pane .invocation"),
}


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_no_violation(browser: Any, site: Site, width: int) -> None:
    """WCAG 2.2 AA: each page, both themes, five languages; and nothing is wider than the window."""
    with signed_in(browser, site, viewport={"width": width, "height": HEIGHTS[width]}, bypass_csp=True) as window:
        problems: list[object] = []
        for view, (fragment, ready) in VIEWS.items():
            window.show(fragment, ready)
            problems += [(view, *problem) for problem in axe_problems(window.page)]
        assert window.requests == window.errors == []
    assert problems == []


def test_everything_can_be_done_by_keys(browser: Any, site: Site) -> None:
    """Choose two runs, compare them, go back, open a run, a case, and come back to the runs."""
    with signed_in(browser, site) as window:
        page, press = window.page, window.page.keyboard.press
        page.locator(".run-link").nth(1).wait_for()
        press("j")
        page.locator(".run:nth-child(1) .run-link:focus").wait_for()
        press("j")
        page.locator(".run:nth-child(2) .run-link:focus").wait_for()
        press("Shift+Tab")
        press("Space")
        press("k")
        page.locator(".run:nth-child(1) .run-link:focus").wait_for()
        press("Shift+Tab")
        press("Space")
        page.locator(".button", has_text="Compare").wait_for()
        press("c")
        page.locator("#compare-title").wait_for()
        press("Escape")
        page.locator(".row .name").first.wait_for()
        press("Escape")
        page.locator(".run-link").first.wait_for()
        press("?")
        page.locator("dialog[open]").wait_for()
        press("Escape")
        page.locator("dialog").wait_for(state="detached")
        press("/")
        page.locator("#search:focus").wait_for()
        page.keyboard.type("aaaa")
        page.locator(".run-link").nth(1).wait_for(state="detached")
        press("Escape")
        press("j")
        page.locator(".run:nth-child(1) .run-link:focus").wait_for()
        press("Enter")
        page.locator(".row .name").first.wait_for()
        press("j")
        page.locator(".row[data-index='0']:focus").wait_for()
        press("Enter")
        page.locator(".case .invocation").first.wait_for()
        press("j")
        page.locator(".case:not([data-position='3'])").wait_for()
        press("Escape")
        page.locator(".row .name").first.wait_for()
        assert window.errors == window.requests == []


def test_a_link_shows_what_its_sender_saw(browser: Any, site: Site) -> None:
    """Filters and search of a run, and the search of runs."""
    with signed_in(browser, site) as window:
        window.show(f"#run={FIRST}&only=failed&q=get_order", ".row .name")
        assert window.page.input_value("#search") == "get_order"
        assert window.page.locator("button.toggle[aria-pressed=true]").count() == 1
        window.show("#page=runs&q=bbbb", ".run-link")
        assert window.page.input_value("#search") == "bbbb"
        window.page.locator(".run-link").nth(1).wait_for(state="detached")


def test_a_run_appears_case_by_case(browser: Any, tmp_path: Path) -> None:
    """Another process writes it; the page shows each result, the end, and what it needs if the process is killed."""
    own = report_run(FIRST, cases=50, attempts=1)
    unfinished = FinishedRun(
        replace(own.info, finished=None, config={"attempts": 1}), own.results, own.expectations, own.recorded
    )
    store = Store(f"sqlite:///{tmp_path}/live.db")
    fill(store, unfinished, results=0)
    with closing(store), viewing(store.url) as site, signed_in(browser, site) as window:
        page = window.page
        page.locator(".run", has_text="interrupted").wait_for()
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, store.url, FIRST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            tell(writer, "begin")
            page.locator(".run", has_text="running").wait_for()
            window.show(f"#run={FIRST}", ".progress")
            for number in (1, 2, 3, 30):
                tell(writer, str(number))
                page.locator(f"[role=grid][aria-rowcount='{number}']").wait_for()
                page.locator(".progress", has_text=f"{number} of 50 attempts").wait_for()
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            page.locator(".progress", has_text=f"fairtrial run --resume {FIRST}").wait_for()
        finally:
            writer.kill()
            writer.communicate()
        assert page.locator("[role=grid]").get_attribute("aria-rowcount") == "30"
        store.finish(own.info, own.summary)
        page.locator(".progress").wait_for(state="detached")
        assert window.errors == []


def tell(writer: Any, word: str) -> None:
    """Tell the writer what to do, and wait until it is done."""
    writer.stdin.write(f"{word}\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == "done\n"


WRITER = """
import sys
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.score import Score
from fairtrial.store import Store

store, run_id = Store(sys.argv[1]), sys.argv[2]
written = 0
with store.lease(run_id).hold():
    for word in sys.stdin:
        while word.strip().isdigit() and written < int(word):
            store.add_result(run_id, CaseResult(f"case_{written}", written, (Outcome("match", Score(0.0), 0.5),)))
            written += 1
        store.commit()
        print("done", flush=True)
"""


def test_a_viewer_that_ends_is_named(browser: Any, tmp_path: Path) -> None:
    """The page keeps what it shows."""
    url = two_runs(tmp_path, cases=3)
    with viewing(url) as site, signed_in(browser, site) as window:
        window.show(f"#run={FIRST}", ".row .name")
        site.end()
        window.page.locator("[role=alert]", has_text="The viewer does not answer").wait_for()
        assert window.page.locator(".row").count() == 3


def test_a_name_that_resolves_to_this_machine_is_refused(browser: Any, site: Site) -> None:
    """DNS rebinding: a page of another name reaches our port, and reads nothing, with the token or without."""
    context = browser.new_context()
    page = context.new_page()
    for path in ("/", f"/?token={site.token}", "/api/runs"):
        answer = page.goto(f"http://{EVIL}:{site.port}{path}")
        assert answer.status == 421
        assert FIRST not in page.content()
    assert context.cookies() == []
    context.close()


def test_a_page_of_another_origin_reads_nothing(browser: Any, site: Site) -> None:
    """It can send requests, without our cookie; it can neither read the answer nor frame the page."""
    with signed_in(browser, site) as window, viewing_something_else() as address:
        page = window.page.context.new_page()
        page.context.unroute_all()
        page.goto(address)
        read = page.evaluate(
            """async address => {
              try {
                return await (await fetch(address, {credentials: 'include'})).text();
              } catch {
                return 'refused';
              }
            }""",
            f"http://{site.host}/api/runs",
        )
        assert read == "refused"


@contextmanager
def viewing_something_else() -> Iterator[str]:
    """A page of another port of this machine."""
    import http.server
    import threading

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>x</title>")

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_a_link_holds_that_is_followed_while_another_case_opens(browser: Any, tmp_path: Path) -> None:
    """The page writes the name of an opened case into the address, but not over the address of the next case."""
    store = Store(f"sqlite:///{tmp_path}/runs.db")
    fill(store, report_run(FIRST, cases=12, attempts=1))
    store.close()
    with viewing(store.url) as site, signed_in(browser, site) as window:
        window.show(f"#run={FIRST}", ".row .name")
        window.page.evaluate(FOLLOW, [FIRST, 12])
        window.page.locator(".case[data-position='11']").wait_for()
        assert "case=11" in window.page.evaluate("location.hash")


def test_hostile_texts_are_only_text(browser: Any, tmp_path: Path) -> None:
    """In every field of a case and of a run: no script runs, no request leaves, no element comes of a text."""
    # The store holds UTF-8, which has no lone surrogates.
    hostile = [text or " " for text in HOSTILE if not any(0xD7FF < ord(letter) < 0xE000 for letter in text)]
    store = Store(f"sqlite:///{tmp_path}/hostile.db")
    for number, text in enumerate(hostile[:3]):
        own = report_run(f"run-{number}", hostile=[text], cases=2, attempts=1)
        config = {**own.info.config, "name": text, "tags": [text]}
        fill(store, replace_info(own, replace(own.info, config=config)))
    fill(store, report_run(FIRST, hostile=hostile, cases=len(hostile), attempts=1))
    store.close()
    problems: list[object] = []
    with viewing(store.url) as site, signed_in(browser, site) as window:
        page = window.page
        for fragment, ready in (("#page=runs", ".run-link"), (f"#run={FIRST}", ".row .name")):
            window.show(fragment, ready)
            problems += seen(window)
        for position in range(len(hostile)):
            page.evaluate(f"location.hash = '#page=case&run={FIRST}&case={position}'")
            page.locator(f".case[data-position='{position}']").wait_for()
            problems += seen(window)
    assert problems == []


def replace_info(own: FinishedRun, info: Any) -> FinishedRun:
    """A run with another manifest."""
    return FinishedRun(
        info, own.results, own.expectations, own.recorded, own.calibrations, own.ballots, own.replies, own.labels
    )
