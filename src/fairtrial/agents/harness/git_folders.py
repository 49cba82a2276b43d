"""Read a folder at a revision of git, and what an agent did to a repository in its workspace."""

from __future__ import annotations

import asyncio
import io
import subprocess
import tarfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairtrial.errors import UsageError
from fairtrial.records.state_delta import GitState
from fairtrial.system.child_processes import exit_code, kill_group
from fairtrial.text.display import shorten, visible_line
from fairtrial.text.redaction.redact import without_secrets

_SECONDS = 60
_LARGEST = 500 * 2**20
_MOST_COMMITS = 20
_LARGEST_ANSWER = 200_000
_LONGEST_TITLE = 120
_NOBODY = ("-c", "user.name=fairtrial", "-c", "user.email=fairtrial@localhost", "-c", "commit.gpgsign=false")
_NO_HOOKS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat")
_DATES = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def find_commit(folder: Path, revision: str, problem: str) -> str:
    """Return the commit of a revision in the repository that holds a folder. Raises UsageError that begins so."""
    if revision.startswith("-"):
        raise UsageError(f"{problem} is no revision of git", code="unusable-agent")
    words = ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return run_git(folder, *words, problem=f"{problem} is no revision:").decode().strip()


def write_revision(folder: Path, commit: str, target: Path, problem: str) -> Path:
    """Write a folder as it stands at a commit into another folder, and return its place there. Raises UsageError."""
    home = folder.resolve()
    top = Path(run_git(home, "rev-parse", "--show-toplevel", problem=problem).decode().strip())
    place = home.relative_to(top).as_posix()
    paths = [] if place == "." else [place]
    archive = run_git(top, "archive", "--format=tar", commit, *paths, problem=f"{problem} holds no {place}:")
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(target, filter="data")
    return target / place


def start_repository(folder: Path, environment: Mapping[str, str]) -> str:
    """Make a repository with one commit of a folder, and return the commit. It has no history that tells answers."""
    own = {**environment, **_DATES}
    run_git(folder, "init", "--quiet", "--initial-branch=main", problem="git:", environment=own)
    run_git(folder, *_NOBODY, "add", "--all", "--force", problem="git:", environment=own)
    words = (*_NOBODY, "commit", "--quiet", "--allow-empty", "--message", "Start")
    run_git(folder, *words, problem="git:", environment=own)
    return run_git(folder, "rev-parse", "HEAD", problem="git:", environment=own).decode().strip()


def run_git(folder: Path, *words: str, problem: str, environment: Mapping[str, str] | None = None) -> bytes:
    """Return the output of git in a folder of the user. Raises UsageError that begins with `problem`."""
    try:
        process = subprocess.run(  # noqa: S603  (git, with a revision that begins with no dash)
            ["git", "-C", str(folder), *words],  # noqa: S607
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=None if environment is None else dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{problem} git does not start: {error}", code="unusable-agent") from None
    if process.returncode != 0:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"{problem} {lines[-1] if lines else 'git does not know it'}", code="unusable-agent")
    if len(process.stdout) > _LARGEST:
        raise UsageError(f"{problem} it is larger than {_LARGEST:,} bytes", code="too-large")
    return process.stdout


async def read_git_state(
    folder: Path, start: str, environment: Mapping[str, str], wrap: Callable[[Sequence[str]], list[str]]
) -> GitState | None:
    """Return the state of a repository in a workspace, or None if git cannot tell it.

    Git runs in the sandbox of the attempt, because the configuration of a repository may name programs.
    """

    async def ask(*words: str) -> list[str] | None:
        command = ["git", "-C", str(folder), *_NO_HOOKS, *words]
        return await _ask_git(wrap(command), folder, environment)

    branch = await ask("rev-parse", "--abbrev-ref", "HEAD")
    commits = await ask("log", f"--max-count={_MOST_COMMITS}", "--format=%h %s", *([f"{start}..HEAD"] if start else []))
    changes = await ask("status", "--porcelain", "--untracked-files=all")
    if branch is None and changes is None:
        return None
    titles = tuple(shorten(visible_line(without_secrets(line)), _LONGEST_TITLE) for line in commits or ())
    name = shorten(visible_line((branch or [""])[0]), _LONGEST_TITLE)
    return GitState(name, titles, len(changes or ()))


async def _ask_git(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> list[str] | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=dict(environment),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            assert process.stdout is not None  # noqa: S101  (it is a pipe)
            answer = await process.stdout.read(_LARGEST_ANSWER)
            while await process.stdout.read(65536):
                pass
            code = await exit_code(process, _SECONDS)
    except TimeoutError:
        code = None
    finally:
        await kill_group(process)
    return answer.decode(errors="replace").splitlines() if code == 0 else None
