"""The command `fairtrial`. Each of its commands is a module that is imported when the command is called."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Sequence

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.option_names import name_option
from fairtrial.errors import FairtrialError, StoreError, nearest, spelling
from fairtrial.system.lasting_imports import import_lastingly, lasting_names
from fairtrial.system.process_end import end_process, process_kept
from fairtrial.system.unreadable_rows import EXPLANATION, take_unreadable_rows
from fairtrial.text.languages import find_language, speaking
from fairtrial.version import __version__

COMMAND_GROUPS = {
    "Commands": {
        "init": "Start: an example, or everything up to a gate from an agent.",
        "run": "Run an agent on eval sets, and score its conversations.",
        "score": "Score recordings of an agent.",
        "check": "Check files: name their format and their problems.",
        "show": "Show a run of the store, or one of its cases.",
        "view": "Show the runs of a store in a browser, also unfinished runs.",
        "gate": "Decide whether claims about a run hold, with a stated error.",
    },
    "Traces": {
        "receive": "Receive spans from OpenTelemetry, and score conversations.",
        "pull": "Fetch traces from Langfuse, Phoenix, LangSmith, MLflow, ...",
        "push": "Send scores to OpenTelemetry, Langfuse, Phoenix, ...",
        "export": "Write the recordings of a run as spans or as messages.",
        "convert": "Write an eval set in another format.",
        "expect": "Write an eval set that expects what recordings show.",
        "record": "Run an agent, and write its conversations without scores.",
        "value": "Compute the value of reasoning traces.",
        "select": "Select traces that passed and cover a set.",
        "redact": "Write files without secrets and personal data.",
    },
    "Judges and trust": {
        "label": "Label outcomes in a browser, without the judge's verdict.",
        "labels": "List the labels of people, export them, or add labels.",
        "judge": "Check whether a judge is ready, and agrees with people.",
        "compare": "Compare runs case by case, with intervals and verdicts.",
        "plan": "Plan how many cases and attempts a question needs.",
        "history": "Show runs in their order, and since when a number changed.",
        "watch": "Raise an alarm if the scores of production traffic change.",
        "bisect": "Find the commit that changed an agent, despite noise.",
        "flaky": "List the cases that pass in some attempts only.",
        "failures": "Find where attempts went wrong, and group failures.",
        "attack": "Plant attacks in the cases that an agent passes.",
        "mutate": "Plant changes in conversations, and report the caught ones.",
    },
    "More": {
        "doctor": "Show packages, keys, the store and plugins in a table.",
        "demo": "Run the example that is part of the package.",
        "criteria": "Show the criteria, explain one, or print a config.",
        "scenarios": "Write new scenarios for an agent with a model.",
        "runs": "List the runs in the store, remove, export or import them.",
        "mcp": "Answer questions about runs to a coding agent.",
    },
}
"""The commands with their summaries, in the groups and in the order of the help."""
COMMANDS = {name: summary for group in COMMAND_GROUPS.values() for name, summary in group.items()}
_OTHER_NAMES = {
    **dict.fromkeys(("eval", "evaluate", "test"), "run"),
    **dict.fromkeys(("start", "skill", "example"), "init"),
    "list": "runs",
    "diff": "compare",
    "report": "show",
}
"""The names of commands in other tools, and what they are called here."""
_FOLDERS = {
    "bisect": "series.",
    "demo": "starting.",
    "history": "series.",
    "init": "starting.",
    "watch": "series.",
}
"""The folders of commands that have one."""
_PATIENCE = 5.0
"""The time in seconds that the process may take to end after its work is done."""
_PROTECTION = contextlib.ExitStack()
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error numbers of a full disk."""


def name_module(command_name: str) -> str:
    """Return the name of the module of a command."""
    return f"fairtrial.cli.{_FOLDERS.get(command_name, '')}{command_name}_command"


