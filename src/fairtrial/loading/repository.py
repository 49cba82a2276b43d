"""The Git commit of a run's folder, and the job of continuous integration that makes the run."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.loading.git_files import find_repository

if TYPE_CHECKING:
    from fairtrial.records.record import Json

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
    "BITBUCKET_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
    "BRANCH_NAME",
)
"""Variables in which systems for continuous integration name the branch: they check out a commit without its branch."""
_JOBS = (
    ("GitHub Actions", "{GITHUB_JOB}", "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"),
    ("GitLab CI", "{CI_JOB_NAME}", "{CI_JOB_URL}"),
    ("Buildkite", "{BUILDKITE_LABEL}", "{BUILDKITE_BUILD_URL}#{BUILDKITE_JOB_ID}"),
    ("CircleCI", "{CIRCLE_JOB}", "{CIRCLE_BUILD_URL}"),
    (
        "Azure Pipelines",
        "{SYSTEM_JOBDISPLAYNAME}",
        "{SYSTEM_COLLECTIONURI}{SYSTEM_TEAMPROJECT}/_build/results?buildId={BUILD_BUILDID}",
    ),
    (
        "Bitbucket Pipelines",
        "{BITBUCKET_STEP_UUID}",
        "{BITBUCKET_GIT_HTTP_ORIGIN}/pipelines/results/{BITBUCKET_BUILD_NUMBER}",
    ),
    ("Travis CI", "{TRAVIS_JOB_NUMBER}", "{TRAVIS_JOB_WEB_URL}"),
    ("Jenkins", "{JOB_NAME}", "{BUILD_URL}"),
)
"""Systems for continuous integration, and in which variables they name the job and its page."""
_LONGEST = 500
_VARIABLE = re.compile(r"\{(\w+)\}")
_USER = re.compile(r"(?<=//)[^/@\s]*@")


def commit_of_folder() -> Json:
    """Return the commit of the current folder, its branch, its author date, and whether files differ from it.

    Outside of a repository, the value is None. A commit without a branch has the branch that the variables of a system
    for continuous integration name, or an empty text. Where the program git is absent, the files of the repository
    tell the commit, and nothing is known about changed files.
    """
    # Outside of a repository, no process is started.
    repository = find_repository(Path.cwd())
    if repository is None:
        return None
    with suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(_STATUS, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603  (fixed arguments)
        commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", completed.stdout, re.MULTILINE)
        if completed.returncode == 0:
            if commit is None:
                return None  # a repository without a commit
            changes = [line for line in completed.stdout.splitlines() if not line.startswith("#")]
            branch = re.search(r"^# branch\.head (?!\(detached\))(.+)$", completed.stdout, re.MULTILINE)
            known = {"commit": commit[1], "dirty": bool(changes), "branch": branch[1] if branch else _name_branch()}
            return {**known, "date": repository.author_date(commit[1]) or _ask_date(commit[1])}
    head = repository.head()
    if head is None:
        return None
    return {"commit": head.commit, "branch": head.branch or _name_branch(), "date": repository.author_date(head.commit)}


def ci_job() -> Json:
    """Return the job of continuous integration with its page, or None outside of one."""
    for system, name, url in _JOBS:
        if all(os.environ.get(variable) for variable in _VARIABLE.findall(url)):
            page = _USER.sub("", _fill(url))
            return {
                "system": system,
                "job": _fill(name),
                "url": page if page.startswith(("https://", "http://")) else "",
            }
    return None


def _fill(template: str) -> str:
    return _VARIABLE.sub(lambda variable: os.environ.get(variable[1], ""), template)[:_LONGEST]


def _name_branch() -> str:
    """Return the branch that a system for continuous integration names, or an empty text."""
    return next((os.environ[name] for name in _BRANCHES if os.environ.get(name)), "")


def _ask_date(commit: str) -> str:
    """Return the author date of a commit that the files do not tell: a pack may hold it as a difference."""
    command = ["git", "show", "-s", "--format=%aI", commit]
    with suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603  (the commit is hexadecimal)
        return completed.stdout.strip() if completed.returncode == 0 else ""
    return ""
