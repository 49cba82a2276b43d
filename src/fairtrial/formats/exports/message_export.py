"""A recording as a list of OpenAI chat messages, which many tools read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from fairtrial.formats.chats.dialects import EXPORTED
from fairtrial.records.trace import Message, Part, Step, Thought, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json


def collect_messages(recording: Recording) -> bytes:
    """Return a line with the messages of a recording. `list_losses` says what has no place in it."""
    trace = recording.trace
    messages = [*_instructions(recording), *_messages(trace.opening)]
    for invocation in (*trace.history, *trace.invocations):
        reply = (invocation.final_response,) if invocation.final_response is not None else ()
        messages += [_user(invocation.user), *_messages((*(invocation.steps or ()), *reply))]
    name = recording.case_id + (f"#{recording.attempt}" if recording.attempt > 1 else "")
    reward = {} if trace.reward is None else {"reward": trace.reward}
    own = {name: value for name, value in _facts(trace).items() if value}
    return msgspec.json.encode({"id": name, "messages": messages, **reward, **({EXPORTED: own} if own else {})}) + b"\n"


def _facts(trace: Trace) -> dict[str, Json]:
    """Return what the messages cannot say: that calls would be among them, and how many turns are only the history."""
    keeps_calls = any(invocation.steps is not None for invocation in trace.invocations)
    return {
        "keeps_calls": keeps_calls and not any(invocation.tool_calls for invocation in trace.invocations),
        "history": len(trace.history),
        "incomplete": trace.incomplete,
        "turns_unknown": trace.turns_unknown,
    }


def _instructions(recording: Recording) -> Iterator[Json]:
    for agent in recording.trace.agents[:1]:
        if agent.instructions:
            yield {"role": "system", "content": agent.instructions}


def _user(message: Message) -> Json:
    return {"role": "user", "content": _content(message), **_gap(message)}


def _gap(step: Step) -> dict[str, str]:
    """Return why a content is missing, in keys of our own."""
    beginning = {"beginning": step.beginning} if step.beginning else {}
    return {"withheld": step.withheld, **beginning} if step.withheld else {}


def list_losses(recording: Recording) -> set[str]:
    """Return what is in a recording, and has no place in chat messages."""
    trace = recording.trace
    turns = (*trace.history, *trace.invocations)
    steps = [step for turn in turns for step in (*(turn.steps or ()), *filter(None, (turn.final_response,)))]
    losses = {
        "times": any(turn.created is not None or turn.durations for turn in turns)
        or any(step.started for step in steps),
        "tokens": any(turn.usages for turn in turns),
        "hidden thoughts": any(isinstance(step, Thought) and step.withheld for step in steps),
        "the work of agents inside of tools": any(isinstance(step, ToolResult) and step.inner for step in steps),
        "the agents that ran tools for other agents": _has_foreign_results(steps),
        "tools and other agents' instructions": len(trace.agents) > 1 or any(agent.tools for agent in trace.agents),
        "failures": recording.failure is not None,
        "final states": trace.final_state is not None,
    }
    return {name for name, is_lost in losses.items() if is_lost}


def _has_foreign_results(steps: Sequence[Step]) -> bool:
    """Whether the author of a result is not the author of its call. A message with a result names no agent."""
    authors = {step.id: step.author for step in steps if isinstance(step, ToolCall)}
    results = [step for step in steps if isinstance(step, ToolResult)]
    return any(step.author and authors.get(step.id, step.author) != step.author for step in results)


def _messages(steps: Sequence[Step]) -> Iterator[Json]:
    """Yield messages. A thought stands in the message after it if that message is of the same agent."""
    thought: Thought | None = None
    for step, message in _single_messages(steps):
        if thought is not None and (isinstance(step, ToolResult | Thought) or step.author != thought.author):
            yield {"role": "assistant", "content": None, **_reasoning(thought)}
            thought = None
        if isinstance(step, Thought):
            thought = None if step.withheld else step
            continue
        yield message if thought is None else {**message, **_reasoning(thought)}
        thought = None
    if thought is not None:
        yield {"role": "assistant", "content": None, **_reasoning(thought)}


def _reasoning(thought: Thought) -> dict[str, Json]:
    """Return a thought in the key that DeepSeek and others have for it."""
    return {**_name(thought), "reasoning_content": thought.text}


def _single_messages(steps: Sequence[Step]) -> Iterator[tuple[Step, dict[str, Json]]]:
    """Yield steps with their messages. Calls of an agent that follow one another are one message."""
    for _, group in groupby(enumerate(steps), _group_key):
        members = [step for _, step in group]
        first = members[0]
        if isinstance(first, ToolCall):
            calls: list[Json] = [_call(step) for step in members if isinstance(step, ToolCall)]
            yield first, {"role": "assistant", "content": None, **_name(first), "tool_calls": calls}
        elif isinstance(first, ToolResult):
            text = first.response if isinstance(first.response, str) else msgspec.json.encode(first.response).decode()
            call_fields = {"tool_call_id": first.id, "name": first.name}
            yield first, {"role": "tool", **call_fields, "content": text, **_gap(first)}
        elif isinstance(first, Message):
            yield first, {"role": "assistant", "content": _content(first), **_name(first), **_gap(first)}
        else:
            yield first, {}


def _group_key(numbered: tuple[int, Step]) -> tuple[bool, int, str]:
    """Return a key that is equal for neighbours of one message."""
    number, step = numbered
    return (True, 0, step.author) if isinstance(step, ToolCall) else (False, number, "")


def _call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": msgspec.json.encode(call.args).decode()}
    return {"id": call.id, "type": "function", "function": function, **_gap(call)}


def _name(step: Step) -> dict[str, str]:
    return {"name": step.author} if step.author else {}


def _content(message: Message) -> Json:
    if not message.parts:
        return message.text
    text = [{"type": "text", "text": message.text}] if message.text else []
    return [*text, *({"type": "image_url", "image_url": {"url": _url(part)}} for part in message.parts)]


def _url(part: Part) -> str:
    return part.uri or f"data:{part.mime_type};base64,{part.data}"
