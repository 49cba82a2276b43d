"""Interrupts and breakpoints of a graph on a LangGraph server, read from its thread state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial.agents.graphs.graph_stops import MiddlewareStop, requests_in
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import Approval, ToolCall


def interrupts_in(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the interrupts of all tasks that wait. A stream tells of interrupts at once in one event each."""
    tasks = [task for task in state.get("tasks") or () if isinstance(task, dict)]
    return [interrupt for task in tasks for interrupt in task.get("interrupts") or () if isinstance(interrupt, dict)]


def stop_in(
    state: dict[str, Any], interrupts: list[dict[str, Any]], messages: list[Any]
) -> MiddlewareStop | ServerBreakpoint | None:
    """Return the stop of a thread that waits for decisions, or None if the graph has ended or asks another question."""
    requests = [
        (str(interrupt.get("id")), request)
        for interrupt in interrupts
        for request in requests_in(interrupt.get("value"))
    ]
    if requests:
        return MiddlewareStop(requests, _open_calls(messages))
    nodes = tuple(str(node) for node in state.get("next") or ())
    return ServerBreakpoint(nodes, messages) if nodes and not interrupts else None


def _open_calls(messages: list[Any]) -> list[ToolCall]:
    """Return the calls of the latest message of a model that have no result."""
    answered = {message.get("tool_call_id") for message in messages if message.get("type") == "tool"}
    calls = _latest_of_model(messages).get("tool_calls") or ()
    return [
        ToolCall(str(call["name"]), read_arguments(call["args"]), str(call["id"] or ""))
        for call in calls
        if call["id"] not in answered
    ]


def _latest_of_model(messages: list[Any]) -> dict[str, Any]:
    return next((message for message in reversed(messages) if message.get("type") == "ai"), {})


@dataclass(frozen=True)
class ServerBreakpoint:
    """The graph waits before or after nodes, because it was compiled with `interrupt_before` or `interrupt_after`."""

    nodes: tuple[str, ...]
    messages: list[Any]

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that the next node will run. If there are none, the node itself stands for a call."""
        return _open_calls(self.messages) or [ToolCall(name, {}, f"node-{name}") for name in self.nodes]

    def update(self, decisions: Sequence[Approval]) -> dict[str, Any] | None:
        """Return the change of the thread's state by the decisions. If any call is rejected, the node does not run."""
        calls = _open_calls(self.messages)
        rejection = next((decision for decision in decisions if decision.decision == "reject"), None)
        if rejection is not None:
            text = rejection.reason or "The call was rejected."
            answers = [
                {"type": "tool", "content": text, "name": call.name, "tool_call_id": call.id, "status": "error"}
                for call in calls
            ]
            return {"values": {"messages": answers}, "as_node": self.nodes[0]}
        edits = {call.id: each.args for call, each in zip(calls, decisions, strict=False) if each.args is not None}
        if not edits:
            return None
        latest = _latest_of_model(self.messages)
        edited = [{**call, "args": edits.get(call["id"], call["args"])} for call in latest["tool_calls"]]
        return {"values": {"messages": [{**latest, "tool_calls": edited}]}}
