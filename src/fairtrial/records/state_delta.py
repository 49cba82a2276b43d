"""The state delta of an attempt: the files that an agent changed, and the checks of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record, without_defaults
from fairtrial.records.workspace import WorkspaceCheck

if TYPE_CHECKING:
    from fairtrial.records.trace import Trace

STATE_KEY = "workspace"
"""The key of the state delta in the final state of a trace."""


class FileChange(Record, frozen=True):
    """A file that the agent added, changed or removed.

    `size` is in bytes. `diff` is a unified diff, or the beginning of an added text, and empty for other contents.
    `cut` says that it is not the whole.
    """

    path: str
    change: Literal["added", "changed", "removed"]
    size: int = 0
    diff: str = ""
    is_cut: bool = False


class CheckResult(Record, frozen=True):
    """A check that was decided in the workspace. `passed` is None if it could not be decided."""

    check: WorkspaceCheck
    passed: bool | None
    reason: str = ""


class GitState(Record, frozen=True):
    """A repository at the end of an attempt: its branch, its new commits, and the number of uncommitted changes.

    `commits` are abbreviated digests with titles, the newest first.
    """

    branch: str = ""
    commits: tuple[str, ...] = ()
    uncommitted: int = 0


class StateDelta(Record, frozen=True):
    """The difference between a workspace before and after an attempt.

    `omitted` counts further changes that are not listed. `cost` is in US dollars, as the program reports it.
    `program` is the version of the program, and `sandbox` the name of its sandbox. `git` is None without a repository.
    """

    files: tuple[FileChange, ...] = ()
    omitted: int = 0
    checks: tuple[CheckResult, ...] = ()
    cost: float | None = None
    program: str = ""
    sandbox: str = ""
    git: GitState | None = None

    @property
    def state(self) -> dict[str, Json]:
        """The delta as a part of the final state of a session."""
        return {STATE_KEY: without_defaults(self)}


def read_delta(trace: Trace) -> StateDelta | None:
    """Return the state delta of a trace, or None if the trace has none. A state of another shape is none."""
    raw = (trace.final_state or {}).get(STATE_KEY)
    if not isinstance(raw, dict) or "sandbox" not in raw:
        return None
    try:
        return convert(raw, StateDelta)
    except (ValueError, TypeError):
        return None
