"""`fairtrial view`: the runs of a store in a browser."""

from __future__ import annotations

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.options.viewer_options import ViewerPlace, viewer_options


@command()
@click.argument("run", required=False, shell_complete=completion.runs)
@viewer_options
@flags.add_store_option
def view(run: str | None, place: ViewerPlace, store: str) -> None:
    """Show the runs of a store in a browser, also runs that are going on.

    RUN is the beginning of the id of a run, which is opened first. The server listens on this machine only, and ends at
    Ctrl-C. Only a browser that opened the printed address can read the store.

    \b
    fairtrial view
    fairtrial view 20260102 --port 8080 --no-open
    """  # noqa: D301
    place.serve(store, run)
