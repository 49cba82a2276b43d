"""Notes and boards are written from the page of the viewer only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairtrial.store import Store
from mode_runs import EXTRA, NEW, NOW, mode_run
from schema_checks import check_shape
from viewers import Answer, Site, fill, viewing

BOARD, NOTES = f"/api/runs/{NOW}/board", f"/api/runs/{NOW}/notes"
NOTE = {"labeler": "ann", "attempts": [[NEW[0], 1]], "name": "wrong date"}
ADD = {"labeler": "ann", "seen": 0, "action": "add", "name": "wrong date"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A viewer of a run with failures, into which the browser of the user has signed in."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, mode_run(NOW, extra=EXTRA))
    with viewing(f"sqlite:///{tmp_path}/runs.db") as own:
        own.sign_in()
        yield own


def post(site: Site, path: str, body: object, **headers: str | None) -> Answer:
    """Send what the page sends, with other headers."""
    return site.request("POST", path, headers, json.dumps(body).encode())


def test_answers_have_the_shape_of_the_schema(site: Site) -> None:
    """A note and a change are answered with the board."""
    check_shape(site.get(BOARD), "BoardView")
    for path, body in ((NOTES, NOTE), (BOARD, ADD)):
        answer = post(site, path, body)
        assert answer.status == 200, answer.body
        check_shape(answer.json, "BoardView")
    assert site.get(BOARD)["read"] == 1


@pytest.mark.parametrize(("query", "cards"), [("?cards=2", 2), ("?cards=9", 9), ("?cards=x", 9), ("?only=queued", 0)])
def test_a_page_asks_for_cards(site: Site, query: str, cards: int) -> None:
    """At most so many of a column, also in the answer to a note. Without a queue, none was drawn."""
    answers = site.get(BOARD + query), post(site, NOTES + query, NOTE).json
    assert [max(len(own["cards"]) for own in answer["columns"]) for answer in answers] == [cards, min(cards, 8)]


@pytest.mark.long
@pytest.mark.parametrize("path", [BOARD, NOTES])
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("X-Fairtrial-Token", None, 403),
        ("X-Fairtrial-Token", "guess", 403),
        ("Origin", None, 403),
        ("Origin", "http://evil.example", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Content-Type", "text/plain", 415),
        ("Cookie", None, 403),
        ("Host", "evil.example", 421),
    ],
)
def test_nobody_else_writes(site: Site, path: str, header: str, value: str | None, status: int) -> None:
    """Neither another page of the browser, nor a program without the token of the page."""
    assert post(site, path, NOTE if path == NOTES else ADD, **{header: value}).status == status
    assert site.get(BOARD)["read"] == site.get(BOARD)["seen"] == 0


def test_a_change_of_an_old_board_is_a_conflict(site: Site) -> None:
    """With a status of its own, so that the page reads the board again."""
    assert post(site, BOARD, ADD).status == 200
    assert post(site, BOARD, {**ADD, "name": "another"}).status == 409
    assert site.get(BOARD)["seen"] == 1


@pytest.mark.parametrize("body", [[], {}, {**NOTE, "more": 1}, {**NOTE, "attempts": [["a", 1]]}, {**NOTE, "name": 1}])
def test_a_body_of_another_shape_is_refused(site: Site, body: object) -> None:
    """With the reason."""
    assert post(site, NOTES, body).status == 400


def test_a_board_of_no_run_is_not_found(site: Site) -> None:
    """Nor is a note on a case that did not fail stored."""
    assert site.request("GET", "/api/runs/nobody/board").status == 404
    assert post(site, NOTES, {**NOTE, "attempts": [[49, 1]]}).status == 404
