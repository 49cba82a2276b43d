"""People write notes on failures and sort them on a board, in real browsers, also two at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browsing import Window, axe_problems, signed_in

from fairtrial.api import QueueRequest, StoreViewer
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.reports.views.board_shapes import BoardRequest, NoteRequest
from fairtrial.store import Store
from mode_runs import EXTRA, NEW, NOW, mode_run
from viewers import Site, fill, viewing

pytestmark = pytest.mark.browser

FOUND = f"{EXTRA} is called and was not expected"
BOARD = f"#page=board&run={NOW}"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A viewer of a run with two modes: nine failures and five."""
    url = f"sqlite:///{tmp_path}/runs.db"
    store = Store(url)
    fill(store, mode_run(NOW, extra=EXTRA))
    store.close()
    with viewing(url) as own:
        yield own


@pytest.fixture
def window(browser: Any, site: Site) -> Iterator[Window]:
    """The window of ann."""
    with signed_in(browser, site) as own:
        own.page.evaluate("localStorage.setItem('fairtrial.labeler', 'ann')")
        yield own


def totals(tmp_path: Path) -> dict[str, int]:
    """What the store knows of the board."""
    viewer = StoreViewer(f"sqlite:///{tmp_path}/runs.db")
    view = viewer.board.view(NOW)
    viewer.close()
    return {own.name: own.total for own in view.columns if own.total}


def column(page: Any, name: str) -> Any:
    """The column of a mode."""
    return page.locator(".board-column", has=page.locator("h2", has_text=name))


def test_a_note_is_written_with_one_key(window: Window, tmp_path: Path) -> None:
    """And a click marks the decisive step, which the page then shows with the name of the person."""
    page = window.page
    window.show(f"#page=case&run={NOW}&case={NEW[0]}", ".note-form, .case .invocation")
    page.keyboard.press("n")
    page.locator(".note-form textarea:focus").wait_for()
    page.keyboard.type("wrong date\nIt took the first of May.")
    page.locator(".note-form button[type=submit]").click()
    page.locator(".labels", has_text="wrong date").wait_for()
    page.locator("[data-step='1.1'] .mark-step").click()
    page.locator("[data-step='1.1'] .tag", has_text="ann").wait_for()
    assert totals(tmp_path)["wrong date"] == 1
    assert window.errors == window.requests == []


def test_cards_are_moved_by_keys(window: Window, tmp_path: Path) -> None:
    """Arrows find a failure, the space bar selects it, and the number of a mode moves it."""
    page, press = window.page, window.page.keyboard.press
    window.show(BOARD, ".card")
    page.locator("#main").focus()
    press("ArrowDown")
    press("Space")
    press("ArrowDown")
    press("Space")
    page.locator(".toolbar button", has_text="Move 2").wait_for()
    press("2")
    column(page, "get_reservation is not called").locator(".muted", has_text="2 of 7").first.wait_for()
    page.locator("#main").focus()
    press("ArrowDown")
    press("0")
    column(page, "Not a failure").locator(".card").wait_for()
    assert totals(tmp_path) == {FOUND: 6, "get_reservation is not called": 7, "not a failure": 1}
    assert window.errors == []


def test_cards_are_dragged(window: Window, tmp_path: Path) -> None:
    """From one mode to another."""
    window.show(BOARD, ".card")
    card = column(window.page, FOUND).locator(".card").first
    card.drag_to(column(window.page, "get_reservation is not called").locator("h2"))
    column(window.page, "get_reservation is not called").locator(".muted", has_text="1 of 6").first.wait_for()
    assert totals(tmp_path)[FOUND] == 8


