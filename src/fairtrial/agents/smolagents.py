"""Sessions with smolagents agents. Each user message is a run in a thread, with observed tools."""

from __future__ import annotations

import asyncio
import copy
import inspect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from fairtrial.agents.function import result_in_thread
from fairtrial.agents.nested_runs import observe_unreached
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.routing import describe_declaration, describe_in_prompt, describe_object
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import detect_kind, read_content
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.records.trace import AgentDetails, Message, Part, Thought, ToolCall, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.record import Json

EXTRA = "agents-smolagents"
_ANSWER = "final_answer"
_TERMINAL = "UserInputTool"


class SmolAgent(ObservedFramework):
    """A function that makes an agent of smolagents for each conversation. The case gives the agent its state."""

    package_extra, library, kind = EXTRA, "smolagents", "an agent of smolagents"
    options = ("additional_args", "max_steps")
    holds_conversation = True

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent of smolagents."""
        return hasattr(thing, "managed_agents") and hasattr(thing, "run") and not inspect.isclass(thing)

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why a message cannot hold the parts. A run takes pictures, and their data only."""
        if any(detect_kind(part) != "image" or part.uri for part in parts):
            return "an agent of smolagents takes pictures only, and their data instead of a URL"
        return ""

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        return SmolSession(opening)


class SmolSession(ObservedSession):
    """One conversation, with an agent of its own."""

    def __init__(self, opening: Opening) -> None:
        self._agent = opening.thing
        super().__init__(opening, _name(self._agent))
        self._agent.state.update(opening.state)
        self._options = opening.options
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._calls: list[ToolCall] = []
        self._is_first = True
        for each in _team(self._agent):
            self._observe(each)
        # Agents that this agent manages are no tools. Others run unobserved.
        observe_unreached(import_extra("smolagents", EXTRA).MultiStepAgent, "run")

    def _state(self) -> Json:
        state: Json = self._agent.state
        return state

    def _declare(self) -> Iterable[AgentDetails]:
        """Yield the agent and those that it manages, with their tools."""
        for each in _team(self._agent):
            yield AgentDetails(_name(each), str(each.system_prompt), tuple(_tools(each)))

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run the agent in a thread, because smolagents has no other runs. The answer is the reply."""
        pictures = [_picture(part) for part in parts] or None
        answer = await result_in_thread(
            lambda: self._agent.run(message, reset=self._is_first, images=pictures, **self._options)
        )
        self._is_first = False
        self._close_calls(self._agent)
        return (Message(as_text(getattr(answer, "output", answer)), self._name),)

    def _observe(self, agent: Any) -> None:
        """Put wrappers around the model and the tools of an agent. Its log would stand among the reports."""
        agent.logger.level = import_extra("smolagents.monitoring", EXTRA).LogLevel.OFF
        agent.stream_outputs = False
        agent.model = self._observe_model(agent)
        for name, tool in agent.tools.items():
            if name != _ANSWER:
                agent.tools[name] = self._observe_tool(tool, _name(agent))

    def _observe_model(self, agent: Any) -> Any:
        model, author = agent.model, _name(agent)
        is_writing_code = hasattr(agent, "python_executor")

        def generate(messages: Sequence[Any], *args: Any, **options: Any) -> Any:
            self._close_calls(agent)
            messages, options = self._describe(agent, messages, options)
            texts = [_text(message) for message in messages if _role(message) == "system"]
            environment = self._observer.environment
            tools = [describe_declaration(environment, tool) for tool in _tools(agent)]
            self._in_loop(self._observer.note_request, author, "\n\n".join(texts), tools)
            with self._observer.model_at_work():
                response = model.generate(messages, *args, **options)
            calls = [] if is_writing_code else _calls(response, author)
            self._calls += calls
            said = Message if calls else Thought
            self._in_loop(self._observer.note, *_items(response, str(model.model_id or ""), said, author), *calls)
            return response

        observed = copy.copy(model)
        observed.generate = generate
        return observed

    def _describe(
        self, agent: Any, messages: Sequence[Any], options: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return a request with the descriptions of the environment: in the tools, and in the prompt."""
        environment = self._observer.environment
        if environment is None:
            return list(messages), options
        listed = {str(tool["name"]): str(tool["description"]) for tool in _tools(agent)}
        messages = [_describe_prompt(environment, message, listed) for message in messages]
        tools = options.get("tools_to_call_from")
        described = {"tools_to_call_from": [describe_object(environment, tool) for tool in tools]} if tools else {}
        return messages, {**options, **described}

    def _observe_tool(self, tool: Any, author: str) -> Any:
        """Return a copy of a tool that asks the environment, if there is one, and reports its call and its result."""
        original = tool.forward

        def forward(*args: Any, **arguments: Any) -> Any:
            given = plain(dict(zip(tool.inputs, args, strict=False)) | arguments)
            call = self._call(str(tool.name), given, author)

            async def real() -> Any:
                if type(tool).__name__ == _TERMINAL:
                    raise self._observer.refuse(
                        f"{tool.name} asks the user on the terminal, and nobody answers there; a simulated environment "
                        "can answer it"
                    )
                return await result_in_thread(lambda: original(*args, **arguments))

            answering = self._observer.answer(call, _declaration(tool), real, as_json=as_response)
            answer = asyncio.run_coroutine_threadsafe(answering, self._loop).result()
            if answer.own or tool.output_type != "string":
                return answer.value
            return as_text(answer.value)

        observed = copy.copy(tool)
        observed.forward = forward
        return observed

    def _call(self, name: str, given: dict[str, Json], author: str) -> ToolCall:
        """Return the call of the model that a tool now answers. Code of a model calls tools without a call before."""
        for call in self._calls:
            if (call.name, call.args, call.author) == (name, given, author):
                self._calls.remove(call)
                return call
        call = ToolCall(name, given, f"call-{next(self._ids)}", author)
        self._in_loop(self._observer.note, call)
        return call

    def _close_calls(self, agent: Any) -> None:
        """Report the results of calls that no tool has answered, as the agent remembers them."""
        author = _name(agent)
        for call in [call for call in self._calls if call.author == author]:
            self._calls.remove(call)
            step = agent.memory.steps[-1]
            error = getattr(step, "error", None)
            response = {"error": str(error)} if error else read_response(str(getattr(step, "observations", "") or ""))
            self._in_loop(partial(self._observer.note_result, call.id, response, is_error=error is not None))

    def _in_loop(self, report: Any, *args: Any) -> None:
        """Call a function in the thread of the event loop, in the order of these requests."""
        self._loop.call_soon_threadsafe(report, *args)


