"""A fake agent for tests: it says what its script says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from assay.data.case import EvalCase
from assay.data.seams import Environment, Item
from assay.data.trace import About, Message
from assay.errors import AgentError

Line = Item | str | Exception


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent that plays, for each case by its id, one list of lines per invocation; an exception is raised.

    A case or an invocation that the script does not know is an AgentError.
    """

    script: Mapping[str, Sequence[Sequence[Line]]]

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ScriptedSession]:  # noqa: ARG002
        """Open a conversation."""
        yield ScriptedSession(case.id, self.script.get(case.id, ()))


class ScriptedSession:
    """One conversation, played from its beginning."""

    about: About | None = None

    def __init__(self, case_id: str, lines: Sequence[Sequence[Line]]) -> None:
        self._case_id = case_id
        self._left = list(lines)

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Play the lines for the next invocation, whatever the message."""
        if not self._left:
            raise AgentError(f"the script of case {self._case_id!r} has no answer to {message!r}")
        for line in self._left.pop(0):
            if isinstance(line, Exception):
                raise line
            yield Message(line) if isinstance(line, str) else line
