"""A fake simulated user for tests: it says what its script says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.data.case import EvalCase
from assay.data.trace import Trace

Line = str | Exception


@dataclass(frozen=True, slots=True)
class ScriptedUsers:
    """Users who say, for each case by its id, one line after the other, and then stop; an exception is raised."""

    script: Mapping[str, Sequence[Line]]

    def __call__(self, case: EvalCase, attempt: int) -> ScriptedUser:  # noqa: ARG002
        """Return the user of a case."""
        return ScriptedUser(self.script.get(case.id, ()))


class ScriptedUser:
    """The user of one conversation."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    async def next_message(self, so_far: Trace) -> str | None:
        """Say the line for this point of the conversation; None after the last one."""
        said = len(so_far.invocations)
        if said >= len(self._lines):
            return None
        line = self._lines[said]
        if isinstance(line, Exception):
            raise line
        return line
