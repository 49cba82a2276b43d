"""Sessions with LangGraph graphs and other LangChain runnables. Their messages become steps."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.graphs.described_models import describe_requests
from fairtrial.agents.graphs.graph_fields import (
    MESSAGE,
    MESSAGES,
    TEXT,
    find_history,
    find_input,
    find_reply,
    is_function,
    keeps_history,
    last_changed,
    list_memory_keys,
    list_variables,
)
from fairtrial.agents.graphs.graph_functions import INTERRUPT, is_workflow, workflow_input, workflow_states
from fairtrial.agents.graphs.graph_runs import GraphWatch, callback_handler
from fairtrial.agents.graphs.graph_steps import GraphSteps
from fairtrial.agents.graphs.graph_stops import Stop, find_stop, open_calls, with_checkpointer
from fairtrial.agents.graphs.tool_nodes import has_tools, route_graph, tools_of_graphs
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, Opening
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.user_parts import langchain_content, refuse_parts
from fairtrial.errors import AgentError, UnfitCaseError, UsageError
from fairtrial.formats.message_entries import read_response
from fairtrial.records.trace import About, AgentDetails, Approval, Message, Part, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.agents.factories import AgentSource
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-langgraph"
_NO_TOOLS = "the graph has no ToolNode, and other nodes call tools themselves"
_NO_CHECKPOINTER = (
    "the graph has asked with interrupt(), and cannot take the answer without a checkpointer; compile it with "
    "checkpointer=InMemorySaver()"
)


def _ensure_compiled(thing: Any) -> Any:
    return thing if hasattr(thing, "astream") else thing.compile()


def _ensure_valid(runnable: Any) -> Any:
    """Return a runnable. Raises UsageError if it is a workflow that can hold no conversation."""
    if is_workflow(runnable):
        workflow_input(runnable)
    return runnable


class LangGraphAgent(ObservedFramework):
    """A graph whose state has `messages`, or a runnable that takes and returns such a state.

    If there are no messages, a field such as `question` takes the text of the user, and a field such as `answer`, or
    the last field that the graph writes, is the reply. Options of a factory name other fields.

    The case's initial state is merged into the state of the graph. If the graph has a checkpointer, each conversation
    gets a thread of its own, which is deleted at the end. Otherwise the session carries the state to the next message.
    A chain with a `RunnableWithMessageHistory` gets the new message only, and each conversation a `session_id`.
    """

    package_extra, library, kind = EXTRA, "langgraph.types", "a graph or another runnable"
    options = ("context", "configurable", "recursion_limit", "store", "input", "output")

    @classmethod
    def make_source(cls, thing: Any) -> AgentSource:
        """Return the source of graphs in an object. Raises UsageError if it is none, or can hold no conversation."""
        if cls.is_agent(thing):
            thing = _ensure_valid(_ensure_compiled(thing))
            find_input(thing)
        return super().make_source(thing)

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is a graph or another runnable."""
        return any(hasattr(thing, name) for name in ("astream", "compile")) and not inspect.isclass(thing)

    @staticmethod
    def read_name(thing: Any) -> str:
        """Return the name of a graph, or of its class."""
        runnable = _ensure_compiled(thing)
        return str(getattr(runnable, "name", None) or type(runnable).__name__)

    @property
    def refuses_environment(self) -> str:
        """Why an environment cannot answer the calls of tools. The text is empty if an environment can."""
        return "" if self.source.is_factory or has_tools(self.source.thing) else _NO_TOOLS

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        return LangGraphSession(opening)


