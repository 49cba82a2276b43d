"""The pages and the requests of the viewer. Every request is answered from the store."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Hashable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from fairtrial import api
from fairtrial.errors import FairtrialError, StoreError, UsageError
from fairtrial.text.display import visible_line
from fairtrial.text.languages import ENGLISH, LANGUAGES, speaking
from fairtrial.view.board_routes import BoardRoutes
from fairtrial.view.label_routes import BadRequestError, LabelRoutes, send_json

_PAUSE = 0.25
"""Seconds between two looks at the store while a page is open."""
_REST = 5
"""The pause is at least five times as long as a look."""
_SILENCE = 15.0
"""Seconds after which a page is told that the server is still there."""
_FLAGS = ("failed", "flaky", "changed", "labelled", "invalid")
_STORE_ADDRESS = re.compile(r"^the store .* failed: ")


class ViewerApp:
    """The requests to a viewer of a store."""

    def __init__(self, viewer: api.StoreViewer, *, write_token: str, language: str = "") -> None:
        self._viewer = viewer
        self._page = api.viewer_page(write_token, language)
        self._language = language

    def build(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/", self.page),
            Route("/history/{run}", self.history),
            Route("/api/runs", self.runs),
            Route("/api/runs/events", self.runs_events),
            Route("/api/runs/{run}", self.open),
            Route("/api/runs/{run}/events", self.run_events),
            Route("/api/runs/{run}/board/events", self.board_events),
            Route("/api/runs/{run}/cases", self.cases),
            Route("/api/runs/{run}/rows", self.rows),
            Route("/api/runs/{run}/modes", self.modes),
            Route("/api/runs/{run}/cases/{position:int}/{attempt:int}", self.attempt),
            Route("/download/{run}/{report}", self.download),
            *LabelRoutes(self._viewer).routes(),
            *BoardRoutes(self._viewer).routes(),
        ]
        handlers = {FairtrialError: _problem}
        return Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]

    def page(self, request: Request) -> Response:  # noqa: ARG002
        """Return the page, which is the same for all addresses."""
        return Response(self._page, media_type="text/html; charset=utf-8")

    def history(self, request: Request) -> Response:
        """Return the page of the series of a run, in the language and the theme that the reader chose."""
        wanted, theme = request.query_params.get("lang"), request.query_params.get("theme")
        with speaking(wanted if wanted in LANGUAGES else self._language or ENGLISH):
            series = api.history(request.path_params["run"], store=self._viewer.url)
            page = api.history_html(
                series, "/", "dark" if theme == "dark" else "light" if theme == "light" else "system"
            )
        return Response(page.encode("utf-8", "backslashreplace"), media_type="text/html; charset=utf-8")

    def runs(self, request: Request) -> Response:
        """Return a page of the list of runs."""
        values = request.query_params
        return send_json(self._viewer.runs(text=values.get("q", ""), before=values.get("before", "")))

    def open(self, request: Request) -> Response:
        """Return a run, or a base run and other runs with their comparisons."""
        values = request.query_params
        also = [own for own in values.get("also", "").split(",") if own]
        return send_json(self._viewer.open(request.path_params["run"], values.get("base", ""), also))

    def cases(self, request: Request) -> Response:
        """Return the positions of the cases that a query finds."""
        values = request.query_params
        flags = tuple(flag for flag in _FLAGS if flag in values.get("only", "").split(","))
        query = api.CaseQuery(
            values.get("verdict", ""),
            values.get("criterion", ""),
            values.get("side", ""),
            values.get("tool", ""),
            flags,  # type: ignore[arg-type]
            values.get("q", ""),
            values.get("mode", ""),
            values.get("sort", ""),
            values.get("group") == "yes",
        )
        return send_json(
            self._viewer.find_cases(request.path_params["run"], query, values.get("base", ""), values.get("window", ""))
        )

    def modes(self, request: Request) -> Response:
        """Return the failure modes of a run, or null."""
        return send_json(self._viewer.modes(request.path_params["run"], request.query_params.get("base", "")))

    def rows(self, request: Request) -> Response:
        """Return the rows of the cases at some positions."""
        words = request.query_params.get("at", "").split(",")
        positions = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 10]
        return send_json(self._viewer.rows(request.path_params["run"], positions))

    def attempt(self, request: Request) -> Response:
        """Return everything about an attempt."""
        values = request.path_params
        return send_json(self._viewer.attempt(values["run"], values["position"], values["attempt"]))

    async def runs_events(self, request: Request) -> Response:  # noqa: ARG002
        """Tell a page when the list of runs looks different."""
        return _events(self._viewer.runs_state, lambda: b"{}")

    async def run_events(self, request: Request) -> Response:
        """Tell a page what changed in a run."""
        viewer = self._viewer
        run_id = (await run_in_threadpool(viewer.find_run, request.path_params["run"])).id
        after = request.query_params.get("after", "")
        change = int(after) if after.isascii() and after.isdigit() and len(after) < 16 else 0

        def load() -> bytes:
            nonlocal change
            news = viewer.change_since(run_id, change)
            change = news.change
            return api.encode_view(news)

        return _events(lambda: viewer.run_state(run_id), load)

    async def board_events(self, request: Request) -> Response:
        """Tell a page when somebody changed the board of a run."""
        board = self._viewer.board
        run_id = (await run_in_threadpool(self._viewer.find_run, request.path_params["run"])).id
        return _events(lambda: board.state(run_id), lambda: b"{}")

    def download(self, request: Request) -> Response:
        """Return a report of a run as a file. A report that is a folder comes as a ZIP archive."""
        run = self._viewer.stored_run(request.path_params["run"])
        name = request.path_params["report"]
        report = next((own for own in api.REPORTS if own.name == name), None)
        if report is None:
            raise UsageError(
                f"there is no report {name!r}; allowed: {', '.join(own.name for own in api.REPORTS)}",
                code="unknown-name",
            )
        report.check_installed()
        folder = Path(tempfile.mkdtemp(prefix="fairtrial-"))
        file = folder / f"{run.info.id}{report.suffix or '.zip'}"
        try:
            if report.is_folder:
                (folder / "files").mkdir()
                report.write(folder / "files", run)
                shutil.make_archive(str(file.with_suffix("")), "zip", folder / "files")
            else:
                report.write(file, run)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return _TemporaryFile(file, folder)


class _TemporaryFile(FileResponse):
    """A file that is removed after it was sent, or after the browser left."""

    def __init__(self, file: Path, folder: Path) -> None:
        super().__init__(file, media_type="application/octet-stream", filename=quote(file.name))
        self._folder = folder

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await run_in_threadpool(shutil.rmtree, self._folder, ignore_errors=True)


def _public(error: FairtrialError) -> str:
    """Return the message of an error without the address of the store. Colleagues may share a viewer."""
    return visible_line(_STORE_ADDRESS.sub("the store failed: ", str(error)))


def _problem(request: Request, error: FairtrialError) -> Response:  # noqa: ARG001
    """Say what is wrong. The status is 404 if the request names something that does not exist or is not allowed."""
    statuses = {StoreError: 503, BadRequestError: 400, api.ItemLostError: 409, api.BoardConflictError: 409}
    status = next((own for kind, own in statuses.items() if isinstance(error, kind)), 404)
    return Response(json.dumps({"problem": _public(error)}), status, media_type="application/json")


def _events(state: Callable[[], Hashable], load: Callable[[], bytes]) -> Response:
    """Return an answer that does not end: what `load` returns each time that the state is another one."""
    return StreamingResponse(_changes(state, load), media_type="text/event-stream")


async def _changes(state: Callable[[], Hashable], load: Callable[[], bytes]) -> AsyncIterator[bytes]:
    last: Hashable = None
    latest = time.monotonic()
    yield b"retry: 1000\n\n"
    while True:
        started = time.monotonic()
        try:
            current = await run_in_threadpool(state)
            if current != last:
                last, latest = current, time.monotonic()
                yield b"data: " + await run_in_threadpool(load) + b"\n\n"
        except FairtrialError as error:  # the run was removed, or the store is gone: the page asks again, and is told
            yield b"event: problem\ndata: " + json.dumps(_public(error)).encode() + b"\n\n"
            return
        if time.monotonic() - latest > _SILENCE:
            latest = time.monotonic()
            yield b": still here\n\n"
        await asyncio.sleep(max(_PAUSE, _REST * (time.monotonic() - started)))
