"""Stops of a LangGraph graph, at a middleware or a breakpoint, and the resumption after a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairtrial.agents.graphs.graph_code import may_interrupt
from fairtrial.agents.plain import plain
from fairtrial.records.trace import Approval, ToolCall
from fairtrial.system.importing import import_extra

EXTRA = "agents-langgraph"
_MIDDLEWARE = "HumanInTheLoopMiddleware"


class Stop(Protocol):
    """A graph that waits for decisions about calls."""

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that wait."""
        ...

    async def resume(self, graph: Any, config: dict[str, Any], decisions: Sequence[Approval]) -> Any:
        """Return the input with which the graph goes on."""
        ...


def with_checkpointer(graph: Any) -> Any:
    """Return a graph that can go on after a stop.

    A server such as LangGraph Platform brings the checkpointer itself, so that a graph may come without it. Then the
    copy has a checkpointer in memory, if the graph has a breakpoint, a middleware or code that asks the user.
    """
    if getattr(graph, "checkpointer", None) is not None or not hasattr(graph, "stream_channels"):
        return graph
    if not (_has_breakpoints(graph) or _has_middleware(graph) or may_interrupt(graph)):
        return graph
    saver = import_extra("langgraph.checkpoint.memory", EXTRA).InMemorySaver()
    return graph.copy({"checkpointer": saver})


async def find_stop(graph: Any, config: dict[str, Any], interrupts: Sequence[Any], messages: list[Any]) -> Stop | None:
    """Return the stop of a graph that waits for decisions, or None if it has ended or asks another question."""
    requests = [(interrupt.id, request) for interrupt in interrupts for request in requests_in(interrupt.value)]
    if requests:
        return MiddlewareStop(requests, open_calls(messages))
    if interrupts or not _has_breakpoints(graph) or not getattr(graph, "checkpointer", None):
        return None
    nodes = tuple((await graph.aget_state(config)).next)
    return _Breakpoint(nodes, messages) if nodes else None


def _has_breakpoints(graph: Any) -> bool:
    names = ("interrupt_before_nodes", "interrupt_after_nodes")
    return any(bool(getattr(graph, name, None)) for name in names)


def _has_middleware(graph: Any) -> bool:
    nodes = getattr(graph, "nodes", {})
    return isinstance(nodes, dict) and any(str(name).startswith(_MIDDLEWARE) for name in nodes)


def requests_in(value: Any) -> list[dict[str, Any]]:
    """Return the requests of LangChain's middleware in the value of an interrupt: one for each call, or a batch."""
    if not isinstance(value, dict):
        return []
    if value.get("type") == "tool_approval":
        return [value]
    requests = value.get("action_requests")
    return list(requests) if isinstance(requests, list) else []


def open_calls(messages: Sequence[Any]) -> list[ToolCall]:
    """Return the calls of the latest message of a model that have no result."""
    answered = {message.tool_call_id for message in messages if message.type == "tool"}
    latest = next((message for message in reversed(messages) if message.type == "ai"), None)
    calls = latest.tool_calls if latest is not None else ()
    return [
        ToolCall(call["name"], plain(call["args"]), call["id"] or "") for call in calls if call["id"] not in answered
    ]


@dataclass(frozen=True)
class MiddlewareStop:
    """LangChain's HumanInTheLoopMiddleware waits. `requests` are its requests with the ids of their interrupts."""

    requests: list[tuple[str, dict[str, Any]]]
    open_calls: list[ToolCall]

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that wait. The requests of a batch have no ids, but the same order as the calls."""
        remaining = list(self.open_calls)
        calls: list[ToolCall] = []
        for _, request in self.requests:
            call_id = request.get("tool_call_id")
            match = next(
                (call for call in remaining if call.name == request["name"] and call_id in (None, call.id)),
                ToolCall(request["name"], plain(request["args"])),
            )
            remaining = [call for call in remaining if call is not match]
            calls.append(match)
        return calls

    async def resume(self, graph: Any, config: dict[str, Any], decisions: Sequence[Approval]) -> Any:  # noqa: ARG002
        """Return the command with the answers."""
        return import_extra("langgraph.types", EXTRA).Command(resume=self.answers(decisions))

    def answers(self, decisions: Sequence[Approval]) -> dict[str, Any]:
        """Return the decisions by the ids of the interrupts."""
        answers: dict[str, Any] = {}
        for (interrupt_id, request), decision in zip(self.requests, decisions, strict=True):
            answer = _middleware_decision(request["name"], decision)
            if request.get("type") == "tool_approval":
                answers[interrupt_id] = answer
            else:
                answers.setdefault(interrupt_id, {"decisions": []})["decisions"].append(answer)
        return answers


def _middleware_decision(name: str, decision: Approval) -> dict[str, Any]:
    if decision.decision == "edit":
        return {"type": "edit", "edited_action": {"name": name, "args": decision.args}}
    if decision.decision == "reject" and decision.reason:
        return {"type": "reject", "message": decision.reason}
    return {"type": decision.decision}


@dataclass(frozen=True)
class _Breakpoint:
    """The graph waits before or after nodes, because it was compiled with `interrupt_before` or `interrupt_after`."""

    nodes: tuple[str, ...]
    messages: list[Any]

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that the next node will run. If there are none, the node itself stands for a call."""
        return open_calls(self.messages) or [ToolCall(name, {}, f"node-{name}") for name in self.nodes]

    async def resume(self, graph: Any, config: dict[str, Any], decisions: Sequence[Approval]) -> Any:
        """Change the state of the graph by the decisions. If any call is rejected, the node does not run."""
        calls = open_calls(self.messages)
        rejection = next((decision for decision in decisions if decision.decision == "reject"), None)
        if rejection is not None:
            text = rejection.reason or "The call was rejected."
            message_class = import_extra("langchain_core.messages", EXTRA).ToolMessage
            answers = [message_class(text, name=call.name, tool_call_id=call.id, status="error") for call in calls]
            await graph.aupdate_state(config, {"messages": answers}, as_node=self.nodes[0])
        elif calls and any(decision.args is not None for decision in decisions):
            await graph.aupdate_state(config, {"messages": [self._edit_message(calls, decisions)]})
        return None

    def _edit_message(self, calls: list[ToolCall], decisions: Sequence[Approval]) -> Any:
        latest = next(message for message in reversed(self.messages) if message.type == "ai")
        args = {call.id: decision.args for call, decision in zip(calls, decisions, strict=True)}
        edited = [
            call if args.get(call["id"]) is None else {**call, "args": args[call["id"]]} for call in latest.tool_calls
        ]
        return latest.model_copy(update={"tool_calls": edited})