class LangGraphSession(FrameworkSession):
    """One conversation. A graph with a checkpointer keeps the conversation itself."""

    def __init__(self, opening: Opening) -> None:
        options, environment = opening.options, opening.environment
        graph = with_checkpointer(_ensure_valid(_ensure_compiled(opening.thing)))
        self._field = find_input(graph, str(options.pop("input", "")))
        self._output = str(options.pop("output", ""))
        if "store" in options:
            graph = graph.copy({"store": options.pop("store")})
        if environment is not None and not has_tools(graph):
            raise UsageError(_NO_TOOLS, code="unusable-agent")
        self._checkpointer = getattr(graph, "checkpointer", None)
        self._runnable = graph if environment is None else route_graph(graph, environment)
        if environment is not None:
            describe_requests()
        super().__init__(opening, LangGraphAgent.read_name(self._runnable))
        self._state = opening.state
        self._initial = opening.state
        keys = ("thread_id", *list_memory_keys(graph))
        configurable = {**{key: str(uuid.uuid4()) for key in keys}, **options.pop("configurable", {})}
        limit = {"recursion_limit": options.pop("recursion_limit")} if "recursion_limit" in options else {}
        self._config = {"configurable": configurable, **limit}
        self._options = options
        self._steps = GraphSteps()
        self._environment = environment
        self._interrupted = False
        self._interrupts: dict[str, Any] = {}
        self._stop: Stop | None = None
        self._user_message_id = ""
        self._earlier_messages = 0
        self._agents: dict[str, AgentDetails] = {}

    async def close(self) -> None:
        """Delete the thread of the conversation in the checkpointer."""
        if self._checkpointer and hasattr(self._checkpointer, "adelete_thread"):
            await self._checkpointer.adelete_thread(str(self._config["configurable"]["thread_id"]))

    @property
    def about(self) -> About:
        """The agents with a request to a chat model in the latest run, and the state without messages."""
        state: Json = plain({key: value for key, value in self._state.items() if key not in ("messages", INTERRUPT)})
        return About(tuple(self._with_tool_nodes().values()), state or None)

    async def declared(self) -> About:
        """Return the graphs with the tools of their tool nodes."""
        return About(tuple(self._with_tool_nodes().values()))

    def _with_tool_nodes(self) -> dict[str, AgentDetails]:
        """Return the agents with the tools that their tool nodes run, also if no request has declared the tools.

        For example, a router that never routes to an agent leaves the agent without a request.
        """
        agents = dict(self._agents)
        for name, tools in tools_of_graphs(self._runnable, self._name):
            agents[name] = add_declarations(agents.get(name) or AgentDetails(name), tools)
        return agents

    @functools.cached_property
    def _history(self) -> str:
        """The field that takes the earlier messages. It is read once, because LangChain makes the schema each time."""
        return find_history(self._runnable)

    def _begin(self) -> None:
        self._agents = {}

    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        return self._run(self._input(message, parts))

    def _waiting(self) -> Sequence[ToolCall]:
        return self._stop.calls if self._stop is not None else ()

    async def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the graph that waits for decisions."""
        stop = self._stop
        assert stop is not None  # noqa: S101  (calls wait)
        self._earlier_messages = len(self._state.get("messages", ()))
        self._interrupted = True
        graph_input = await stop.resume(self._runnable, self._config, decisions)
        async with aclosing(self._run(graph_input)) as items:
            async for item in items:
                yield item

    async def _run(self, graph_input: Any) -> AsyncGenerator[Item, None]:
        """Yield the items of a run. Raises AgentError if the state has no messages."""
        watch = GraphWatch(self._name, self._agents, self._environment)
        config = {"callbacks": [callback_handler(watch)], **self._config}
        self._interrupts = {}
        try:
            async with aclosing(self._states(graph_input, config)) as states:
                async for state in states:
                    for item in (*watch.take_usages(), *self._new_steps(state, watch)):
                        yield item
                    self._state = state
                    # A graph that interrupts several nodes at once tells of each in a state of its own.
                    self._interrupts |= {interrupt.id: interrupt for interrupt in state.get(INTERRUPT) or ()}
        except Exception as error:
            for item in (*watch.take_usages(), *self._steps.take((), watch, is_end=True)):
                yield item
            if watch.refusal is not None:
                raise watch.refusal from error
            raise
        is_stopped = bool(self._interrupts)
        usages = watch.take_usages(is_end=True)
        for item in (*usages, *self._steps.take((), watch, is_end=True, is_stopped=is_stopped)):
            yield item
        if watch.refusal is not None:
            raise watch.refusal
        interrupts = list(self._interrupts.values())
        self._stop = await find_stop(self._runnable, self._config, interrupts, self._state.get("messages") or [])
        self._interrupted = bool(interrupts)
        if interrupts and self._stop is None:
            values = [interrupt.value for interrupt in interrupts]
            questions = [value if isinstance(value, str) else as_text(plain(value)) for value in values]
            yield Message("\n".join(questions), watch.name)
        if watch.has_structured_reply and not interrupts and (reply := self._structured_reply()):
            yield Message(reply, watch.name)
        yield watch.times.durations

    def _input(self, message: str, parts: Sequence[Part]) -> Any:
        self._earlier_messages = len(self._state.get("messages", ()))
        if self._interrupted:
            refuse_parts(parts)
            if not self._checkpointer:
                raise UsageError(_NO_CHECKPOINTER, code="unusable-agent")
            return import_extra("langgraph.types", EXTRA).Command(resume=dict.fromkeys(self._interrupts, message))
        human = import_extra("langchain_core.messages", EXTRA).HumanMessage(
            langchain_content(message, parts), id=str(uuid.uuid4())
        )
        if is_workflow(self._runnable) and workflow_input(self._runnable) == "text":
            refuse_parts(parts, "a workflow that takes a text")
        self._refuse_open_calls()
        self._steps.begin_turn()
        is_first, self._user_message_id = not self._user_message_id, human.id
        earlier = self._state.get("messages", ())
        messages = [*earlier, human]
        sent = [human] if not is_first and keeps_history(self._runnable) else messages
        if self._field:
            # A graph without messages begins again with each message, unless its checkpointer keeps the state.
            state = {} if self._checkpointer and not is_first else self._initial
            self._state = {"messages": messages}
            if self._field in (TEXT, MESSAGE, MESSAGES):
                self._refuse_state()
            if self._field in (MESSAGE, MESSAGES):
                return human if self._field == MESSAGE else sent
            refuse_parts(parts, "a field that takes a text")
            if self._field == TEXT:
                return message
            history = state.get(self._history, []) if self._history else None
            if isinstance(history, list):  # the prompt refuses any other value itself
                state = {**state, self._history: [*history, *earlier]}
            return self._fill({**state, self._field: message})
        state = {key: value for key, value in self._state.items() if key != INTERRUPT}
        if self._checkpointer and not is_first:
            return {"messages": [human]}
        return {**state, "messages": sent}

    def _refuse_open_calls(self) -> None:
        """Raise UnfitCaseError if a model alone would get a message after a call without a result.

        Providers refuse that. A graph, or a function, may answer the call itself.
        """
        is_chain = not hasattr(self._runnable, "stream_channels") and not is_function(self._runnable)
        if is_chain and self._field in ("", MESSAGES) and (calls := open_calls(self._state.get("messages", ()))):
            names = ", ".join(repr(call.name) for call in calls)
            raise UnfitCaseError(f"the model has called {names} and waits for results, but nothing runs its tools")

    def _refuse_state(self) -> None:
        """Raise UnfitCaseError if the case has a state, which the input of the runnable has no place for."""
        if self._initial:
            names = ", ".join(map(repr, self._initial))
            raise UnfitCaseError(
                f"the state of session_input has {names}, and the runnable takes only the message and no fields"
            )

    def _fill(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a message. Raises UnfitCaseError if the prompt of a chain has others."""
        missing = [name for name in list_variables(self._runnable) if name not in fields]
        if missing:
            raise UnfitCaseError(
                f"the prompt needs {', '.join(map(repr, missing))}, which neither the message nor the state of "
                "session_input gives"
            )
        return fields

    async def _states(self, graph_input: Any, config: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the states of a graph after each step. Another runnable has one state only, its output."""
        if is_workflow(self._runnable):
            earlier = self._state.get("messages", ())
            states = workflow_states(self._runnable, graph_input, earlier, config, self._options)
            async with aclosing(states):
                async for state in states:
                    yield state
            return
        if self._field not in ("", MESSAGE, MESSAGES):
            async with aclosing(self._field_states(graph_input, config)) as states:
                async for state in states:
                    yield state
            return
        if hasattr(self._runnable, "get_graph") and hasattr(self._runnable, "stream_channels"):
            async for state in self._runnable.astream(graph_input, config, stream_mode="values", **self._options):
                yield _with_messages(state)
            return
        output = await self._runnable.ainvoke(graph_input, config)
        if isinstance(output, dict) and "messages" in output:
            yield _with_messages(output)
        else:
            fields = graph_input if isinstance(graph_input, dict) else self._state
            yield _with_messages({**fields, "messages": [*fields["messages"], _make_reply(output, output)]})

    async def _field_states(self, graph_input: Any, config: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the states of a graph or a chain without messages, with the messages so far. The last has the reply."""
        messages = self._state["messages"]
        before: dict[str, Any] = graph_input if isinstance(graph_input, dict) else {}
        output: Any = dict(before)
        latest = ""
        if hasattr(self._runnable, "stream_channels"):
            async for state in self._runnable.astream(graph_input, config, stream_mode="values", **self._options):
                latest, output = last_changed(state, output) or latest, state
                yield {**state, "messages": messages}
        else:
            output = await self._runnable.ainvoke(graph_input, config)
        fields = output if isinstance(output, dict) else {}
        if INTERRUPT not in fields:
            reply = _make_reply(output, find_reply(output, before, self._output, latest))
            yield {**fields, "messages": [*messages, reply]}

    def _new_steps(self, state: dict[str, Any], watch: GraphWatch) -> Iterator[Item]:
        """Yield the steps in a state, and of the runs before it, that were not reported yet."""
        return self._steps.take(self._latest(state.get("messages", [])), watch, is_stopped=INTERRUPT in state)

    def _structured_reply(self) -> str:
        """Return the structured response in the state as JSON, or an empty text if the latest message is JSON."""
        value = self._state.get("structured_response")
        latest = next(reversed(self._state.get("messages") or ()), None)
        if latest is not None and latest.type == "ai" and not isinstance(read_response(str(latest.text)), str):
            return ""
        return "" if value is None else as_text(value)

    def _latest(self, messages: list[Any]) -> list[Any]:
        """Return the messages after the user's latest message, or all messages if the graph dropped that message."""
        if self._interrupted:
            return messages[self._earlier_messages :]
        index = next((i for i, message in enumerate(messages) if message.id == self._user_message_id), -1)
        return messages[index + 1 :]


def _make_reply(output: Any, reply: Any) -> Any:
    """Return the output of a chain if it is a message, with its calls, or else a message with the reply."""
    if hasattr(output, "content_blocks"):
        return output
    return import_extra("langchain_core.messages", EXTRA).AIMessage(as_text(reply), id=str(uuid.uuid4()))


def _with_messages(state: Any) -> dict[str, Any]:
    messages = state.get("messages") if isinstance(state, dict) else None
    if isinstance(state, dict) and INTERRUPT in state and messages is None:
        return state
    if not isinstance(messages, list) or not all(hasattr(message, "content_blocks") for message in messages):
        got = ", ".join(map(repr, state)) if isinstance(state, dict) else type(state).__name__
        if messages is not None:
            kinds = sorted({type(message).__name__ for message in messages}) if isinstance(messages, list) else []
            got = f"'messages' of another kind: {type(messages).__name__} of {', '.join(kinds) or 'nothing'}"
        raise AgentError(f"the state must hold 'messages', a list of LangChain messages; it holds {got}")
    checked: dict[str, Any] = state
    return checked


agent_at, agent_around = LangGraphAgent.at, LangGraphAgent.around
