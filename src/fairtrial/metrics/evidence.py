"""What is a judge shown of a conversation? Texts by name; names are ours, texts are whatever was said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from fairtrial.records.record import Json
from fairtrial.records.trace import AgentDetails, Invocation, Message, ToolCall, ToolResult, Trace
from fairtrial.text.display import compact

Texts = dict[str, str]
"""Texts in the order in which they are shown, by names that say what they are."""

_GROUNDING = ("grounding_metadata", "groundingMetadata")


def agents(trace: Trace, upto: int | None = None) -> tuple[AgentDetails, ...]:
    """Return the agents that are known at invocation `upto` (from 0): of it, or of the conversation as a whole."""
    about = trace.invocations[upto].about if upto is not None else None
    return about.agents if about and about.agents else trace.agents


def instructions(known: Sequence[AgentDetails]) -> Texts:
    """Return the instructions of every agent that has some."""
    return {
        f"instructions of agent {number}": f"agent: {agent.name}\n{agent.instructions}"
        for number, agent in enumerate(known, 1)
        if agent.instructions
    }


def tools(known: Sequence[AgentDetails]) -> Texts:
    """Return the tool declarations of every agent that has some, as JSON."""
    return {
        f"tools of agent {number}": "\n".join(compact(one) for one in agent.tool_declarations)
        for number, agent in enumerate(known, 1)
        if agent.tool_declarations
    }


def user_message(invocation: Invocation, number: int) -> Texts:
    """Return what the user said; `number` is that of the invocation, from 1."""
    return {f"user message {number}": invocation.query}


def doings(invocation: Invocation, number: int, *, words: bool, upto: int | None = None) -> Texts:
    """Return what the agent did before its reply: calls, results, grounding, and (`words`) what it said in between.

    `upto` is how many of the steps to show; the grounding of the next one is shown with them.
    """
    found: Texts = {}
    for place, step in enumerate((invocation.steps or ())[:upto], 1):
        if isinstance(step, ToolCall):
            found[f"tool call {number}.{place}"] = compact({"tool": step.name, "args": step.args})
        elif isinstance(step, ToolResult):
            found[f"tool result {number}.{place}"] = compact({"tool": step.name, "response": step.response})
        elif isinstance(step, Message) and words:
            found[f"interim message {number}.{place}"] = step.text
    for place, grounding in enumerate(_grounding(invocation, upto), 1):
        found[f"grounding {number}.{place}"] = compact(grounding)
    return found


def _grounding(invocation: Invocation, upto: int | None) -> list[Json]:
    """Return the grounding of the events, of those that begin after step `upto` none."""
    events = invocation.events or ()
    begins = accumulate((event.size for event in events), initial=0)
    extras = [event.extra or {} for event, begin in zip(events, begins, strict=False) if upto is None or begin <= upto]
    return [extra[key] for extra in extras for key in _GROUNDING if extra.get(key)]


def reply(invocation: Invocation, number: int) -> Texts:
    """Return the agent's reply."""
    return {f"reply {number}": invocation.reply}


def earlier(trace: Trace, upto: int, *, doing: bool = True, replies: bool = True) -> Texts:
    """Return the conversation before invocation `upto` (from 0): messages, calls, results and replies in order."""
    found: Texts = {}
    for number, invocation in enumerate(trace.invocations[:upto], 1):
        found |= user_message(invocation, number)
        if doing:
            found |= doings(invocation, number, words=False)
        if replies:
            found |= reply(invocation, number)
    return found


def whole(trace: Trace) -> Texts:
    """Return the whole conversation."""
    found: Texts = {}
    for number, invocation in enumerate(trace.invocations, 1):
        found |= user_message(invocation, number) | doings(invocation, number, words=True) | reply(invocation, number)
    return found


def full_reply(invocation: Invocation, *, interim: bool) -> str:
    """Return the reply, after what the agent said before it where `interim` asks for that, a line each."""
    said = [step.text for step in invocation.steps or () if isinstance(step, Message)] if interim else []
    return "\n".join([*said, invocation.reply])
