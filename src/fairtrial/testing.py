"""Fakes that follow a script, for your tests: a model, an agent, a simulated user and an environment."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.routing import routed
from fairtrial.errors import AgentError
from fairtrial.llm.model import CallError
from fairtrial.protocols import Environment, Item, Real
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, Injection, Message, ToolCall, ToolResult, Trace

ModelLine = str | Reply | Exception
"""One reply of a scripted model; an exception is raised."""

ModelScript = Callable[[Prompt], "ModelLine | Awaitable[ModelLine]"]
"""A function that makes the reply from the prompt."""

AgentLine = Item | str | Exception
"""One item of a scripted agent's answer; a string is a message, an exception is raised."""

UserLine = str | Exception
"""One message of a scripted user; an exception is raised."""


@dataclass
class ScriptedModel:
    """A model that answers from a list, in order, or by a function of the prompt, and keeps the prompts."""

    script: Iterable[ModelLine] | ModelScript
    prompts: list[Prompt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = None if callable(self.script) else iter(self.script)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Say the next line; `CallError` where the script is at its end."""
        self.prompts.append(prompt)
        line = await self._line(prompt)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(text=line, model="scripted")

    async def _line(self, prompt: Prompt) -> ModelLine:
        if self._lines is None:
            said = self.script(prompt)  # type: ignore[operator]
            return await said if inspect.isawaitable(said) else said
        return next(self._lines, CallError("the script has no further line"))


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent that plays, for each case by its id, one list of lines per invocation; an exception is raised.

    A `ToolResult` is what the real tool answers to the first call of that tool before it that has no result yet. A case
    or an invocation that the script does not know is an AgentError.
    """

    script: Mapping[str, Sequence[Sequence[AgentLine]]]

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ScriptedSession]:
        """Open a conversation."""
        yield ScriptedSession(case.id, self.script.get(case.id, ()), environment)


class ScriptedSession:
    """One conversation, played from its beginning."""

    about: About | None = None

    def __init__(self, case_id: str, lines: Sequence[Sequence[AgentLine]], environment: Environment | None) -> None:
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


Line = str | Exception


@dataclass(frozen=True, slots=True)
class ScriptedUsers:
    """Users who say, for each case by its id, one line after the other, and then stop; an exception is raised."""

    script: Mapping[str, Sequence[UserLine]]

    def __call__(self, case: EvalCase, attempt: int) -> ScriptedUser:  # noqa: ARG002
        """Return the user of a case."""
        return ScriptedUser(self.script.get(case.id, ()))


class ScriptedUser:
    """The user of one conversation."""

    def __init__(self, lines: Sequence[UserLine]) -> None:
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
        return ToolResult(call.name, answer, call.id, injected=(Injection("response"),))