def test_modes_are_renamed_merged_split_and_added(window: Window, tmp_path: Path) -> None:
    """Each by its button."""
    page = window.page
    window.show(BOARD, ".card")
    own = column(page, FOUND)
    own.locator(".card input").first.check()
    page.fill("#new-mode", "wrong date")
    page.locator(".toolbar button", has_text="Split off 1").click()
    column(page, "wrong date").locator(".card").wait_for()
    page.fill("#new-mode", "forgets the baggage")
    page.locator(".toolbar button", has_text="Add the mode").click()
    column(page, "forgets the baggage").wait_for()
    own.locator("button", has_text="Rename").click()
    page.locator(".board-column form input").fill("changes flights")
    page.locator(".board-column form button").click()
    column(page, "changes flights").locator(".card").first.wait_for()
    column(page, "wrong date").locator("button", has_text="Rename").click()
    page.locator(".board-column form input").fill("changes flights")
    page.locator(".board-column form button").click()
    column(page, "wrong date").wait_for(state="detached")
    assert totals(tmp_path) == {"changes flights": 9, "get_reservation is not called": 5}
    assert window.errors == window.requests == []


def test_two_people_work_at_once(browser: Any, site: Site, window: Window, tmp_path: Path) -> None:
    """The second change of a mode is refused, the page says so, and the board shows the first."""
    window.show(BOARD, ".card")
    with signed_in(browser, site) as other:
        other.page.evaluate("localStorage.setItem('fairtrial.labeler', 'ben')")
        other.page.route("**/board/events", lambda _: None)  # news that are still on their way
        other.show(BOARD, ".card")
        window.page.fill("#new-mode", "by ann")
        window.page.locator(".toolbar button", has_text="Add the mode").click()
        column(window.page, "by ann").wait_for()
        other.page.fill("#new-mode", "by ben")
        other.page.locator(".toolbar button", has_text="Add the mode").click()
        other.page.locator("[role=alert]", has_text="Somebody else").wait_for()
        column(other.page, "by ann").wait_for()
        for own, name in ((window, "ann's name"), (other, "ben's name")):
            column(own.page, FOUND).locator(".card input").first.check()
            own.page.fill("#new-mode", name)
            own.page.locator(".toolbar button", has_text="Split off 1").click()
            column(own.page, name).locator(".card").wait_for()
    viewer = StoreViewer(f"sqlite:///{tmp_path}/runs.db")
    view = viewer.board.view(NOW)
    viewer.close()
    assert view.people.labelers == ["ann", "ben"]
    assert view.read in (1, 2)


def test_the_board_follows_changes_of_others(window: Window, tmp_path: Path) -> None:
    """A note of another process moves a card on the open page, and what the person was writing stays."""
    window.show(BOARD, ".card")
    window.page.fill("#new-mode", "half a na")
    viewer = StoreViewer(f"sqlite:///{tmp_path}/runs.db")
    viewer.board.note(NOW, NoteRequest("ben", [(NEW[0], 1)], name="wrong date"))
    column(window.page, "wrong date").locator(".card").wait_for()
    viewer.board.change(NOW, BoardRequest("ben", 0, "rename", "wrong date", "takes another day"))
    viewer.close()
    column(window.page, "takes another day").locator(".card").wait_for()
    assert window.page.input_value("#new-mode") == "half a na"
    assert window.errors == window.requests == []


def test_a_large_board_draws_few_elements(browser: Any, tmp_path: Path) -> None:
    """200 failures in 30 modes of people, and 200 in one mode, also if it is opened."""
    url = f"sqlite:///{tmp_path}/large.db"
    store = Store(url)
    fill(store, mode_run(NOW, extra=EXTRA, failures=200))
    store.close()
    with viewing(url) as site, signed_in(browser, site) as window:
        count = "document.querySelectorAll('*').length"
        window.show(BOARD, ".card")
        window.page.locator(".board-column button", has_text="more").click()
        window.page.locator(".card").nth(45).wait_for()
        assert window.page.evaluate(count) < 2000
        viewer = StoreViewer(url)
        for number in range(30):
            attempts = [(position, 1) for position in range(200) if position % 30 == number]
            viewer.board.note(NOW, NoteRequest("ann", attempts, name=f"mode {number}"))
        viewer.close()
        window.show(BOARD, ".card")
        window.page.locator(".board-column").nth(20).wait_for()
        window.page.locator("[role=status]", has_text="smaller modes are not shown").wait_for()
        assert window.page.evaluate(count) < 2000


