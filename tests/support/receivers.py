"""A receiver on a free port of this machine, for tests. It scores in a thread of its own."""

from __future__ import annotations

import gzip
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from fairtrial import api
from fairtrial.records.result import CaseResult
from fairtrial.view.connection_limits import ConnectionLimits
from fairtrial.view.receiver import ReceiverApp
from fairtrial.view.server_thread import serve
from plans import with_records
from short_ticks import short_ticks

PATIENCE = 20


@dataclass
class Receiving:
    """A running receiver: its URL, and the results as they come."""

    url: str
    receiver: api.Receiver
    results: queue.Queue[CaseResult]
    runs: list[api.Run] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    @property
    def run(self) -> api.Run:
        """The run after the receiver ended."""
        if self.errors:
            raise self.errors[0]
        return self.runs[0]

    def send(self, document: Any, *, path: str = "/v1/traces", status: int = 200, **headers: str) -> httpx2.Response:
        """Send a document of OTLP as JSON, and expect a status."""
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        named = {"content-type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        if named.get("content-encoding") == "gzip" and not content.startswith(b"\x1f\x8b"):
            content = gzip.compress(content)
        response = httpx2.post(f"{self.url}{path}", content=content, headers=named)
        assert response.status_code == status, response.text
        return response

    def post(self, body: bytes, content_type: str) -> int:
        """Send a body to the spans, and return the status of the answer."""
        return httpx2.post(f"{self.url}/v1/traces", content=body, headers={"content-type": content_type}).status_code

    def end(self, name: str, status: int = 202) -> None:
        """End a conversation."""
        response = httpx2.post(f"{self.url}/v1/conversations/{name}/end")
        assert response.status_code == status, response.text

    def result(self) -> CaseResult:
        """Wait for the next result."""
        return self.results.get(timeout=PATIENCE)


@contextmanager
def receiving(
    folder: Path,
    *arguments: Any,
    token: str = "",
    forward: Any = None,
    is_new: bool = False,
    limits: ConnectionLimits | None = None,
    **options: Any,
) -> Iterator[Receiving]:
    """Run a receiver with a store in a folder during the block. Options are those of `plan_receive`."""
    plan = api.plan_receive(*arguments, **with_records(options))
    receiver = api.open_receiver(plan, f"sqlite:///{folder}/store.db", is_new=is_new)
    with short_ticks(), serve(ReceiverApp(receiver, token, forward).build(), "127.0.0.1", 0, limits) as url:
        running = Receiving(url, receiver, queue.Queue())

        def score() -> None:
            try:
                running.runs.append(receiver.score(running.results.put))
            except BaseException as error:
                running.errors.append(error)
                raise

        thread = threading.Thread(target=score)
        thread.start()
        try:
            yield running
        finally:
            receiver.stop()
            thread.join(PATIENCE)
            assert not thread.is_alive()
