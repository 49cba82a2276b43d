"""A fake agent for tests: it says what its script says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay.agents.routing import routed
from assay.data.case import EvalCase
from assay.data.seams import Environment, Item
from assay.data.trace import About, Message, ToolCall, ToolResult
from assay.errors import AgentError

Line = Item | str | Exception


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent that plays, for each case by its id, one list of lines per invocation; an exception is raised.

    A `ToolResult` is what the real tool answers to the first call of that tool before it that has no result yet. A case
    or an invocation that the script does not know is an AgentError.
    """

    script: Mapping[str, Sequence[Sequence[Line]]]

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ScriptedSession]:
        """Open a conversation."""
        yield ScriptedSession(case.id, self.script.get(case.id, ()), environment)


class ScriptedSession:
    """One conversation, played from its beginning."""

    about: About | None = None

    def __init__(self, case_id: str, lines: Sequence[Sequence[Line]], environment: Environment | None) -> None:
        self._case_id = case_id
        self._environment = environment
        self._left = list(lines)

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Play the lines for the next invocation, whatever the message."""
        if not self._left:
            raise AgentError(f"the script of case {self._case_id!r} has no answer to {message!r}")
        calls: list[ToolCall] = []
        for line in self._left.pop(0):
            if isinstance(line, Exception):
                raise line
            if isinstance(line, ToolCall):
                calls.append(line)
            if isinstance(line, ToolResult) and self._environment is not None:
                yield await self._answered(line, calls, self._environment)
            else:
                yield Message(line) if isinstance(line, str) else line

    async def _answered(self, line: ToolResult, calls: list[ToolCall], environment: Environment) -> ToolResult:
        """What the environment makes of a scripted result."""
        call = next((one for one in calls if one.name == line.name), ToolCall(line.name, id=line.id))
        if call in calls:
            calls.remove(call)

        async def real() -> Any:
            return line.response

        answer = await routed(environment, call, {"name": call.name}, real)
        return replace(line, response=answer.value)