class _LazyGroup(click.Group):
    """A group that imports a command when the command is called. The help of the group imports no command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a user needs the commands."""
        return list(COMMANDS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words. `--lang` before a command is the option of that command."""
        words = 2 if args[:1] == ["--lang"] else int(args[0].startswith("--lang=")) if args else 0
        return super().parse_args(ctx, [*args[words : words + 1], *args[:words], *args[words + 1 :]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. For a misspelt name, offer the nearest name."""
        if args[0] not in COMMANDS and args[0][:1].isalnum():
            name = _OTHER_NAMES.get(args[0])
            near = f"; did you mean {name!r}?" if name else nearest(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_lastingly(name_module(cmd_name)), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Call a command. If the reader of stdout has left, as `| head` does, the command ends without a message."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Python flushes stdout at its end, which must not fail again.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(exit_codes.READER_LEFT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands in groups, without importing them."""
        width = max(map(len, COMMANDS))
        for title, group in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in group.items()])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands only. The text names both options, so that the help fits one screen."""
        self.format_commands(ctx, formatter)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fairtrial")
def fairtrial() -> None:
    """Evaluate AI agents, with an interval for every number.

    \b
    fairtrial COMMAND --help    options; --help-all lists rare ones; --version
    Exit codes: 0 passed, 1 failed, 3 unscored, 2 usage, 4 store, 130 interrupt.
    """  # noqa: D301  (click's own mark against wrapping)


def command() -> None:
    """Run the command line as a process of its own. Threads that agents left running cannot keep it alive."""
    code: object = 1
    # The protection never ends: functions that agents registered with `atexit` must not change the exit code either.
    _PROTECTION.enter_context(process_kept())
    try:
        main()
    except SystemExit as exit_request:
        code = exit_request.code
        raise
    finally:
        number = code if isinstance(code, int) else 1
        threading.Thread(target=_exit_after_patience, args=(number,), daemon=True).start()


def _exit_after_patience(code: int) -> None:
    """End the process if it does not end by itself. If it does, this daemon thread ends with it."""
    time.sleep(_PATIENCE)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    end_process(code)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, and exit with its code. A mistake of the user becomes a message, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    if os.environ.get("_FAIRTRIAL_COMPLETE"):
        fairtrial.main(args, prog_name="fairtrial")  # a shell asks for words: they are printed, and the process ends
    take_unreadable_rows()
    with speaking(find_language(sys.argv[1:] if args is None else args)):
        code = _exit_code(args)
        if skipped := take_unreadable_rows():
            _echo(f"warning: {skipped} {EXPLANATION}")
    sys.exit(code)


def _echo(text: str, code: str = "") -> None:
    """Print a line to stderr, in the language of the terminal, and the code of an error behind it."""
    from fairtrial.cli import console  # help and the version need no console

    console.echo(text, err=True, code=code)


def _exit_code(args: Sequence[str] | None) -> int:
    """Run a command, and return the exit code that the command decides. SystemExit of other code does not decide it."""
    try:
        with process_kept(), spelling(name_option), lasting_names():
            return int(fairtrial.main(args, prog_name="fairtrial", standalone_mode=False) or exit_codes.OK)
    except SystemExit as error:
        from fairtrial.text.display import describe_error, visible

        _echo(f"fairtrial: not finished: the agent or a metric raised {visible(describe_error(error))}")
        return exit_codes.FAILED
    except click.ClickException as error:
        from fairtrial.cli import shown_errors  # only a refusal needs it

        message, name = shown_errors.describe_usage(error)
        _show_usage(error)
        _refuse(args, f"Error: {message}", name, message)
        return error.exit_code
    except click.Abort:
        _echo("interrupted")
        return exit_codes.INTERRUPTED
    except FairtrialError as error:
        from fairtrial.cli import shown_errors

        message, name = shown_errors.describe(error)
        _refuse(args, f"fairtrial: {message}", name, message)
        if shown_errors.concerns_installation(error):
            _echo("`fairtrial doctor` shows packages, keys, the store, programs and plugins.")
        return exit_codes.STORE if isinstance(error, StoreError) else exit_codes.USAGE
    except OSError as error:
        if error.filename is None and error.errno not in _DISK_FULL:
            raise
        from fairtrial.cli import shown_errors

        # The buffer of stdout may hold the text that the disk refuses. Python would try to write it again at exit.
        sys.stdout = None
        message, name = shown_errors.describe(error)
        _echo(f"fairtrial: {message}", name)
        return exit_codes.USAGE


def _refuse(args: Sequence[str] | None, line: str, code: str, message: str) -> None:
    """Print why a command refused its input, and the code of the error."""
    from fairtrial.cli import shown_errors

    _echo(line, code)
    shown_errors.print_json(sys.argv[1:] if args is None else args, fairtrial, message, code)


def _show_usage(error: click.ClickException) -> None:
    """Print how a command is called, before the message of click."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        _echo(context.get_usage())
        if help_option := next((own for own in context.help_option_names if own.startswith("--")), ""):
            _echo(f"Try '{context.command_path} {help_option}' for help.\n")
