"""The commits between a good and a bad one, and a work tree of its own in which they are run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fairtrial.agents.harness.git_folders import find_commit, run_git
from fairtrial.errors import UsageError

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
_FORMAT = "%H%x00%P%x00%aI%x00%an%x00%s"


class Commit(NamedTuple):
    """A commit that may have brought the change."""

    id: str
    date: str
    author: str
    title: str


@dataclass(frozen=True)
class CommitRange:
    """The commits that the bad one contains and the good one does not, no commit before its parents.

    `histories` has for each commit the bits of those that it contains. The bad commit is the last.
    """

    top: Path
    good: str
    commits: tuple[Commit, ...]
    histories: tuple[int, ...]


def git_environment() -> dict[str, str]:
    """Return the environment without the variables by which a hook of Git names another repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def list_commits(folder: Path, good: str, bad: str) -> CommitRange:
    """Return the commits between two revisions. Raises UsageError if the bad one does not come after the good one."""

    def ask(*words: str) -> str:
        output = run_git(folder, *words, problem="git:", environment=git_environment())
        return output.decode(errors="replace").strip()

    ends = [find_commit(folder, text, text) for text in (good, bad)]
    if ask("merge-base", *ends) != ends[0] or ends[0] == ends[1]:
        raise UsageError(f"{bad} does not come after {good}: no commit between them can have brought a change")
    commits, places, histories = list[Commit](), dict[str, int](), list[int]()
    log = ask("log", "--topo-order", "--reverse", f"--format={_FORMAT}", f"{ends[0]}..{ends[1]}")
    for place, line in enumerate(log.split("\n")):
        name, parents, date, author, title = line.split("\0")
        history = 1 << place
        for parent in parents.split():
            history |= histories[places[parent]] if parent in places else 0
        commits.append(Commit(name, date, author, title))
        histories.append(history)
        places[name] = place
    return CommitRange(Path(ask("rev-parse", "--show-toplevel")), ends[0], tuple(commits), tuple(histories))


@dataclass(frozen=True)
class WorkTree:
    """A work tree of a repository. The folder of the user stays as it is."""

    folder: Path

    def check_out(self, commit: str) -> None:
        """Check out a commit. Files that an earlier commit left are removed, as far as Git does not ignore them."""
        self._run("checkout", "--quiet", "--force", "--detach", commit)
        self._run("clean", "-ffdq")

    def _run(self, *words: str) -> None:
        run_git(self.folder, *_NO_HOOKS, *words, problem="git:", environment=git_environment())


@contextmanager
def open_work_tree(top: Path, folder: Path, commit: str) -> Iterator[WorkTree]:
    """Add a work tree to a repository, and remove it at the end. One that a killed process left is removed first."""

    def run(*words: str) -> None:
        run_git(top, *_NO_HOOKS, "worktree", *words, problem="git:", environment=git_environment())

    def remove() -> None:
        with suppress(UsageError):
            run("remove", "--force", "--force", str(folder))
        shutil.rmtree(folder, ignore_errors=True)
        run("prune")

    remove()
    try:
        run("add", "--quiet", "--force", "--detach", str(folder), commit)
        yield WorkTree(folder)
    finally:
        remove()
