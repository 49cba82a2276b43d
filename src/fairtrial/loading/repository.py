"""The Git commit of a run's folder."""

from __future__ import annotations

import os
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
_BRANCHES = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_COMMIT_REF_NAME",
    "BUILDKITE_BRANCH",
    "CIRCLE_BRANCH",
    "BRANCH_NAME",
)
"""Variables in which systems for continuous integration name the branch: they check out a commit without its branch."""


def commit_of_folder() -> Json:
    """Return the commit of the current folder, its branch, and whether files differ from it.

    Outside of a repository, the value is None. A commit without a branch has the branch that the variables of a system
    for continuous integration name, or an empty text.
    """
    # Outside of a repository, no process is started.
    here = Path.cwd()
    if not any(map(is_repository, (here, *here.parents))):
        return None
    with suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(_STATUS, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603  (fixed arguments)
        commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", completed.stdout, re.MULTILINE)
        if completed.returncode == 0 and commit:
            changes = [line for line in completed.stdout.splitlines() if not line.startswith("#")]
            branch = re.search(r"^# branch\.head (?!\(detached\))(.+)$", completed.stdout, re.MULTILINE)
            return {"commit": commit[1], "dirty": bool(changes), "branch": branch[1] if branch else _name_branch()}
    return None


def _name_branch() -> str:
    """Return the branch that a system for continuous integration names, or an empty text."""
    return next((os.environ[name] for name in _BRANCHES if os.environ.get(name)), "")
