"""Split the calls of a conversation into invocations. Model calls are read in the order of their start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.conversation.call_slots import read_history, slot_of_span
from fairtrial.formats.conversation.cross_check import check_repeated, check_tool, check_unasked
from fairtrial.formats.conversation.draft import Draft
from fairtrial.formats.conversation.failures import find_cause, read_failure, with_failure
from fairtrial.formats.conversation.first_tokens import read_usages
from fairtrial.formats.conversation.user_turns import Turn, Turns, read_turns
from fairtrial.formats.dialects.facts import find_reason
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace, split_reply

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node

_NANOSECONDS = 1e9


class Walk:
    """The invocations that the nodes read so far have made.

    `history` is the conversation before the first invocation. `inner` makes the trace of the agents inside a tool.
    """

    def __init__(self, inner: Callable[[Node], Trace | None], warnings: list[str]) -> None:
        self.drafts: list[Draft] = []
        self.history: tuple[Invocation, ...] = ()
        self.opening: tuple[Message, ...] = ()
        self._inner = inner
        self._warnings = warnings
        self._first_text = ""
        self._turn_count = 0
        self._waiting: list[Node] = []

    def read_model(self, node: Node) -> None:
        """Read a call of a model, or an agent whose models are not recorded."""
        turns = _find_input(node)
        draft = self._take_draft(node, turns)
        steps = node.facts.output
        is_whole_run = node.facts.kind == "agent"
        if turns is not None:
            tail = turns.turns[-1].steps if turns.turns else turns.opening
            if is_whole_run and steps is None:
                steps = tuple(step for step in tail if not isinstance(step, ToolResult))
                draft.add(_list_steps(node, steps), is_whole_run=True)
                read_history(draft, tail, is_whole=True)
            else:
                self._note_lost(read_history(draft, tail, is_whole=bool(turns.turns)))
                if draft.nodes:
                    check_repeated(draft, tail, node)
                draft.add(_list_steps(node, steps or ()), is_whole_run=is_whole_run)
        else:
            draft.add(_list_steps(node, steps or ()), is_whole_run=is_whole_run)
        self._take_usage(draft, node)

    def read_silent_model(self, node: Node) -> None:
        """Read a model call without content. Its tokens and its time are known."""
        draft = self._open_draft(node)
        self._take_usage(draft, node)

    def read_tool(self, node: Node) -> None:
        """Read a call of a tool: it answers a call of a model, or it is a call of its own."""
        if not self.drafts or self._is_of_next_trace(node):
            self._waiting.append(node)  # the invocation that it belongs to begins with the next model call
            return
        self.place_tool(self.drafts[-1], node)

    def open(self, user: Message, name: str = "") -> Draft:
        """Begin an invocation."""
        self.drafts.append(Draft(user, name))
        for node in self._waiting:
            self.place_tool(self.drafts[-1], node)
        self._waiting.clear()
        return self.drafts[-1]

    def finish(self) -> None:
        """Place the tools for which no model call came."""
        if self._waiting:
            draft = self.drafts[-1] if self.drafts else self.open(withheld_user(self._waiting[0]))
            for node in self._waiting:
                self.place_tool(draft, node)
            self._waiting.clear()

    def _take_usage(self, draft: Draft, node: Node) -> None:
        draft.nodes.append(node)
        if node.facts.kind == "model":
            draft.usages += read_usages(node)

    def _is_of_next_trace(self, node: Node) -> bool:
        draft = self.drafts[-1]
        return draft.has_reply and all(other.span.trace_id != node.span.trace_id for other in draft.nodes)

    def _open_draft(self, node: Node) -> Draft:
        """Return the invocation that a node without content belongs to."""
        name = invocation_name(node)
        if name:
            return self._draft_named(name) or self.open(withheld_user(node), name)
        if not self.drafts or self._is_of_next_trace(node):
            return self.open(withheld_user(node))
        return self.drafts[-1]

    def _draft_named(self, name: str) -> Draft | None:
        """Return the invocation that the source gave a name."""
        for draft in self.drafts:
            if draft.name == name:
                return draft
        return None

    def _take_draft(self, node: Node, turns: Turns | None) -> Draft:
        """Return the invocation that a call with content belongs to, after opening it if the call begins it."""
        if turns is None or not turns.turns:
            return self._open_draft(node)
        is_first = not self.drafts
        if is_first:
            self._first_text = turns.turns[0].user.text
            self._turn_count = len(turns.turns)
            self.history = tuple(_past(turn) for turn in turns.turns[:-1])
            self.opening = tuple(step for step in turns.opening if isinstance(step, Message))
        if name := invocation_name(node):
            return self._draft_named(name) or self.open(turns.turns[-1].user, name)
        if is_first:
            return self.open(turns.turns[-1].user)
        new_turns = self._new_turns(turns)
        if new_turns and self._is_whole(turns):
            check_repeated(self.drafts[-1], turns.turns[self._turn_count - 1].steps, node)
        for turn in new_turns[:-1]:
            self._add_lost_turn(turn)
        if not new_turns:
            return self.drafts[-1]
        self._turn_count += 1
        return self.open(new_turns[-1].user)

    def _is_whole(self, turns: Turns) -> bool:
        """Whether an input begins with the first turn of the conversation and holds all of its turns."""
        return turns.turns[0].user.text == self._first_text and len(turns.turns) >= self._turn_count

    def _new_turns(self, turns: Turns) -> Sequence[Turn]:
        """Return the turns of an input that no invocation has yet. Never by equal text: a user may say "yes" twice."""
        if self._is_whole(turns):
            return turns.turns[self._turn_count :]
        last, draft = turns.turns[-1], self.drafts[-1]
        brings_result = any(isinstance(step, ToolResult) for step in last.steps)
        is_new = last.user.text != draft.user.text or (draft.has_reply and not brings_result)
        return (last,) if is_new else ()

    def _add_lost_turn(self, turn: Turn) -> None:
        """Add an invocation that only a later input tells of."""
        draft = self.open(turn.user)
        self._turn_count += 1
        for step in turn.steps:
            if not isinstance(step, ToolResult):
                draft.add([step])
        read_history(draft, turn.steps, is_whole=True)
        self._warnings.append(
            "incomplete: the spans of a turn are missing; its steps come from the history of a later call"
        )

    def _note_lost(self, calls: Sequence[ToolCall]) -> None:
        if calls:
            names = ", ".join(sorted({call.name for call in calls}))
            self._warnings.append(
                f"incomplete: no span holds {len(calls)} calls ({names}); they come from the input of a later call"
            )

    def place_tool(self, draft: Draft, node: Node) -> None:
        """Give the span of a tool to the call that it ran, or add a call for it."""
        facts = node.facts
        author = facts.agent or find_agent(node)
        if facts.reply is not None:
            _place_reply(draft, node, facts.reply)
            return
        slot = slot_of_span(draft.slots, facts)
        if slot is None:
            withheld = "" if facts.args is not None else find_reason(facts)
            call_id, beginning = facts.call_id or "", facts.input_beginning
            call = ToolCall(facts.name, facts.args or {}, call_id, author, withheld=withheld, beginning=beginning)
            check_unasked(draft, call, node)
            slot = draft.add_unasked_call(call)
        elif slot.call.withheld and facts.args is not None:
            slot.call = replace(slot.call, args=facts.args, withheld="")
        else:
            check_tool(draft, slot.call, facts, node)
        draft.nodes.append(node)
        slot.node = node
        slot.measured = _make_measured(node, author, self._inner(node))


def _place_reply(draft: Draft, node: Node, reply: Message) -> None:
    """Add the reply that the span of a tool tells, unless the answer of the model is the same text."""
    draft.nodes.append(node)
    last = draft.blocks[-1].steps[-1] if draft.blocks else None
    if not isinstance(last, Message) or last.text != reply.text:
        draft.add(_list_steps(node, [reply]))


def withheld_user(node: Node) -> Message:
    """Return the message of a user that was not recorded."""
    return Message("", withheld=find_reason(node.facts))


def invocation_name(node: Node) -> str:
    """Return the source's own name of an invocation, or an empty text."""
    return node.facts.invocation


