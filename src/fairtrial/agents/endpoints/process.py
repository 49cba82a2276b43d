"""Sessions with a program that reads and writes JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import shlex
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from fairtrial.agents.endpoints.chat_replies import separate_thoughts
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.tracing.span_collection import child_variables
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.records.trace import About, AgentDetails, Message, Step, Thought, ToolCall, ToolResult, Usage
from fairtrial.system.child_processes import exit_code, kill_group, read_while_running
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_KEYS = ("thought", "message", "tool_call", "tool_result", "reply", "usage", "model", "instructions", "tools", "state")
_LONGEST_LINE = 64 * 2**20
_SHOWN = 300
_KEPT_ERRORS = 2000
_END_SECONDS = 1.0


def agent_at(target: str) -> ProcessAgent:
    """Return the agent of `process:COMMAND`, for example `process:node agent.js`. Raises UsageError."""
    text = target.partition(":")[2]
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"is not a command: {error}", code="unusable-agent") from None
    if not command:
        raise UsageError("must name a command, for example process:node agent.js", code="unusable-agent")
    if shutil.which(command[0]) is None:
        raise UsageError(f"no such program as {command[0]!r}", code="unusable-agent")
    return ProcessAgent(command)


@dataclass(frozen=True, slots=True)
class ProcessAgent:
    """A program with a process for each conversation.

    A message of the user is the line `{"message": TEXT}`. The program answers with any number of lines, each a step,
    and then with the line `{"reply": TEXT}`.
    """

    command: tuple[str, ...]
    refuses_environment: ClassVar[str] = "a program runs its tools itself, and an environment cannot answer the calls"

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ProcessSession]:  # noqa: ARG002
        """Start the program. Its input is closed at the end, and it is killed with its children a second later."""
        process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_LONGEST_LINE,
            env=os.environ | child_variables(),
            start_new_session=True,
        )
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        errors = _ErrorOutput(process)
        try:
            yield ProcessSession(process, errors, state)
        finally:
            await _end(process)
            await errors.close()


async def _end(process: Process) -> None:
    assert process.stdin is not None  # noqa: S101  (it is a pipe)
    process.stdin.close()
    await exit_code(process, _END_SECONDS)
    await kill_group(process)


class _ErrorOutput:
    """The end of what a program writes to standard error. The program never waits because nobody reads it."""

    def __init__(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101  (it is a pipe)
        self._stream = process.stderr
        self._tail = b""
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while chunk := await self._stream.read(65536):
            self._tail = (self._tail + chunk)[-_KEPT_ERRORS:]

    async def text(self) -> str:
        """Return the last line after the program has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._task), _END_SECONDS)
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    async def close(self) -> None:
        """Stop reading. A child of the program may still hold the pipe open."""
        self._task.cancel()
        await asyncio.wait([self._task])


class ProcessSession:
    """One conversation with a process."""

    def __init__(self, process: Process, errors: _ErrorOutput, state: dict[str, Json]) -> None:
        self._process = process
        self._errors = errors
        self._first: dict[str, Json] = {"state": state} if state else {}
        self.about: About | None = None

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Write a line with the message, and yield the steps until the reply. The first line holds the state."""
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        line, self._first = {"message": message, **self._first}, {}
        with contextlib.suppress(ConnectionError):  # a program that has ended is reported below, with its exit code
            self._process.stdin.write(msgspec.json.encode(line) + b"\n")
            await self._process.stdin.drain()
        while True:
            answer = await self._line()
            usage = _usage(answer.get("usage"), answer.get("model"))
            if usage is not None:
                yield usage
            self.about = _about(answer, self.about)
            for step in separate_thoughts(_steps(answer)):
                yield step
            if "reply" in answer:
                return

    async def _line(self) -> dict[str, Any]:
        """Return the next line. Raises AgentError if the program ends, reports an error, or writes anything else."""
        assert self._process.stdout is not None  # noqa: S101  (it is a pipe)
        line: bytes | None = b"\n"
        while line and not line.strip():
            try:
                line = await read_while_running(self._process, self._process.stdout.readline)
            except ValueError:
                raise AgentError(f"the program wrote a line of more than {_LONGEST_LINE:,} bytes") from None
        if not line:
            code = await exit_code(self._process, _END_SECONDS)
            how = "closed its output" if code is None else f"ended with the code {code}"
            raise AgentError(f"the program {how}: {await self._errors.text()}".rstrip(": "))
        try:
            answer = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            text = shorten(line.decode(errors="replace").rstrip("\n"), _SHOWN)
            raise AgentError(f"the program must write lines of JSON objects, got {text!r}")
        if answer.get("error"):
            raise AgentError(shorten(str(answer["error"]), _SHOWN))
        return answer


def _steps(answer: dict[str, Any]) -> list[Step]:
    """Return the steps in a line, in the order of `_KEYS`. Raises AgentError for a line that holds none of the keys."""
    if not any(key in answer for key in _KEYS):
        names = ", ".join(_KEYS)
        raise AgentError(f"a line must hold one of the keys {names}, error; got {shorten(str(list(answer)), _SHOWN)}")
    steps: list[Step] = []
    if answer.get("thought"):
        steps.append(Thought(_text(answer, "thought")))
    if "message" in answer:
        steps.append(Message(_text(answer, "message")))
    if "tool_call" in answer:
        call = _object(answer, "tool_call")
        steps.append(ToolCall(_text(call, "name"), read_arguments(call.get("args")), str(call.get("id") or "")))
    if "tool_result" in answer:
        result = _object(answer, "tool_result")
        response = result.get("response")
        response = read_response(response) if isinstance(response, str) else response
        is_error = bool(result.get("is_error"))
        steps.append(ToolResult(_text(result, "name"), response, str(result.get("id") or ""), is_error=is_error))
    if "reply" in answer:
        steps.append(Message(_text(answer, "reply")))
    return steps


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise AgentError(f"{key!r} must be a text, got {shorten(str(value), _SHOWN)}")
    return value


def _object(fields: dict[str, Any], key: str) -> dict[str, Any]:
    value = fields[key]
    if not isinstance(value, dict):
        raise AgentError(f"{key!r} must be an object, got {shorten(str(value), _SHOWN)}")
    return value


def _usage(counts: Any, model: Any) -> Usage | None:
    if not isinstance(counts, dict):
        return Usage(model=model) if isinstance(model, str) else None
    return token_usage(counts.get("input_tokens"), counts.get("output_tokens"), model=model)


def _about(answer: dict[str, Any], earlier: About | None) -> About | None:
    """Return the instructions, tools and state that the program has told so far."""
    about = earlier or About()
    agent = about.agents[0] if about.agents else AgentDetails("agent")
    instructions, tools, state = (answer.get(key) for key in ("instructions", "tools", "state"))
    if isinstance(instructions, str):
        agent = replace(agent, instructions=instructions)
    if isinstance(tools, list):
        agent = replace(agent, tool_declarations=tuple(tool for tool in tools if isinstance(tool, dict)))
    final_state = state if isinstance(state, dict) else about.final_state
    about = About(() if agent == AgentDetails("agent") else (agent,), final_state)
    return None if about == About() else about
