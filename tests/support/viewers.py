"""A viewer on a real socket of this machine, and stores for it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairtrial.store import Store
from fairtrial.view.viewer_server import ViewerOptions, open_viewer
from finished import FinishedRun
from report_pages import run as report_run
from short_ticks import short_ticks

FIRST, SECOND = "20261120-093000-aaaaaa", "20261121-093000-bbbbbb"


def fill(store: Store, own: FinishedRun, *, results: int | None = None) -> None:
    """Store a run: all of it, or a run that is not finished with its first results."""
    run_id = own.info.id
    store.begin(own.info)
    store.add_cases(run_id, own.expectations)
    for position, recording in own.recorded:
        store.add_recording(run_id, position, recording)
    for result in list(own.results)[:results]:
        store.add_result(run_id, result)
    for key, ballot in own.ballots.items():
        store.ballots(run_id)[key] = ballot
    for label in own.labels:
        store.add_label(run_id, label)
    if results is None:
        store.finish(own.info, own.summary)
    store.commit()


def two_runs(folder: Path, **options: Any) -> str:
    """Return the address of a store with two runs that have the same cases."""
    url = f"sqlite:///{folder}/runs.db"
    store = Store(url)
    for number, run_id in enumerate((FIRST, SECOND), 1):
        fill(store, report_run(run_id, seed=number, **options))
    store.close()
    return url


@dataclass(frozen=True)
class Answer:
    """An answer of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Site:
    """A viewer that runs. `address` is the address that the user opens."""

    address: str
    cookie: str = field(default="", repr=False)
    write_token: str = field(default="", repr=False)
    end: Callable[[], None] = lambda: None

    @property
    def host(self) -> str:
        """The name and the port."""
        return urlsplit(self.address).netloc

    @property
    def port(self) -> int:
        """The port."""
        return int(self.host.rpartition(":")[2])

    @property
    def token(self) -> str:
        """The token in the address."""
        return urlsplit(self.address).query.removeprefix("token=")

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str | None] | None = None,
        body: bytes | None = None,
        *,
        to: str = "127.0.0.1",
    ) -> Answer:
        """Send a request as the browser of the user does, with other headers. A header that is None is left out."""
        own: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        if method not in ("GET", "HEAD"):
            own |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/json",
                "Sec-Fetch-Site": "same-origin",
                "X-Fairtrial-Token": self.write_token,
            }
        own |= dict(headers or {})
        if body is not None and "Content-Length" not in own and "Transfer-Encoding" not in own:
            own["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items() if value is not None)]
        with socket.create_connection((to, self.port), timeout=30) as connection:
            # One piece, so that no body is on its way when the server answers and closes: that would be a reset.
            with suppress(ConnectionError):
                connection.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            return Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        answer = self.request("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def sign_in(self) -> None:
        """Open the printed address as a browser does, and keep the cookie and the token of the page."""
        answer = self.request("GET", f"/?token={self.token}")
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        page = self.request("GET", "/").body.decode()
        self.write_token = page.partition('name="fairtrial-token" content="')[2].partition('"')[0]


@contextmanager
def viewing(store: str, **options: Any) -> Iterator[Site]:
    """Run a viewer during the block."""
    with short_ticks(), open_viewer(store, ViewerOptions(**options)) as (server, sockets, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, daemon=True)
        thread.start()

        def end() -> None:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()

        try:
            yield Site(address, end=end)
        finally:
            end()