def test_all_failures_of_a_mode_can_be_reached(browser: Any, tmp_path: Path) -> None:
    """A column shows 50 of 120 failures, then all. A box leaves all 60 of a queue. The page of labels links here."""
    url = f"sqlite:///{tmp_path}/large.db"
    with closing(Store(url)) as store:
        fill(store, mode_run(NOW, extra=EXTRA, failures=120))
        LabelDesk(store).open(NOW, QueueRequest("", by="failures", sample=60))
    with viewing(url) as own, signed_in(browser, own) as window:
        window.show(f"#page=labels&run={NOW}", ".board-link")
        window.page.locator("a.board-link").click()
        more = column(window.page, FOUND).locator("button", has_text="more")
        more.click()
        window.page.locator("[data-card]").nth(49).wait_for()
        more.click()
        window.page.locator("[data-card]").nth(119).wait_for()
        assert more.count() == 0
        window.page.locator("#queue-only").check()
        column(window.page, FOUND).locator(".muted", has_text="0 of 60").first.wait_for()
        window.page.locator("[data-card]").nth(60).wait_for(state="detached")
        assert window.page.locator("[data-card]").count() == 60
        assert window.errors == window.requests == []


def test_the_board_is_accessible(browser: Any, site: Site) -> None:
    """WCAG 2.2 AA, in both themes and five languages."""
    for width in (1280, 320):
        with signed_in(browser, site, viewport={"width": width, "height": 1200}, bypass_csp=True) as own:
            own.show(BOARD, ".card")
            assert axe_problems(own.page) == []
            own.show(f"#page=case&run={NOW}&case={NEW[0]}", ".case .invocation")
            own.page.keyboard.press("n")
            own.page.locator(".note-form").wait_for()
            assert axe_problems(own.page) == []


def test_hostile_notes_are_only_text(window: Window, site: Site) -> None:
    """A name of a mode, a note and a person's name."""
    text = "<img src=x onerror=hit=1>\u202e"
    site.sign_in()
    window.show(BOARD, ".card")
    column(window.page, FOUND).locator(".card input").first.check()
    window.page.fill("#new-mode", text)
    window.page.locator(".toolbar button", has_text="Split off 1").click()
    column(window.page, "onerror").locator(".card").wait_for()
    assert window.page.evaluate("window.hit === undefined && !document.querySelector('.board img')")
    assert "\u202e" not in window.page.locator(".board").inner_text()
    assert window.errors == window.requests == []


def test_the_board_of_a_queue_shows_what_was_drawn(browser: Any, tmp_path: Path) -> None:
    """Of fourteen failures, a box leaves the six of the queue, and a note counts as one of them."""
    url = f"sqlite:///{tmp_path}/runs.db"
    with closing(Store(url)) as store:
        fill(store, mode_run(NOW, extra=EXTRA))
        LabelDesk(store).open(NOW, QueueRequest("", by="failures", sample=6))
    with viewing(url) as own, signed_in(browser, own) as window:
        page = window.page
        page.evaluate("localStorage.setItem('fairtrial.labeler', 'ann')")
        window.show(BOARD, ".board-column")
        assert page.locator("[data-card]").count() == 14
        page.locator("#queue-only").check()
        page.locator("label", has_text="Only the 6 failures of the queue, 0 of them read").wait_for()
        page.locator("[data-card]").nth(6).wait_for(state="detached")
        assert page.locator("[data-card]").count() == 6
        page.locator("[data-card] input").first.check()
        page.keyboard.press("1")
        page.locator("label", has_text="1 of them read").wait_for()
        assert axe_problems(page) == []
        assert window.errors == window.requests == []
