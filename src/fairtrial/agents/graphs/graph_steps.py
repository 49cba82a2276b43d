"""Turn state messages and inner runs of a LangGraph graph into agent steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.graphs.graph_runs import GraphWatch, ModelRun, Run, ToolRun
from fairtrial.agents.nested_runs import inner_trace
from fairtrial.agents.plain import plain
from fairtrial.formats.chats.langchain_messages import HANDOFF_BACK
from fairtrial.formats.message_entries import read_response
from fairtrial.records.trace import Message, Step, Thought, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.protocols import Item


class GraphSteps:
    """The steps of one conversation that were reported already.

    A step is a message of the state. A call that is in no message was made inside a node, for example by an agent whose
    answer alone became a message. Such a call stands before the next message of the state.
    """

    def __init__(self) -> None:
        self._reported: dict[str | int, Any] = {}
        self._open_calls: list[ToolCall] = []
        self._runs_of_calls: list[tuple[ToolCall, ToolRun]] = []
        self._early_results: list[str] = []

    def begin_turn(self) -> None:
        """Forget the calls that never had a result. No result comes after the user's next message."""
        self._open_calls.clear()
        self._runs_of_calls.clear()
        self._early_results.clear()

    def take(
        self, messages: Sequence[Any], watch: GraphWatch, *, is_end: bool = False, is_stopped: bool = False
    ) -> Iterator[Step]:
        """Yield the steps of messages and runs that were not reported yet, in their order.

        `is_stopped` says that the graph waits for the user: the results of its calls come when it goes on.
        """
        new = [message for message in messages if _key(message) not in self._reported]
        # The dictionary keeps a message without an id alive, so that its object id stays unique.
        self._reported |= {_key(message): message for message in new}
        for message in new:
            self._open_calls += _calls(message, message.name or watch.name, watch.output_calls)
        runs = watch.take_runs(is_end=is_end)
        hidden = self._hidden(runs)
        reported = {message.tool_call_id for message in new if message.type == "tool"}
        reported |= {call.id for call, _ in self._runs_of_calls} if is_stopped else set()
        for i, message in enumerate(new):
            # A message that no model wrote comes after all that happened before the next message of a model.
            end = next((end for message in new[i:] if (end := _find_end(runs, message))), len(runs))
            yield from self._run_steps(runs[:end], hidden, reported)
            runs = runs[end:]
            yield from self._message_steps(message, watch)
        yield from self._run_steps(runs, hidden, reported)

    def _hidden(self, runs: Sequence[Run]) -> list[ToolRun]:
        """Return the runs of tools whose calls are in no message. The others are kept for the results."""
        hidden: list[ToolRun] = []
        for run in runs:
            if isinstance(run, ModelRun) or self._is_repeated(run):
                continue
            begun_calls = [call for call, _ in self._runs_of_calls]
            open_calls = (
                call for call in self._open_calls if not any(call is begun_call for begun_call in begun_calls)
            )
            call = next((call for call in open_calls if _is_same(run.call, call)), None)
            if call is None:
                hidden.append(run)
            else:
                self._runs_of_calls.append((call, run))
        return hidden

    def _is_repeated(self, run: ToolRun) -> bool:
        """Whether a tool runs again for the same call, for example after the user's answer. The call counts once."""
        earlier = next(
            (other_run for call, other_run in self._runs_of_calls if call.id and call.id == run.call.id), None
        )
        if earlier is None:
            return False
        earlier.add(run)
        return True

    def _run_steps(self, runs: Sequence[Run], hidden: list[ToolRun], reported: set[str]) -> Iterator[Step]:
        """Yield the steps of runs that no message tells."""
        for run in runs:
            if isinstance(run, ModelRun):
                calls = [] if _key(run.message) in self._reported else _list_claimed(run, hidden)
                if calls:
                    self._reported[_key(run.message)] = run.message
                    yield from _model_steps(run.message, run.author, calls)
            elif run in hidden:
                yield from _tool_steps(run)
                self._early_results += [run.call.id] if run.call.id else []
            else:
                yield from self._early_result(run, reported)

    def _early_result(self, run: ToolRun, reported: set[str]) -> Iterator[Step]:
        """Yield the result of a call of the state that no message of the same step tells."""
        call = next((call for call, other_run in self._runs_of_calls if other_run is run), None)
        if call is None or call.id in reported or run.result is None:
            return
        self._close(call)
        self._early_results.append(call.id)
        yield replace(run.result, id=call.id, author=call.author, inner=_inner(run))

    def _message_steps(self, message: Any, watch: GraphWatch) -> Iterator[Step]:
        if message.type in ("ai", "tool") and message.response_metadata.get(HANDOFF_BACK):
            return  # langgraph-supervisor writes a call into the history that no model made
        if message.type == "tool":
            yield from self._result(message, watch)
        elif message.type == "human" and message.name:
            # Graphs of several agents pass the answer of an agent on as a message to the next agent.
            yield Message(str(message.text), str(message.name))
        elif message.type == "ai":
            author = str(message.name or watch.name)
            yield from _model_steps(message, author, _calls(message, author, watch.output_calls))

    def _result(self, message: Any, watch: GraphWatch) -> Iterator[Step]:
        """Yield the result in a message of a tool. A message without a name has the name of its call."""
        call_id = message.tool_call_id
        if call_id in watch.output_calls:
            watch.output_calls.discard(call_id)
            return
        if call_id in self._early_results:
            self._early_results.remove(call_id)
            return
        call = next((call for call in self._open_calls if call.id == call_id), None)
        run = next((run for other_call, run in self._runs_of_calls if other_call is call), None)
        if call is not None:
            self._close(call)
        yield ToolResult(
            str(message.name or (call.name if call else "")),
            read_response(str(message.text)),
            call_id,
            call.author if call else watch.name,
            is_error=message.status == "error",
            inner=_inner(run) if run is not None else None,
        )

    def _close(self, call: ToolCall) -> None:
        self._open_calls = [open_call for open_call in self._open_calls if open_call is not call]
        self._runs_of_calls = [pair for pair in self._runs_of_calls if pair[0] is not call]