def find_agent(node: Node) -> str:
    """Return the name of the agent that a node works for, or an empty text."""
    above = node.parent
    while above is not None:
        if above.facts.kind == "agent" and above.facts.name:
            return above.facts.name
        above = above.parent
    return ""


def _find_input(node: Node) -> Turns | None:
    """Return the turns that a model got. If its span has none, they are those of its agent up to the last turn."""
    if node.facts.input is not None:
        return read_turns(node.facts.input)
    for above in node.ancestors():
        if above.facts.kind == "agent" and above.facts.input is not None:
            turns = read_turns(above.facts.input)
            return replace(turns, turns=(*turns.turns[:-1], *(Turn(turn.user) for turn in turns.turns[-1:])))
    return None


def _past(turn: Turn) -> Invocation:
    """Return a turn that happened before the recording, as a later call tells it."""
    before, reply = split_reply(turn.steps)
    return Invocation(turn.user, before, reply)


def _list_steps(node: Node, steps: Sequence[Step]) -> list[Step]:
    """Return the steps of an answer with their author, their model and their span. An empty text is not a message."""
    facts, span = node.facts, node.span
    author = facts.agent or find_agent(node)
    prepared: list[Step] = []
    for step in steps:
        if isinstance(step, Message) and not (step.text or step.parts or step.withheld):
            continue
        where = {"author": step.author or author, "span_id": span.span_id, "parent_id": span.parent_id}
        if not isinstance(step, ToolResult):
            where["model"] = facts.model
        if step.withheld:
            where["withheld"] = find_reason(facts)
        prepared.append(replace(step, **where, started=span.start / _NANOSECONDS))
    return prepared


def _make_measured(node: Node, author: str, inner: Trace | None) -> ToolResult:
    """Return the result that the span of a tool tells, with its times."""
    facts, span = node.facts, node.span
    result = facts.result
    has_failed = bool(read_failure(node))
    if result is None and has_failed:
        result = ToolResult(facts.name, {"error": find_cause(node)}, facts.call_id or "")
    if result is None:
        beginning = facts.output_beginning
        result = ToolResult(facts.name, id=facts.call_id or "", withheld=find_reason(facts), beginning=beginning)
    return replace(
        result,
        response=result.response if result.withheld else with_failure(result.response, node),
        author=author,
        is_error=result.is_error or has_failed,
        inner=inner,
        started=span.start / _NANOSECONDS,
        seconds=None if span.end is None else (span.end - span.start) / _NANOSECONDS,
        span_id=span.span_id,
        parent_id=span.parent_id,
    )
