"""Assemble the nodes of a conversation into a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.conversation.cross_check import count_answer_tokens, find_missing_tokens, find_other_reply
from fairtrial.formats.conversation.doubled_calls import find_homes, merge_calls
from fairtrial.formats.conversation.failures import cause_of_break
from fairtrial.formats.conversation.first_tokens import read_usages
from fairtrial.formats.conversation.invocations import Walk, find_agent, invocation_name, withheld_user
from fairtrial.formats.conversation.timing import measure_durations, spans_of_drafts
from fairtrial.formats.conversation.user_turns import read_turns
from fairtrial.formats.dialects.facts import find_reason
from fairtrial.formats.dialects.fairtrial_exports import with_fields
from fairtrial.formats.spans.body import loss_reason
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Origin,
    Step,
    ToolResult,
    Trace,
    incomplete_trace,
    split_reply,
)

if TYPE_CHECKING:
    from fairtrial.formats.conversation.draft import Draft
    from fairtrial.formats.conversation.nodes import Node

_NO_START = "a span has no time of its start, so that the order of the calls is not known"
_SESSION = "record the spans of the agent too, or set a session id, so that the traces of a conversation are joined"
_CUT_OFF = (
    *("length", "max_tokens", "MAX_TOKENS", "model_length"),
    *("content_filter", "content-filter", "content_filtered", "guardrail_intervened"),
    *("SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION"),
)
"""The reasons of providers for which an answer ends in its middle: its length, or a filter of contents."""


class Assembly:
    """One conversation. `warnings` collects what a reader of the trace should know.

    `nested` puts the steps of an agent as a tool between its call and its result, instead of into the result.
    """

    def __init__(self, nodes: Sequence[Node], warnings: list[str], *, nested: bool = False) -> None:
        merge_calls(nodes)
        find_homes(nodes)
        self._warnings = warnings
        self._find_nested = nested
        self._by_home: dict[Node | None, list[Node]] = defaultdict(list)
        for node in nodes:
            self._by_home[node.home].append(node)

    def trace(self, home: Node | None = None) -> Trace | None:
        """Return the trace of the nodes with a home, or None if they hold no agent, model call or tool."""
        nodes = [node for node in self._by_home[home] if node.is_significant]
        if not nodes:
            return None
        walk = Walk(self.trace, self._warnings)
        speaking = _speaking(nodes)
        if speaking:
            for node in nodes:
                if node.facts.kind == "tool":
                    walk.read_tool(node)
                elif node in speaking:
                    walk.read_model(node)
                elif node.facts.kind == "model":
                    walk.read_silent_model(node)
            walk.finish()
        turns_unknown = not speaking and _read_silent(walk, nodes)
        loss = next(filter(None, [loss_reason(node.span) for node in self._by_home[home]]), "")
        # The attributes or the spans that show a turn may be among those that are missing.
        is_turn_missing = bool(loss) and any(draft.user.withheld for draft in walk.drafts)
        trace = self._trace(walk, turns_unknown=turns_unknown or is_turn_missing)
        is_timeless = len(nodes) > 1 and any(not node.span.start for node in nodes)
        gaps = [
            _NO_START if is_timeless else "",
            *(node.facts.unread for node in self._by_home[home]),
            *(draft.gap for draft in walk.drafts),
        ]
        return incomplete_trace(trace, loss or next(filter(None, gaps), ""))

    def _trace(self, walk: Walk, *, turns_unknown: bool) -> Trace:
        invocations: list[Invocation] = []
        broken = ""
        known_agents: dict[str, AgentDetails] = {}
        total: int | None = 0
        for draft, nodes in zip(walk.drafts, spans_of_drafts(walk.drafts), strict=True):
            tokens = count_answer_tokens(nodes)
            total = None if total is None or tokens is None else total + tokens
            if total is not None:
                draft.gap = draft.gap or find_missing_tokens(draft, nodes, total)
            cause = cause_of_break(nodes)
            broken = cause or broken
            invocation = self._invocation(draft, nodes, is_broken=bool(cause))
            agents = _agents(draft)
            if any(known_agents.get(name) != agent for name, agent in agents.items()):
                known_agents |= agents
                invocation = replace(invocation, about=About(tuple(agents.values())))
            fields = next((node.facts.invocation_fields for node in draft.nodes if node.facts.invocation_fields), {})
            invocations.append(with_fields(invocation, fields))
        return Trace(
            tuple(invocations), broken=broken, opening=walk.opening, history=walk.history, turns_unknown=turns_unknown
        )

    def _invocation(self, draft: Draft, nodes: Sequence[Node], *, is_broken: bool) -> Invocation:
        created, durations = measure_durations(nodes)
        steps = draft.steps
        if self._find_nested:
            steps = [inner for step in steps for inner in _flatten_step(step)]
        before, reply = (tuple(steps), None) if is_broken else split_reply(steps)
        if reply is None and not is_broken:
            reply = _unrecorded_reply(draft, nodes)
        if reply is not None:
            reply = self._with_finish_reason(reply, draft)
        draft.gap = draft.gap or find_other_reply(reply, nodes)
        usages = tuple(draft.usages) or None
        origin = _read_origin(draft)
        return Invocation(draft.user, before, reply, draft.name, usages, durations, created=created, origin=origin)

    def _with_finish_reason(self, reply: Message, draft: Draft) -> Message:
        """Return a reply. If the model was stopped in the middle of it, a warning says so, and the reason is kept."""
        last = next((node for node in reversed(draft.nodes) if node.facts.kind == "model"), None)
        if last is None or last.facts.finish_reason not in _CUT_OFF:
            return reply
        self._warnings.append(f"a reply was cut off: the model stopped with {last.facts.finish_reason!r}")
        return replace(reply, extra={**(reply.extra or {}), "finish_reason": last.facts.finish_reason})


def _read_origin(draft: Draft) -> Origin | None:
    if not draft.nodes:
        return None
    first = min(draft.nodes, key=lambda node: node.order)
    root = next(reversed([*first.ancestors()]), first)
    ids = [node.facts.response_id for node in draft.nodes if node.facts.response_id]
    return Origin(root.span.trace_id, root.span.span_id, ids[-1] if ids else "")


def _speaking(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes with content: model calls, and the outermost agents of traces without such a call."""
    models = {
        node
        for node in nodes
        if node.facts.kind == "model" and (node.facts.output is not None or node.facts.input is not None)
    }
    told_traces = {model.span.trace_id for model in models}
    agents: set[Node] = set()
    for node in nodes:
        has_content = node.facts.input is not None or node.facts.output is not None
        is_teller = node.facts.kind == "agent" and has_content and node.span.trace_id not in told_traces
        if is_teller and agents.isdisjoint(node.ancestors()):
            agents.add(node)
    return models | agents | {node for node in nodes if node.facts.invocation_fields}


