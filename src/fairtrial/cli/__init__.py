"""The command `fairtrial`: each command is a module, loaded when it is called."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import threading
import time
from collections.abc import Sequence

import click

from fairtrial.cli import exit_codes
from fairtrial.errors import FairtrialError, nearest
from fairtrial.version import __version__

COMMANDS = {
    "run": "Run an agent on eval sets, and score what it does.",
    "record": "Run an agent on eval sets, and write what it does.",
    "scenarios": "Write new scenarios for an agent with a model.",
    "score": "Score what was recorded elsewhere.",
    "value": "Say what reasoning traces are worth, and keep those worth sharing.",
    "check": "Say what files are, and what is wrong with them.",
    "convert": "Write an eval set in another format.",
    "criteria": "Show the criteria, explain one, or print a config for a situation.",
    "runs": "List the runs in the store, remove, export or import them.",
    "judge": "Ask whether the model that judges is ready.",
    "show": "Show a run of the store, or one of its cases.",
}
_PATIENCE = 5.0
"""Seconds that the process may take to end after its work is done."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a disk says that has no room for what a command prints."""


class _Lazily(click.Group):
    """A group that imports a command when it is called; its help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of a user's work."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a misspelt one offer the nearest."""
        if args[0] not in COMMANDS and args[0][:1].isalnum():
            ctx.fail(f"No such command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"fairtrial.cli.{cmd_name}_command")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazily, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fairtrial")
def fairtrial() -> None:
    """Evaluate AI agents, and say how sure you can be of the result.

    \b
    fairtrial run examples/shop.evalset.json --agent examples.agent:reply
    fairtrial score recorded.evalset_result.json
    fairtrial check evals/

    Exit codes: 0 passed, 1 failed, 3 something could not be scored, 2 wrong input or usage, 130 interrupted.
    """  # noqa: D301  (click's own mark against wrapping)


def command() -> None:
    """Run the command line as a process of its own, which no thread that an agent left behind keeps for long."""
    code: object = 1
    try:
        main()
    except SystemExit as left:
        code = left.code
        raise
    finally:
        number = code if isinstance(code, int) else 1
        threading.Thread(target=_leave, args=(number,), daemon=True).start()


def _leave(code: int) -> None:
    """End the process where it has not ended by itself; while that goes well, this thread is gone before."""
    time.sleep(_PATIENCE)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, and leave with its exit code; an error of the user's is a message, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        sys.exit(fairtrial.main(args, prog_name="fairtrial", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(exit_codes.INTERRUPTED)
    except FairtrialError as error:
        from fairtrial.text.display import visible

        click.echo(f"fairtrial: {visible(str(error))}", err=True)
        sys.exit(exit_codes.USAGE)
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        from fairtrial.text.display import shortened, visible

        sys.stdout = None  # what waits in it may be what cannot be written
        what = visible(shortened(str(error.filename or "cannot write"), 200))
        click.echo(f"fairtrial: {what}: {error.strerror}", err=True)
        sys.exit(exit_codes.USAGE)
