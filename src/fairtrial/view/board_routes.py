"""The requests of the board on which people sort failures. They write to the store, as those about labels do."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairtrial import api
from fairtrial.view.label_routes import read_body, send_json


class BoardRoutes:
    """The requests about notes and boards."""

    def __init__(self, viewer: api.StoreViewer) -> None:
        self._board = viewer.board

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/runs/{run}/board", self.board),
            Route("/api/runs/{run}/board", self.change, methods=["POST"]),
            Route("/api/runs/{run}/notes", self.note, methods=["POST"]),
        ]

    def board(self, request: Request) -> Response:
        """Return the board of a run."""
        return self._send(request)

    async def change(self, request: Request) -> Response:
        """Add, rename or merge modes, and return the board."""
        wanted = await read_body(request, api.BoardRequest)
        run = request.path_params["run"]
        await run_in_threadpool(self._board.change, run, wanted)
        return await run_in_threadpool(self._send, request)

    async def note(self, request: Request) -> Response:
        """Store notes on failures, and return the board."""
        note = await read_body(request, api.NoteRequest)
        run = request.path_params["run"]
        await run_in_threadpool(self._board.note, run, note)
        return await run_in_threadpool(self._send, request)

    def _send(self, request: Request) -> Response:
        """Return the board, with as many cards of a column as the page asks for."""
        cards = request.query_params.get("cards", "")
        most = int(cards) if cards.isascii() and cards.isdigit() and len(cards) < 10 else None
        queued_only = request.query_params.get("only") == "queued"
        return send_json(self._board.view(request.path_params["run"], cards=most, queued_only=queued_only))
