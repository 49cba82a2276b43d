"""From which commit does a run come?"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from fairtrial.records.record import Json

_PATIENCE = 5.0
"""Seconds to wait for git. A run does not depend on it."""


def commit_of_folder() -> Json:
    """Return the commit of the current folder, and whether files differ from it. Outside of a repository it is None."""
    # Outside of a repository, no process is started.
    here = Path.cwd()
    if not any((folder / ".git").exists() for folder in (here, *here.parents)):
        return None
    with suppress(OSError, subprocess.SubprocessError):
        commit = _git("rev-parse", "HEAD")
        if commit:
            return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}
    return None


def _git(*arguments: str) -> str:
    command = ["git", "--no-optional-locks", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603  (fixed arguments)
    return completed.stdout.strip() if completed.returncode == 0 else ""
