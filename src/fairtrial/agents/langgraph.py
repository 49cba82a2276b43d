"""How is a LangGraph graph, or another LangChain runnable, talked to? Its steps are the messages of its state."""

from __future__ import annotations

import copy
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.declared import declaring
from fairtrial.agents.plain import plain
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.tool_nodes import declaration, has_tools, routed_graph
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.messages import response_of
from fairtrial.importing import import_extra, import_object
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import About, AgentDetails, Message, Thought, ToolCall, ToolResult, Usage

EXTRA = "agents-langgraph"
_ASKING = "__interrupt__"


def agent_at(target: str) -> LangGraphAgent:
    """Return the agent at `langgraph:MODULE:NAME`; raises UsageError."""
    import_extra("langgraph.types", EXTRA)
    path = target.partition(":")[2]
    found = import_object(path, path)
    if not any(hasattr(found, name) for name in ("astream", "compile")):
        raise UsageError(f"must be a graph or another runnable, got {type(found).__name__}")
    return LangGraphAgent(path, _compiled(found))


def agent_around(thing: Any) -> LangGraphAgent:
    """Return the agent that is a graph or another runnable."""
    found = _compiled(thing)
    return LangGraphAgent(_name(found), found)


def _compiled(thing: Any) -> Any:
    return thing if hasattr(thing, "astream") else thing.compile()


def _name(runnable: Any) -> str:
    return str(getattr(runnable, "name", None) or type(runnable).__name__)


