"""`fairtrial doctor`: show whether an installation is complete."""

from __future__ import annotations

import json

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options.project_flags import project_store
from fairtrial.text.display import visible_line
from fairtrial.text.languages import say

_SIGNS = {"ok": "ok", "absent": "-", "broken": "BROKEN"}


@command()
@click.argument("target", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--all", "show_all", is_flag=True, help="Show what is not installed or not set, too.")
def doctor(target: str | None, as_json: bool, show_all: bool) -> int:
    """Show packages against their floors, keys, the store, programs and plugins.

    No key is printed, and nothing is written. The exit code is 1 if a part is broken: a package is older than its
    floor, the store cannot be opened, or a plugin cannot be imported.

    \b
    fairtrial doctor
    fairtrial doctor --all
    fairtrial doctor "mcp:python server.py"
    fairtrial doctor a2a:http://localhost:9999
    \f
    With a TARGET as in `fairtrial run --agent`, only the target is examined. Of an MCP server, each tool must be
    described, and calls that its schemas forbid must be answered as errors. Of an A2A agent, the card must be complete.
    """  # noqa: D301
    findings = api.examine_installation(project_store()) if target is None else api.examine_target(target)
    if as_json:
        rows = [{"area": own.area, "name": own.name, "state": own.state, "detail": own.detail} for own in findings]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    else:
        shown = [own for own in findings if show_all or own.state != "absent" or own.area in ("store", "font")]
        width = max(len(own.name) for own in shown)
        for own in shown:
            echo(visible_line(f"{own.area:9}  {own.name:{width}}  {_SIGNS[own.state]:6}  {say(own.detail)}".rstrip()))
        if hidden := len(findings) - len(shown):
            echo(f"{hidden} more are not installed or not set: fairtrial doctor --all")
    return exit_codes.FAILED if any(own.state == "broken" for own in findings) else exit_codes.OK