def _read_silent(walk: Walk, nodes: Sequence[Node]) -> bool:
    """Read nodes without any content: an invocation for each name, each root agent, or else each trace.

    Returns whether the whole conversation is a single trace, so that nobody knows how many turns it has. All of it is
    then one invocation.
    """
    drafts: dict[Any, Draft] = {}
    names = {node.span.trace_id: invocation_name(node) for node in nodes if invocation_name(node)}
    turns_unknown = not names and len({node.span.trace_id for node in nodes}) == 1
    for node in nodes:
        top = next((above for above in [*node.ancestors()][::-1] if above.facts.kind == "agent"), None)
        top_agent = node if top is None and node.facts.kind == "agent" else top
        name = invocation_name(node) or names.get(node.span.trace_id, "")
        key = name or (node.span.trace_id if turns_unknown or top_agent is None else top_agent)
        if key not in drafts:
            drafts[key] = walk.open(withheld_user(node), name)
        draft = drafts[key]
        if node.facts.kind == "tool":
            walk.place_tool(draft, node)
        else:
            draft.nodes.append(node)
        if node.facts.kind == "model":
            draft.usages += read_usages(node)
    return turns_unknown


def _unrecorded_reply(draft: Draft, nodes: Sequence[Node]) -> Message | None:
    """Return the reply that the span of an agent tells, or an empty text that says why it is not known."""
    for node in nodes:
        if node.facts.kind == "agent" and node.facts.output:
            _, reply = split_reply(node.facts.output)
            if reply is not None:
                return replace(reply, author=reply.author or node.facts.name)
    last = next((node for node in reversed(draft.nodes) if node.facts.kind in ("model", "agent")), None)
    if last is not None and (name := draft.unanswered_call):
        reason = f"no span holds the result of the last call ({name}), so that a later call of the model is missing"
        return Message("", author=last.facts.agent or find_agent(last), withheld=f"{reason}; {_SESSION}")
    if last is None:
        last = next((node for node in draft.nodes), None)
    if last is None or last.facts.output is not None:
        return None
    author, beginning = last.facts.agent or find_agent(last), last.facts.output_beginning
    return Message("", author, withheld=find_reason(last.facts), beginning=beginning)


def _agents(draft: Draft) -> dict[str, AgentDetails]:
    """Return the agents of an invocation with their instructions and tools, by name."""
    agents: dict[str, AgentDetails] = {}
    for node in draft.nodes:
        if node.facts.kind not in ("model", "agent"):
            continue
        name = node.facts.agent or find_agent(node)
        instructions = node.facts.instructions
        if not instructions and node.facts.input:
            instructions = read_turns(node.facts.input).instructions
        if name not in agents and (instructions or node.facts.declarations):
            agents[name] = AgentDetails(name, instructions, node.facts.declarations)
    return agents


def _flatten_step(step: Step) -> list[Step]:
    """Return a step with the steps of the agents inside a tool before its result."""
    if not isinstance(step, ToolResult) or step.inner is None:
        return [step]
    inner = [
        flat
        for invocation in step.inner.invocations
        for inner_step in (*(invocation.steps or ()), *filter(None, [invocation.final_response]))
        for flat in _flatten_step(inner_step)
    ]
    return [*inner, replace(step, inner=None)]