def _team(agent: Any) -> Iterator[Any]:
    """Yield an agent and the agents that it manages."""
    yield agent
    for managed in agent.managed_agents.values():
        yield from _team(managed)


def _name(agent: Any) -> str:
    return str(agent.name or "agent")


def _role(message: Any) -> str:
    return str(getattr(message.role, "value", message.role))


def _text(message: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or () if part.get("type") == "text")


def _describe_prompt(environment: Environment, message: Any, listed: dict[str, str]) -> Any:
    """Return a system message that lists tools with the descriptions of the environment."""
    text = _text(message) if _role(message) == "system" else ""
    described = describe_in_prompt(environment, text, listed)
    if described == text:
        return message
    copied = copy.copy(message)
    copied.content = [{"type": "text", "text": described}]
    return copied


def _picture(part: Part) -> Any:
    return import_extra("PIL.Image", EXTRA).open(BytesIO(read_content(part)))


def _tools(agent: Any) -> Iterator[dict[str, Json]]:
    yield from (_declaration(tool) for name, tool in agent.tools.items() if name != _ANSWER)
    yield from (_declaration(managed) for managed in agent.managed_agents.values())


def _declaration(tool: Any) -> dict[str, Json]:
    inputs = plain(tool.inputs)
    required = [name for name, each in tool.inputs.items() if not each.get("nullable")]
    schema: dict[str, Json] = {"type": "object", "properties": inputs, "required": required}
    return {"name": str(tool.name), "description": str(tool.description or ""), "parameters_json_schema": schema}


def _calls(response: Any, author: str) -> list[ToolCall]:
    return [
        ToolCall(str(call.function.name), plain(read_arguments(call.function.arguments)), str(call.id), author)
        for call in response.tool_calls or ()
        if call.function.name != _ANSWER
    ]


def _items(response: Any, model: str, said: type[Message | Thought], author: str) -> list[Item]:
    """Return the tokens of a response, and its text.

    The text beside calls is a message. Code, and the text beside the answer, is a thought.
    """
    counts = response.token_usage
    usage = (
        Usage(model=model) if counts is None else token_usage(counts.input_tokens, counts.output_tokens, model=model)
    )
    text = _text(response)
    return [usage, said(text, author)] if text else [usage]


agent_at, agent_around = SmolAgent.at, SmolAgent.around
