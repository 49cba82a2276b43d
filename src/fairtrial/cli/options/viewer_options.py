"""Options of the commands that start a viewer: its address, and whether a browser opens it."""

from __future__ import annotations

import functools
import importlib.util
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import click

from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import language_option
from fairtrial.cli.options import flags
from fairtrial.errors import UsageError, lacks_extra

_OPTIONS = (
    click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port. Default: any free port."),
    click.option("--host", default="", metavar="ADDRESS", help="Another address than this machine. Needs --token."),
    click.option(
        "--token",
        default="",
        envvar="FAIRTRIAL_VIEW_TOKEN",
        metavar="TEXT",
        help="The secret in the address. Default: a new one.",
    ),
    click.option("--no-open", is_flag=True, help="Open no browser."),
    language_option("The language of the pages. Default: the language of the browser.", "lang"),
)


@dataclass(frozen=True)
class ViewerPlace:
    """Where a viewer listens, as the user wants it."""

    port: int
    host: str
    token: str
    no_open: bool
    lang: str | None

    def check_installed(self) -> None:
        """Raise UsageError if a package that a viewer needs is not installed."""
        if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
            raise UsageError(lacks_extra("fairtrial view", "serve"), code="missing-package")

    def serve(self, store: str, run: str | None, **fragment: str) -> None:
        """Serve a store until Ctrl-C, and open the page of a run, or the list of runs."""
        self.check_installed()
        from fairtrial import api
        from fairtrial.view.viewer_server import ViewerOptions, run_viewer

        run_id = api.reread(store, run).info.id if run else ""
        values = {**fragment, **({"run": run_id} if run_id else {"page": "runs"})}

        def announce(address: str) -> None:
            opened = f"{address}#{urlencode(values)}"
            echo(f"{opened}\nPress Ctrl-C to end.")
            if not self.no_open:
                webbrowser.open(opened)

        options = ViewerOptions(self.port, self.host, self.token, self.lang or "")
        run_viewer(store, options, ready=announce)


def viewer_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a viewer. The command receives them as `place`."""

    @functools.wraps(command)
    def call(*arguments: Any, port: int, host: str, token: str, no_open: bool, lang: str | None, **rest: Any) -> Any:
        return command(*arguments, place=ViewerPlace(port, host, token, no_open, lang), **rest)

    return flags.with_options(call, *_OPTIONS)