def _key(message: Any) -> str | int:
    return message.id or id(message)


def _find_end(runs: Sequence[Run], message: Any) -> int:
    """Return how many of the runs come up to the model's response that is a message, or 0 if none is."""
    responses = (isinstance(run, ModelRun) and _key(run.message) == _key(message) for run in runs)
    return next((i for i, is_response in enumerate(responses, 1) if is_response), 0)


def _is_same(run: ToolCall, call: ToolCall) -> bool:
    """Whether a run of a tool answers a call. A tool that a node calls without an id has the arguments of the call."""
    if run.name != call.name:
        return False
    return run.id == call.id if run.id and call.id else run.args == call.args


def _list_claimed(run: ModelRun, tools: Sequence[ToolRun]) -> list[ToolCall]:
    """Return the calls of a model that are among the runs of tools, and note that these runs have a call.

    A call that no tool ran is an answer in the form of a call, for example a decision of a router.
    """
    calls: list[ToolCall] = []
    for call in _calls(run.message, run.author, ()):
        tool = next((tool for tool in tools if not tool.is_announced and _is_same(tool.call, call)), None)
        if tool is not None:
            tool.is_announced = True
            calls.append(call)
    return calls


def _calls(message: Any, author: str, output_calls: Sequence[str] | set[str]) -> list[ToolCall]:
    """Return the calls in a message of a model, but not its answer in the form of a call."""
    if message.type != "ai":
        return []
    calls = [ToolCall(call["name"], plain(call["args"]), call["id"] or "", author) for call in message.tool_calls]
    return [call for call in calls if call.id not in output_calls]


def _model_steps(message: Any, author: str, calls: Sequence[ToolCall]) -> Iterator[Step]:
    """Yield the steps in a message of a model."""
    thoughts = [str(block.get("reasoning", "")) for block in message.content_blocks if block["type"] == "reasoning"]
    yield from (Thought(text, author) for text in thoughts if text)
    text = str(message.text)
    if text or not message.tool_calls:
        yield Message(text, author)
    yield from calls
    for call in message.invalid_tool_calls:
        yield ToolCall(call["name"] or "", {"arguments": call["args"]}, call["id"] or "", author)


def _tool_steps(run: ToolRun) -> Iterator[Step]:
    """Yield the call of a tool, unless the message of a model holds it, and its result."""
    if not run.is_announced:
        yield run.call
    if run.result is not None:
        yield replace(run.result, inner=_inner(run))


def _inner(tool: ToolRun) -> Trace | None:
    """Return the work inside a tool as a conversation of one turn, or None if no model and no tool worked there."""
    if not tool.runs and not tool.usages:
        return None
    tools = [run for run in tool.runs if isinstance(run, ToolRun)]
    steps: list[Item] = []
    for run in tool.runs:
        if isinstance(run, ToolRun):
            steps += _tool_steps(run)
        else:
            steps += _model_steps(run.message, run.author, _list_claimed(run, tools))
    return inner_trace(tool.call, [*steps, *tool.usages])
