"""The viewer gives items to people and takes their labels, from its own page only."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fairtrial.store import Store
from report_pages import run as report_run
from schema_checks import check_shape
from viewers import FIRST, Answer, Site, fill, viewing

QUEUES = f"/api/runs/{FIRST}/queues"
ANN = {"labeler": "ann", "window": "window-a1"}
WANTED = {"criterion": "final_response_quality", "sample": 8}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with a run that nobody has labelled."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as own:
        fill(own, dataclasses.replace(report_run(FIRST, cases=8), labels=[]))
        yield own


@pytest.fixture
def site(store: Store) -> Iterator[Site]:
    """A viewer into which the browser of the user has signed in."""
    with viewing(store.url) as own:
        own.sign_in()
        yield own


def post(site: Site, path: str, body: object, method: str = "POST") -> Answer:
    """Send what the page sends."""
    return site.request(method, path, body=json.dumps(body).encode())


def sent(site: Site, path: str, body: object, method: str = "POST") -> Any:
    """Send it, and return the answer as JSON."""
    answer = post(site, path, body, method)
    assert answer.status == 200, answer.body
    return answer.json


def valid(name: str, value: object) -> None:
    """Check a value by the schema of the view model."""
    check_shape(value, name)


def make_label(item: dict[str, Any], **more: object) -> dict[str, object]:
    """The body of a label."""
    return {**ANN, "number": item["number"], "copy": item["copy"], "value": 1.0, "seconds": 2.5, **more}


def test_a_queue_is_drawn_labelled_and_released(site: Site, store: Store) -> None:
    """Everything has the shape that the schema describes."""
    queue = sent(site, QUEUES, WANTED)
    valid("QueueView", queue)
    claimed = sent(site, f"{QUEUES}/1/items", ANN)
    valid("ClaimedItems", claimed)
    label = make_label(claimed["items"][0])
    valid("LabelRequest", label)
    progress = sent(site, f"{QUEUES}/1/labels", label)
    valid("LabelProgressView", progress)
    assert (progress["done"], progress["mine"], progress["total"], len(store.labels(FIRST))) == (1, 1, 8, 1)
    assert sent(site, f"{QUEUES}/1/window", ANN) is None
    assert sent(site, f"{QUEUES}/1/window", ANN, "DELETE") is None
    assert all(not item.holder or item.done for item in store.label_queues(FIRST).items(1))
    labels = site.get(f"/api/runs/{FIRST}/labels")
    valid("LabelsView", labels)
    assert labels["queues"][0]["progress"]["done"] == 1
    agreement = site.get(f"/api/runs/{FIRST}/agreement")
    valid("AgreementView", agreement)
    assert agreement["judges"][0]["labels"] == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": None}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"X-Fairtrial-Token": None}, 403),
        ({"X-Fairtrial-Token": "old"}, 403),
        ({"Cookie": None}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Host": "evil.example"}, 421),
    ],
    ids=str,
)
def test_a_label_from_elsewhere_is_not_stored(
    site: Site, store: Store, headers: dict[str, str | None], status: int
) -> None:
    """The same request from the page itself is stored."""
    sent(site, QUEUES, WANTED)
    item = sent(site, f"{QUEUES}/1/items", ANN)["items"][0]
    body = json.dumps(make_label(item)).encode()
    assert site.request("POST", f"{QUEUES}/1/labels", headers, body).status == status
    assert site.request("DELETE", f"{QUEUES}/1/window", headers, json.dumps(ANN).encode()).status == status
    assert store.labels(FIRST) == []
    assert site.request("POST", f"{QUEUES}/1/labels", None, body).status == 200
    assert len(store.labels(FIRST)) == 1


def test_a_body_that_is_too_long_is_refused(site: Site, store: Store) -> None:
    """With a length and in chunks."""
    sent(site, QUEUES, WANTED)
    item = sent(site, f"{QUEUES}/1/items", ANN)["items"][0]
    path = f"{QUEUES}/1/labels"
    assert post(site, path, make_label(item, note="x" * (1 << 20))).status == 413
    chunk = b"%x\r\n%s\r\n" % (1 << 19, b"x" * (1 << 19))
    assert site.request("POST", path, {"Transfer-Encoding": "chunked"}, 3 * chunk + b"0\r\n\r\n").status == 413
    assert store.labels(FIRST) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        ({"value": 0.5}, 404, "value: must be null or 0 or 1, got 0.5"),
        ({"value": "1"}, 400, "the body must be a LabelRequest"),
        ({"seconds": -1}, 404, "seconds: must be a number from 0"),
        ({"note": "x" * 20_001}, 404, "note: must have at most 20000 characters"),
        ({"side": "moon"}, 400, "the body must be a LabelRequest"),
        ({"extra": 1}, 400, "the body must be a LabelRequest"),
        ({"number": 99}, 404, "queue 1 has no item 99"),
        ({"window": "window-b1"}, 409, "another window has this item"),
        ({"labeler": "\x00"}, 404, "labeler: must be a name"),
        ({"window": "' OR 1=1"}, 404, "window: must be 8 to 64 letters"),
    ],
    ids=str,
)
def test_a_label_that_makes_no_sense_is_not_stored(
    site: Site, store: Store, change: dict[str, object], status: int, problem: str
) -> None:
    """The answer says why."""
    sent(site, QUEUES, WANTED)
    item = sent(site, f"{QUEUES}/1/items", ANN)["items"][0]
    answer = post(site, f"{QUEUES}/1/labels", make_label(item, **change))
    assert answer.status == status
    assert problem in answer.json["problem"]
    assert store.labels(FIRST) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"labeler": 1}', b"\xff", b'{"labeler": "ann"}'])
def test_a_body_that_is_not_a_request_is_refused(site: Site, body: bytes) -> None:
    """With the status that says so."""
    sent(site, QUEUES, WANTED)
    assert site.request("POST", f"{QUEUES}/1/items", None, body).status == 400


@pytest.mark.parametrize("queue", ["0", "7", "99999999999999999999", "-1", "x"])
def test_a_queue_that_does_not_exist_is_not_found(site: Site, queue: str) -> None:
    """Its number is looked up."""
    assert post(site, f"{QUEUES}/{queue}/items", ANN).status == 404
