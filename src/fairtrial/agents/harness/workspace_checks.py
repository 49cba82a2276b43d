"""Decide checks in a workspace at the end of an attempt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.agents.harness.sandbox import why_not_started
from fairtrial.records.state_delta import CheckResult, FileChange
from fairtrial.system.child_processes import kill_members
from fairtrial.text.display import shorten
from fairtrial.text.globs import fits
from fairtrial.text.text_decisions import TEXT_CHECKS, Decision, decide_number, decide_text

if TYPE_CHECKING:
    from fairtrial.records.workspace import WorkspaceCheck

_LARGEST_TEXT = 5_000_000
_COMMAND_SECONDS = 120.0
_KEPT_OUTPUT = 2000
_SHOWN_OUTPUT = 400
_SHOWN_FILES = 5

Run = Callable[[Sequence[str]], list[str]]
"""Wraps a command, so that it runs in the sandbox of the attempt."""


def is_of_workspace(check: WorkspaceCheck) -> bool:
    """Whether a check needs the workspace, and not only the recording."""
    return check.type in ("exists", "absent", "changes_only", "command") or (
        check.type in TEXT_CHECKS and bool(check.path)
    )


async def decide_checks(
    checks: Sequence[WorkspaceCheck],
    workspace: Path,
    changes: Sequence[FileChange],
    environment: dict[str, str],
    wrap: Run,
) -> tuple[CheckResult, ...]:
    """Return the results of the checks that need a workspace. Commands come last, because they may change files."""
    own = [check for check in checks if is_of_workspace(check)]
    results = [CheckResult(check, *_decide(check, workspace, changes)) for check in own if check.type != "command"]
    commands = [check for check in own if check.type == "command"]
    results += [CheckResult(check, *await _run(check, workspace, environment, wrap)) for check in commands]
    return tuple(results)


def find_files(workspace: Path, pattern: str) -> list[Path]:
    """Return the regular files that match a path or a glob, and do not lead out of the workspace."""
    home = workspace.resolve()
    found = [workspace / pattern] if not any(sign in pattern for sign in "*?[") else sorted(workspace.glob(pattern))
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(home)]


def _decide(check: WorkspaceCheck, workspace: Path, changes: Sequence[FileChange]) -> Decision:
    if check.type == "changes_only":
        other_paths = [change.path for change in changes if not any(fits(change.path, glob) for glob in check.paths)]
        details = ", ".join(map(repr, other_paths[:_SHOWN_FILES]))
        return Decision(not other_paths, f"changed {details}" if other_paths else "no other file changed")
    files = find_files(workspace, check.path)
    if check.type == "absent":
        details = ", ".join(str(path.relative_to(workspace)) for path in files[:_SHOWN_FILES])
        return Decision(not files, f"found {details}" if files else "found no file")
    if check.type == "exists":
        limits = check if (check.at_least, check.at_most) != (None, None) else None
        if limits is not None:
            return decide_number(limits, len(files), "files")
        return Decision(bool(files), "the file is there" if files else f"no file matches {check.path!r}")
    return _decide_texts(check, files)


def _decide_texts(check: WorkspaceCheck, files: Sequence[Path]) -> Decision:
    """Return whether a check of texts holds for every file that matches its path."""
    if not files:
        return Decision(False, f"no file matches {check.path!r}")
    for path in files:
        if path.stat().st_size > _LARGEST_TEXT:
            return Decision(None, f"{path.name} is larger than {_LARGEST_TEXT:,} bytes")
        try:
            text = path.read_text("utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            return Decision(False, f"{path.name} is no text: {shorten(str(error), 80)}")
        decision = decide_text(check, text)
        if decision.passed is not True:
            return Decision(decision.passed, f"{path.name}: {decision.reason}")
    return Decision(True, f"{files[0].name}: {decision.reason}" if len(files) == 1 else f"all {len(files)} files fit")


async def _run(check: WorkspaceCheck, workspace: Path, environment: dict[str, str], wrap: Run) -> Decision:
    words = wrap(check.command)
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=workspace,
            env=environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Decision(None, f"the command does not start: {error.strerror or error}")
    tail = b""
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            assert process.stdout is not None  # noqa: S101  (it is a pipe)
            while chunk := await process.stdout.read(65536):
                tail = (tail + chunk)[-_KEPT_OUTPUT:]
            code = await process.wait()
    except TimeoutError:
        return Decision(False, f"the command took more than {_COMMAND_SECONDS:g} seconds")
    finally:
        await end_group(process)
    if code != check.exit_code and (cause := why_not_started(words, code, tail.decode(errors="replace"))):
        return Decision(None, f"the command does not start: {shorten(cause, _SHOWN_OUTPUT)}")
    details = shorten(tail[-_SHOWN_OUTPUT:].decode(errors="replace").strip(), _SHOWN_OUTPUT)
    reason = f"ended with the code {code}" + (f": {details}" if details and code != check.exit_code else "")
    return Decision(code == check.exit_code, reason)


async def end_group(process: Process, home: Path | None = None) -> None:
    """Kill a process and everything that it started in its own group, and wait for it.

    Processes that left the group are known by their `home`, where the system shows the environment of processes.
    """
    kill_members(process)
    if home is not None:
        _end_strays(home)
    # asyncio does not see the end of a process while its output is unread and reading is paused.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_END):
            await asyncio.gather(*(_discard(stream) for stream in (process.stdout, process.stderr) if stream))
            await process.wait()


def _end_strays(home: Path) -> None:
    if sys.platform == "win32":  # it does not show the environment of processes
        return
    mark = f"HOME={home}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)


async def _discard(stream: asyncio.StreamReader) -> None:
    with contextlib.suppress(RuntimeError):  # another task reads it to its end
        while await stream.read(65536):
            pass


_SECONDS_TO_END = 5.0
"""The longest wait for the end of a killed process whose child keeps its output open."""
