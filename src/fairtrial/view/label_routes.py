"""The requests of people who label. They are the only requests of a viewer that write to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.records.decoding import json_decoder

T = TypeVar("T")


class BadRequestError(UsageError):
    """The body of a request has another shape than the page sends."""


class LabelRoutes:
    """The requests about queues, items and labels."""

    def __init__(self, viewer: api.StoreViewer) -> None:
        self._viewer = viewer

    def routes(self) -> list[Route]:
        """Return the routes."""
        queue = "/api/runs/{run}/queues/{queue:int}"
        return [
            Route("/api/runs/{run}/labels", self.labels),
            Route("/api/runs/{run}/agreement", self.agreement),
            Route("/api/runs/{run}/queues", self.open, methods=["POST"]),
            Route(f"{queue}/items", self.claim, methods=["POST"]),
            Route(f"{queue}/labels", self.answer, methods=["POST"]),
            Route(f"{queue}/window", self.hold, methods=["POST"]),
            Route(f"{queue}/window", self.release, methods=["DELETE"]),
        ]

    def labels(self, request: Request) -> Response:
        """Return the criteria of a run that people can label, and its queues."""
        return send_json(self._viewer.labels.labels(request.path_params["run"]))

    def agreement(self, request: Request) -> Response:
        """Return how far people agree with each other and with the judges."""
        return send_json(self._viewer.agreement(request.path_params["run"]))

    async def open(self, request: Request) -> Response:
        """Draw a queue, or find it."""
        wanted = await read_body(request, api.QueueRequest)
        return await _send_answer(self._viewer.labels.open, request.path_params["run"], wanted)

    async def claim(self, request: Request) -> Response:
        """Give items to a window."""
        window = await read_body(request, api.WindowRequest)
        return await _send_answer(self._viewer.labels.claim, *_queue(request), window)

    async def answer(self, request: Request) -> Response:
        """Store a label."""
        label = await read_body(request, api.LabelRequest)
        return await _send_answer(self._viewer.labels.answer, *_queue(request), label)

    async def hold(self, request: Request) -> Response:
        """Keep the items of a window that is open."""
        window = await read_body(request, api.WindowRequest)
        return await _send_answer(self._viewer.labels.hold, *_queue(request), window)

    async def release(self, request: Request) -> Response:
        """Give back the items of a window that closes."""
        window = await read_body(request, api.WindowRequest)
        return await _send_answer(self._viewer.labels.release, *_queue(request), window)


async def read_body(request: Request, kind: type[T]) -> T:
    """Return the body of a request. Raises BadRequestError if it has another shape."""
    try:
        return json_decoder(kind).decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body must be a {kind.__name__}: {error}") from None


def _queue(request: Request) -> tuple[str, int]:
    return request.path_params["run"], min(request.path_params["queue"], api.MOST_QUEUES)


async def _send_answer(call: Callable[..., Any], *arguments: Any) -> Response:
    return send_json(await run_in_threadpool(call, *arguments))


def send_json(view: Any) -> Response:
    """Return a view as a response."""
    return Response(api.encode_view(view), media_type="application/json")
