"""Fakes for tests: simulated users who say, and an environment that answers, what a script says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.data.case import EvalCase
from assay.data.noun import Json
from assay.data.seams import Real
from assay.data.trace import Injected, ToolCall, ToolResult, Trace

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


@dataclass(frozen=True, slots=True)
class ScriptedEnvironment:
    """An environment that gives, for each tool by its name, one answer after the other; an exception is raised.

    Calls beyond the script, and tools that it does not know, are answered by the real tools. Every conversation begins
    at the beginning.
    """

    answers: Mapping[str, Sequence[Json | Exception]]

    def __call__(self, case: EvalCase, attempt: int) -> ScriptedAnswers:  # noqa: ARG002
        """Return the environment of a conversation."""
        return ScriptedAnswers({name: list(answers) for name, answers in self.answers.items()})


class ScriptedAnswers:
    """The environment of one conversation; `calls` are those that it answered, or passed on."""

    def __init__(self, left: dict[str, list[Json | Exception]]) -> None:
        self.calls: list[ToolCall] = []
        self._left = left

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:  # noqa: ARG002
        """Give the next answer of the tool."""
        self.calls.append(call)
        if not self._left.get(call.name):
            return ToolResult(call.name, await real(), call.id)
        answer = self._left[call.name].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ToolResult(call.name, answer, call.id, injected=(Injected("response"),))
