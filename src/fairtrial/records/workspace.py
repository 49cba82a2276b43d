"""The workspace of a case that a coding agent works in, and the checks of what the agent leaves there."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Json, Record

Order = Literal["any", "in_order", "exact"]


class CaseFile(Record, frozen=True):
    """A file or a folder that a case gives to the agent.

    `source` is the path as the eval file writes it. `target` is the place in the workspace: a file, or the folder that
    receives the content of a folder. The empty `target` is the workspace itself. `sha256` is the digest of the content.
    With a `revision` of git, the folder is given as it stood then, as a repository with a single commit.
    """

    source: str
    target: str = ""
    sha256: str = ""
    revision: str = ""


class WorkspaceCheck(Record, frozen=True):
    """A property that a program decides without a model, for example that a file exists.

    `type` names the check. `docs/reference/workspace-checks.md` lists the fields of each type. `path` is a path or a
    glob in the workspace. Without it, a check of texts is about the reply.
    """

    type: str
    name: str = ""
    path: str = ""
    texts: tuple[str, ...] = ()
    pattern: str = ""
    ignore_case: bool = False
    at_least: float | None = None
    at_most: float | None = None
    json_schema: dict[str, Json] | None = None
    command: tuple[str, ...] = ()
    exit_code: int = 0
    paths: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    order: Order = "any"

    @property
    def title(self) -> str:
        """The name of the check, or its type and what it looks for."""
        if self.name:
            return self.name
        details = [self.path, self.pattern, *map(repr, self.texts), *self.tools, *self.paths, " ".join(self.command)]
        numbers = [
            f"{word} {number:g}"
            for word, number in (("at least", self.at_least), ("at most", self.at_most))
            if number is not None
        ]
        return " ".join(filter(None, [self.type, *details, *numbers]))


class Workspace(Record, frozen=True):
    """The files of a case, and the skill that the case is about.

    `skill` is the name of the skill. `triggers` says whether the agent should use the skill, or None if the case does
    not ask. `variant` is the version that stands in the workspace: `with`, `without`, `old`, or the name of another
    description. It is empty outside of a comparison. `checks` are about the files that the agent leaves,
    its steps and its reply.
    """

    files: tuple[CaseFile, ...] = ()
    skill: str = ""
    triggers: bool | None = None
    variant: str = ""
    checks: tuple[WorkspaceCheck, ...] = ()
