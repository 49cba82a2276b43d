"""The Git commit of a run's folder."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

from fairtrial.records.record import Json
from fairtrial.system.paths import is_repository

_STATUS = ("git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-uno")
"""One process tells the commit and the changed files."""
_PATIENCE = 5.0
"""Seconds to wait for git. A run does not depend on it."""


def commit_of_folder() -> Json:
    """Return the commit of the current folder, and whether files differ from it. Outside of a repository it is None."""
    # Outside of a repository, no process is started.
    here = Path.cwd()
    if not any(map(is_repository, (here, *here.parents))):
        return None
    with suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(_STATUS, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603  (fixed arguments)
        commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", completed.stdout, re.MULTILINE)
        if completed.returncode == 0 and commit:
            changes = [line for line in completed.stdout.splitlines() if not line.startswith("#")]
            return {"commit": commit[1], "dirty": bool(changes)}
    return None
