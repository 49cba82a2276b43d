"""Fakes that follow a script, for your tests: a model, an agent, a simulated user and an environment."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.routing import route_call
from fairtrial.errors import AgentError
from fairtrial.llm.model import CallError
from fairtrial.protocols import Environment, Item, Real
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, Injection, Message, Part, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

ModelLine = str | Reply | Exception
"""One reply of a scripted model. An exception is raised."""

ModelScript = Callable[[Prompt], "ModelLine | Awaitable[ModelLine]"]
"""A function that makes the reply from the prompt."""

AgentLine = Item | str | Exception
"""One item of a scripted agent's answer. A string is a message, and an exception is raised."""

UserLine = str | Exception
"""One message of a scripted user. An exception is raised."""


@dataclass
class ScriptedModel:
    """A model that answers from a list, in order, or by a function of the prompt. It keeps the prompts.

    For example, `ScriptedModel(["yes", "no"])` answers the first prompt with "yes" and the second with "no".
    """

    script: Iterable[ModelLine] | ModelScript
    prompts: list[Prompt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = None if callable(self.script) else iter(self.script)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the next reply. Raises `CallError` if the script has ended."""
        self.prompts.append(prompt)
        line = await self._line(prompt)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(text=line, model="scripted")

    async def _line(self, prompt: Prompt) -> ModelLine:
        if self._lines is None:
            line = self.script(prompt)  # type: ignore[operator]
            return await line if inspect.isawaitable(line) else line
        return next(self._lines, CallError("the script has no further line"))


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent that plays one list of lines per invocation, for each case by its id.

    A `ToolResult` is the answer of the real tool to the earliest call of that tool without a result. For example, with
    a simulated environment, the environment may replace it. If the script lacks a case or an invocation, the session
    raises AgentError.
    """

    script: Mapping[str, Sequence[Sequence[AgentLine]]]

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: the script ignores the message."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ScriptedSession]:
        """Open a conversation."""
        yield ScriptedSession(case.id, self.script.get(case.id, ()), environment)


class ScriptedSession:
    """One conversation with a scripted agent."""

    about: About | None = None

    def __init__(self, case_id: str, lines: Sequence[Sequence[AgentLine]], environment: Environment | None) -> None:
        self._case_id = case_id
        self._environment = environment
        self._remaining = list(lines)

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:  # noqa: ARG002
        """Play the lines for the next invocation, whatever the message."""
        if not self._remaining:
            raise AgentError(f"the script of case {self._case_id!r} has no answer to {message!r}")
        calls: list[ToolCall] = []
        for line in self._remaining.pop(0):
            if isinstance(line, Exception):
                raise line
            if isinstance(line, ToolCall):
                calls.append(line)
            if isinstance(line, ToolResult) and self._environment is not None:
                yield await self._route(line, calls, self._environment)
            else:
                yield Message(line) if isinstance(line, str) else line

    async def _route(self, line: ToolResult, calls: list[ToolCall], environment: Environment) -> ToolResult:
        """Return the result after the environment has seen it."""
        call = next((call for call in calls if call.name == line.name), ToolCall(line.name, id=line.id))
        if call in calls:
            calls.remove(call)

        async def real() -> Any:
            return line.response

        answer = await route_call(environment, call, {"name": call.name}, real)
        return replace(line, response=answer.value)


@dataclass(frozen=True, slots=True)
class ScriptedUsers:
    """Simulated users who send, for each case by its id, the messages of a list, and then stop."""

    script: Mapping[str, Sequence[UserLine]]

    def __call__(self, case: EvalCase, attempt: int) -> ScriptedUser:  # noqa: ARG002
        """Return the user of a case."""
        return ScriptedUser(self.script.get(case.id, ()))


class ScriptedUser:
    """The scripted user of one conversation."""

    def __init__(self, lines: Sequence[UserLine]) -> None:
        self._lines = lines

    async def next_message(self, so_far: Trace) -> str | None:
        """Return the message for this point of the conversation, or None after the last message."""
        index = len(so_far.invocations)
        if index >= len(self._lines):
            return None
        line = self._lines[index]
        if isinstance(line, Exception):
            raise line
        return line


@dataclass(frozen=True, slots=True)
class ScriptedEnvironment:
    """An environment that answers, for each tool by its name, with the entries of a list. An exception is raised.

    The real tool answers if the list has ended or the script lacks the tool. Every conversation starts with the first
    entry.
    """

    answers: Mapping[str, Sequence[Json | Exception]]

    def __call__(self, case: EvalCase, attempt: int) -> ScriptedAnswers:  # noqa: ARG002
        """Return the environment of a conversation."""
        return ScriptedAnswers({name: list(answers) for name, answers in self.answers.items()})


class ScriptedAnswers:
    """The scripted environment of one conversation. `calls` holds every call, answered here or by the real tool."""

    def __init__(self, answers: dict[str, list[Json | Exception]]) -> None:
        self.calls: list[ToolCall] = []
        self._answers = answers

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:  # noqa: ARG002
        """Return the next answer of the tool."""
        self.calls.append(call)
        if not self._answers.get(call.name):
            return ToolResult(call.name, await real(), call.id)
        answer = self._answers[call.name].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ToolResult(call.name, answer, call.id, injected=(Injection("response"),))
