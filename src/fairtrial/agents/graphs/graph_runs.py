"""Watch model and tool runs of LangChain graphs, also inside nodes and tools, through callbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.graphs.described_models import ENVIRONMENT
from fairtrial.agents.graphs.tool_nodes import declaration, is_let_through, response_in
from fairtrial.agents.nested_runs import collect_requests
from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.routing import check_untouched
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.token_usage import token_usage
from fairtrial.records.trace import AgentDetails, ToolCall, ToolResult, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment

EXTRA = "agents-langgraph"
UNNAMED = "LangGraph"
"""The name of a graph that has no name."""
_STEP = "graph:step:"
_STRUCTURED = "structured_response"


@dataclass(eq=False)
class ModelRun:
    """The response of a chat model, and the agent that asked for it."""

    message: Any
    author: str


@dataclass(eq=False)
class ToolRun:
    """A call of a tool with its result, and the models and tools that worked inside the tool."""

    call: ToolCall
    result: ToolResult | None = None
    runs: list[ModelRun | ToolRun] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    is_announced: bool = False

    def add(self, again: ToolRun) -> None:
        """Add the work of another run for the same call."""
        self.result = again.result or self.result
        self.runs += again.runs
        self.usages += again.usages


Run = ModelRun | ToolRun


@dataclass(eq=False)
class _Place:
    """A run of LangChain in the tree of runs. A graph is the parent of its steps."""

    name: str
    parent: _Place | None
    is_step: bool = False
    is_graph: bool = False
    tool: ToolRun | None = None

    def around(self) -> Iterator[_Place]:
        """Yield this place and the places around it, from the inside out."""
        place: _Place | None = self
        while place is not None:
            yield place
            place = place.parent


class GraphWatch:
    """Collects the facts that only callbacks report: calls, tokens, times, instructions and tools."""

    def __init__(self, name: str, agents: dict[str, AgentDetails], environment: Environment | None) -> None:
        self.name = name
        self.times = Stopwatch()
        self.agents = agents
        self.output_calls: set[str] = set()
        self.has_structured_reply = False
        self.refusal: Exception | None = None
        self.environment = environment
        self._usage_count = 0
        self._requests: list[bool] = []
        collect_requests(self._requests)
        self._places: dict[str, _Place] = {}
        self._runs: list[Run] = []
        self._usages: list[Usage] = []

    def take_usages(self, *, is_end: bool = False) -> list[Usage]:
        """Return the tokens of the model calls outside of tools since the last time, and forget them.

        At the end, requests that no model of LangChain reported are calls of unknown tokens.
        """
        untold = [Usage()] * (len(self._requests) - self._usage_count) if is_end else []
        usages, self._usages = [*self._usages, *untold], []
        return usages

    def take_runs(self, *, is_end: bool = False) -> list[Run]:
        """Return the models and tools that have worked since the last time, and forget them.

        A tool that is still at work is kept for the next time, unless the graph has ended.
        """
        taken = [run for run in self._runs if is_end or isinstance(run, ModelRun) or run.result is not None]
        self._runs = [run for run in self._runs if run not in taken]
        return taken

    def begin(self, run: str, name: str, parent: Any, tags: Sequence[str] = ()) -> _Place:
        """Note a run of a runnable, and return its place."""
        around = self._places.get(str(parent))
        is_step = any(tag.startswith(_STEP) for tag in tags)
        if is_step and around is not None:
            around.is_graph = True
        place = self._places[run] = _Place(name, around, is_step)
        return place

    def end(self, run: str, output: Any) -> None:
        """Note the output of a node. Only agents of LangChain return a structured response."""
        place = self._places.get(run)
        if place is None or not place.is_step:
            return
        for update in _updates(output):
            if _STRUCTURED not in update:
                continue
            messages = update.get("messages")
            answers = [message for message in _make_list(messages) if hasattr(message, "tool_call_id")]
            self.output_calls |= {str(answer.tool_call_id) for answer in answers}
            self._forget_tools({str(answer.name) for answer in answers})
            is_of_root = place.parent is not None and place.parent.parent is None
            self.has_structured_reply |= is_of_root and update[_STRUCTURED] is not None

    def _forget_tools(self, names: set[str]) -> None:
        """Forget tools that are the form of an answer: no agent can call them."""
        for name, agent in self.agents.items() if names else ():
            tools = tuple(tool for tool in agent.tool_declarations if tool.get("name") not in names)
            self.agents[name] = replace(agent, tool_declarations=tools)

    def note_request(self, messages: list[Any], parameters: dict[str, Any], run: str, parent: Any) -> None:
        """Note a request to a chat model. A graph may have several models, each with tools of its own."""
        name = self._agent_at(self.begin(run, "", parent))
        texts = (str(message.text) for message in messages if message.type == "system")
        agent = self.agents.get(name) or AgentDetails(name, "\n\n".join(texts))
        tools = (declaration(tool) for tool in parameters.get("tools") or () if isinstance(tool, dict))
        self.agents[name] = add_declarations(agent, tools)
        self.times.start("model", run)

    def note_response(self, response: Any, run: str) -> None:
        """Note the response of a model."""
        first_token = self.times.take_first_token(run)
        self.times.end("model", run)
        place = self._places.get(run)
        tool = _tool_around(place)
        for generations in response.generations:
            self._usage_count += 1
            message = getattr(generations[0], "message", None) if generations else None
            (self._usages if tool is None else tool.usages).append(replace(_usage(message), first_token=first_token))
            if message is not None and place is not None:
                (self._runs if tool is None else tool.runs).append(ModelRun(message, self._agent_at(place)))

    async def note_tool(self, name: str, args: Any, call_id: str, run: str, parent: Any) -> None:
        """Note the begin of a tool. Raises if an environment would answer the call, but does not reach the tool."""
        place = self.begin(run, name, parent)
        outer = _tool_around(place)
        args = plain(args) if isinstance(args, dict) else {"input": as_text(args)}
        call = ToolCall(name, args, call_id, self._agent_at(place))
        runs = self._runs if outer is None else outer.runs
        earlier = next((run for run in _latest_tools(runs) if call_id and run.call == call), None)
        place.tool = earlier or ToolRun(call)
        runs += [] if earlier else [place.tool]
        if self.environment is not None and not is_let_through(call_id):
            try:
                await check_untouched(self.environment, call)
            except Exception as refusal:
                self.refusal = self.refusal or refusal
                raise
        self.times.start("tool", run)

    def note_output(self, output: Any, run: str) -> None:
        """Note the result of a tool."""
        self.times.end("tool", run)
        tool = self._tool_at(run)
        if tool is None:
            return
        message_id = str(getattr(output, "tool_call_id", None) or tool.call.id)
        tool.call = replace(tool.call, id=message_id)
        is_message = hasattr(output, "content_blocks") or hasattr(output, "update") or isinstance(output, list)
        response = response_in(output, message_id) if message_id and is_message else as_response(output)
        is_error = getattr(output, "status", "") == "error"
        tool.result = ToolResult(tool.call.name, response, message_id, tool.call.author, is_error=is_error)

    def note_error(self, error: BaseException, run: str) -> None:
        """Note the exception of a tool. A tool that asks the user has no result, and runs again after the answer."""
        self.times.end("tool", run)
        tool = self._tool_at(run)
        if tool is None:
            return
        if isinstance(error, import_extra("langgraph.errors", EXTRA).GraphBubbleUp):
            outer = _tool_around(self._places[run].parent)
            siblings = self._runs if outer is None else outer.runs
            siblings[:] = [sibling for sibling in siblings if sibling is not tool]
            (self._usages if outer is None else outer.usages).extend(_all_usages(tool))
            return
        call = tool.call
        tool.result = ToolResult(call.name, {"error": describe_failure(error)}, call.id, call.author, is_error=True)

    def note_token(self, text: str, run: str) -> None:
        """Note a piece that a model streams. The pieces of a model inside a tool are not for the user."""
        if text and self._tool_at(run) is None:
            self.times.note_token(run)

    def _tool_at(self, run: str) -> ToolRun | None:
        place = self._places.get(run)
        return place.tool if place is not None else None

    def _agent_at(self, place: _Place) -> str:
        """Return the name of the agent that works at a place: the innermost graph with a name.

        A graph without a name is called as the node or the tool that runs it.
        """
        in_unnamed = False
        for around in place.around():
            if around.is_graph and around.parent is None:
                return self.name
            if around.is_graph and around.name != UNNAMED:
                return around.name
            if in_unnamed and (around.is_step or around.tool is not None):
                return around.name
            in_unnamed |= around.is_graph
        return self.name


def _tool_around(place: _Place | None) -> ToolRun | None:
    """Return the innermost tool that works at a place, or None outside of tools."""
    return next((each.tool for each in place.around() if each.tool is not None), None) if place is not None else None


def _latest_tools(runs: Sequence[Run]) -> Iterator[ToolRun]:
    """Yield the runs of tools after the latest response of a model. One of them may run again for the same call."""
    for run in reversed(runs):
        if isinstance(run, ModelRun):
            return
        yield run


def _all_usages(tool: ToolRun) -> list[Usage]:
    inner = [usage for run in tool.runs if isinstance(run, ToolRun) for usage in _all_usages(run)]
    return [*tool.usages, *inner]


def _updates(output: Any) -> Iterator[dict[str, Any]]:
    """Yield the updates of the state in the output of a node: a mapping, a command, or a list of these."""
    for each in _make_list(output):
        update = each if isinstance(each, dict) else getattr(each, "update", None)
        if isinstance(update, dict):
            yield update


def _make_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _usage(message: Any) -> Usage:
    """Return the tokens of a model call. The output tokens include the reasoning tokens."""
    counts = getattr(message, "usage_metadata", None) or {}
    return token_usage(
        counts.get("input_tokens"),
        counts.get("output_tokens"),
        (counts.get("output_token_details") or {}).get("reasoning"),
        (counts.get("input_token_details") or {}).get("cache_read"),
        str((getattr(message, "response_metadata", None) or {}).get("model_name") or ""),
    )


def _token_callback(watch: GraphWatch) -> Any:
    async def on_llm_new_token(_: Any, token: Any, *, run_id: Any, chunk: Any = None, **__: Any) -> None:
        message = getattr(chunk, "message", None)
        watch.note_token(str(token if message is None else message.text), str(run_id))

    return on_llm_new_token


def callback_handler(watch: GraphWatch) -> Any:
    """Return a callback handler of LangChain that reports to a watch.

    The class is defined in this function, because its base class is LangChain's, which is imported late.
    """
    base: Any = import_extra("langchain_core.callbacks", EXTRA).AsyncCallbackHandler

    class Handler(base):  # type: ignore[misc]
        # A call that an environment would answer must not reach the real tool.
        raise_error = True
        on_llm_new_token = _token_callback(watch)

        async def on_chain_start(
            self, _serialized: Any, _inputs: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any
        ) -> None:
            watch.begin(str(run_id), str(more.get("name") or ""), parent_run_id, more.get("tags") or ())

        async def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
            watch.end(str(run_id), outputs)

        async def on_chat_model_start(
            self, _serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any
        ) -> None:
            watch.note_request(messages[0], more.get("invocation_params") or {}, str(run_id), parent_run_id)

        async def on_llm_start(
            self, _serialized: Any, _prompts: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any
        ) -> None:
            watch.begin(str(run_id), "", parent_run_id)

        async def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
            watch.note_response(response, str(run_id))

        async def on_llm_error(self, _error: Any, *, run_id: Any, **_: Any) -> None:
            watch.times.end("model", str(run_id))

        async def on_tool_start(
            self, serialized: Any, text: str, *, run_id: Any, parent_run_id: Any = None, **more: Any
        ) -> None:
            args = more.get("inputs")
            name, call_id = str((serialized or {}).get("name") or ""), str(more.get("tool_call_id") or "")
            await watch.note_tool(name, text if args is None else args, call_id, str(run_id), parent_run_id)

        async def on_tool_end(self, output: Any, *, run_id: Any, **_: Any) -> None:
            watch.note_output(output, str(run_id))

        async def on_tool_error(self, error: Any, *, run_id: Any, **_: Any) -> None:
            watch.note_error(error, str(run_id))

    handler = Handler()
    setattr(handler, ENVIRONMENT, watch.environment)
    return handler