@dataclass(frozen=True, slots=True)
class LangGraphAgent:
    """A graph whose state has `messages`, or a runnable that takes and returns such a state.

    The case's initial state is merged into the graph's. A graph with a checkpointer gets a thread of its own for each
    conversation, which is deleted at its end; without one, the state is carried from message to message.
    """

    path: str
    runnable: Any = field(repr=False)

    @property
    def refuses_environment(self) -> str:
        """Why no environment can stand before the tools; empty where one can."""
        return "" if has_tools(self.runnable) else "no ToolNode is in the graph, and other nodes call tools themselves"

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[LangGraphSession]:
        """Open a conversation."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        checkpointer = getattr(self.runnable, "checkpointer", None)
        thread = str(uuid.uuid4())
        runnable = self.runnable if environment is None else routed_graph(self.runnable, environment)
        try:
            yield LangGraphSession(runnable, state, thread, kept=bool(checkpointer))
        finally:
            if checkpointer and hasattr(checkpointer, "adelete_thread"):
                await checkpointer.adelete_thread(thread)


class LangGraphSession:
    """One conversation; `kept` says that the graph remembers it itself."""

    def __init__(self, runnable: Any, state: dict[str, Any], thread: str, *, kept: bool) -> None:
        self._runnable = runnable
        self._state = state
        self._thread = thread
        self._kept = kept
        self._told: dict[str | int, Any] = {}
        self._asked = False
        self._said = ""
        self._before = 0
        self._agents: dict[str, AgentDetails] = {}

    @property
    def about(self) -> About:
        """The agents that asked a chat model in the latest run, as they asked it, and the state without messages."""
        state: Json = plain({key: value for key, value in self._state.items() if key not in ("messages", _ASKING)})
        return About(tuple(self._agents.values()), state or None)

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Run the graph until it ends or asks (an interrupt); raises AgentError where its state has no messages."""
        watch = _Watch(_name(self._runnable))
        self._agents = watch.agents
        config = {"callbacks": [_handler(watch)], "configurable": {"thread_id": self._thread}}
        asked = self._input(message)
        try:
            async with aclosing(self._states(asked, config)) as states:
                async for state in states:
                    for item in (*watch.taken(), *self._news(state, watch.name)):
                        yield item
                    self._state = state
        except Exception:
            for item in watch.taken():
                yield item
            raise
        asking = self._state.get(_ASKING)
        self._asked = bool(asking)
        for one in asking or ():
            yield Message(one.value if isinstance(one.value, str) else str(plain(one.value)), watch.name)
        yield watch.times.durations

    def _input(self, message: str) -> Any:
        self._before = len(self._state.get("messages", ()))
        if self._asked:
            return import_extra("langgraph.types", EXTRA).Command(resume=message)
        human = import_extra("langchain_core.messages", EXTRA).HumanMessage(message, id=str(uuid.uuid4()))
        first, self._said = not self._said, human.id
        before = {key: value for key, value in self._state.items() if key != _ASKING}
        if self._kept and not first:
            return {"messages": [human]}
        return {**before, "messages": [*before.get("messages", ()), human]}

    async def _states(self, asked: Any, config: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The states that a graph goes through; a runnable that is no graph has one."""
        if hasattr(self._runnable, "get_graph") and hasattr(self._runnable, "stream_channels"):
            async for state in self._runnable.astream(asked, config, stream_mode="values"):
                yield _with_messages(state)
            return
        output = await self._runnable.ainvoke(asked, config)
        if isinstance(output, dict) and "messages" in output:
            yield output
        else:
            reply = import_extra("langchain_core.messages", EXTRA).AIMessage
            said = reply(output, id=str(uuid.uuid4())) if isinstance(output, str) else output
            yield _with_messages({**asked, "messages": [*asked["messages"], said]})

    def _news(self, state: dict[str, Any], author: str) -> Iterable[Item]:
        """The steps of the messages in a state that were not told before; one without an id is known as an object."""
        for message in self._latest(state.get("messages", [])):
            key = message.id or id(message)
            if key not in self._told:
                self._told[key] = message
                yield from _steps(message, author)

    def _latest(self, messages: list[Any]) -> list[Any]:
        """The messages after what was said last; all of them where the graph has dropped that."""
        if self._asked:
            return messages[self._before :]
        place = next((i for i, message in enumerate(messages) if message.id == self._said), -1)
        return messages[place + 1 :]


def _with_messages(state: Any) -> dict[str, Any]:
    messages = state.get("messages") if isinstance(state, dict) else None
    if isinstance(state, dict) and _ASKING in state and messages is None:
        return state
    if not isinstance(messages, list) or not all(hasattr(one, "content_blocks") for one in messages):
        got = ", ".join(map(repr, state)) if isinstance(state, dict) else type(state).__name__
        raise AgentError(f"the state must hold 'messages', a list of LangChain messages; it holds {got}")
    found: dict[str, Any] = state
    return found


def _steps(message: Any, author: str) -> list[Item]:
    """The steps that one message of a model or of a tool stands for; what the user said is none."""
    if message.type == "tool":
        name, response = str(message.name or ""), response_of(str(message.text))
        return [ToolResult(name, response, message.tool_call_id, author, is_error=message.status == "error")]
    if message.type != "ai":
        return []
    author = message.name or author
    thoughts = [str(block.get("reasoning", "")) for block in message.content_blocks if block["type"] == "reasoning"]
    steps: list[Item] = [Thought(text, author) for text in thoughts if text]
    text = str(message.text)
    if text or not message.tool_calls:
        steps.append(Message(text, author))
    steps += [ToolCall(call["name"], plain(call["args"]), call["id"] or "", author) for call in message.tool_calls]
    steps += [
        ToolCall(call["name"] or "", {"arguments": call["args"]}, call["id"] or "", author)
        for call in message.invalid_tool_calls
    ]
    return steps


class _Watch:
    """What callbacks tell beside the messages: tokens, times, instructions and tools."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times = Stopwatch()
        self.agents: dict[str, AgentDetails] = {}
        self._usages: list[Usage] = []

    def taken(self) -> list[Usage]:
        """Hand over the tokens of the model calls since it was last asked."""
        usages, self._usages = self._usages, []
        return usages

    def asked(self, messages: list[Any], parameters: dict[str, Any], name: str, run: str) -> None:
        """A chat model is asked; a graph may have several, each with tools of its own."""
        texts = (str(message.text) for message in messages if message.type == "system")
        known = self.agents.get(name) or AgentDetails(name, "\n\n".join(texts))
        tools = (declaration(tool) for tool in parameters.get("tools") or () if isinstance(tool, dict))
        self.agents[name] = declaring(known, tools)
        self.times.start("model", run)

    def replied(self, response: Any, run: str) -> None:
        """A model replied."""
        self.times.end("model", run)
        for generations in response.generations:
            message = getattr(generations[0], "message", None) if generations else None
            self._usages.append(_usage(message))


def _usage(message: Any) -> Usage:
    """Return the tokens of a model call; the output tokens include the reasoning tokens."""
    used = getattr(message, "usage_metadata", None) or {}
    return Usage(
        used.get("input_tokens"),
        used.get("output_tokens"),
        (used.get("output_token_details") or {}).get("reasoning"),
        (used.get("input_token_details") or {}).get("cache_read"),
        str((getattr(message, "response_metadata", None) or {}).get("model_name") or ""),
    )


def _handler(watch: _Watch) -> Any:
    """A callback handler of LangChain that tells a watch; made here, because its class derives from LangChain's."""
    base: Any = import_extra("langchain_core.callbacks", EXTRA).AsyncCallbackHandler

    class Handler(base):  # type: ignore[misc]
        async def on_chat_model_start(
            self, _serialized: Any, messages: Any, *, run_id: Any, metadata: Any = None, **more: Any
        ) -> None:
            name = str((metadata or {}).get("lc_agent_name") or watch.name)
            watch.asked(messages[0], more.get("invocation_params") or {}, name, str(run_id))

        async def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
            watch.replied(response, str(run_id))

        async def on_llm_error(self, _error: Any, *, run_id: Any, **_: Any) -> None:
            watch.times.end("model", str(run_id))

        async def on_tool_start(self, _serialized: Any, _text: str, *, run_id: Any, **_: Any) -> None:
            watch.times.start("tool", str(run_id))

        async def on_tool_end(self, _output: Any, *, run_id: Any, **_: Any) -> None:
            watch.times.end("tool", str(run_id))

        async def on_tool_error(self, _error: Any, *, run_id: Any, **_: Any) -> None:
            watch.times.end("tool", str(run_id))

    return Handler()
