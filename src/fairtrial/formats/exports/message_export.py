"""A recording as a list of OpenAI chat messages, which many tools read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from fairtrial.records.attempt import Recording
from fairtrial.records.record import Json
from fairtrial.records.trace import Message, Part, Step, Thought, ToolCall, ToolResult


def messages_of(recording: Recording) -> bytes:
    """Return a line with the messages of a recording. Thoughts, times and tokens have no place in it."""
    trace = recording.trace
    messages = [*_instructions(recording), *_messages(trace.opening)]
    for invocation in (*trace.history, *trace.invocations):
        reply = (invocation.final_response,) if invocation.final_response is not None else ()
        messages += [_user(invocation.user), *_messages((*(invocation.steps or ()), *reply))]
    name = recording.case_id + (f"#{recording.attempt}" if recording.attempt > 1 else "")
    return msgspec.json.encode({"id": name, "messages": messages}) + b"\n"


def _instructions(recording: Recording) -> Iterator[Json]:
    for agent in recording.trace.agents[:1]:
        if agent.instructions:
            yield {"role": "system", "content": agent.instructions}


def _user(message: Message) -> Json:
    return {"role": "user", "content": _content(message)}


def _messages(steps: Sequence[Step]) -> Iterator[Json]:
    """Yield messages. Calls that follow one another are one message, and calls without an id are numbered."""
    calls: list[Json] = []
    for step in steps:
        if isinstance(step, ToolCall):
            function = {"name": step.name, "arguments": msgspec.json.encode(step.args).decode()}
            calls.append({"id": step.id, "type": "function", "function": function})
            continue
        if calls:
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            calls = []
        if isinstance(step, ToolResult):
            text = step.response if isinstance(step.response, str) else msgspec.json.encode(step.response).decode()
            yield {"role": "tool", "tool_call_id": step.id, "name": step.name, "content": text}
        elif not isinstance(step, Thought):
            yield {"role": "assistant", "content": _content(step)}
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}


def _content(message: Message) -> Json:
    if not message.parts:
        return message.text
    text = [{"type": "text", "text": message.text}] if message.text else []
    return [*text, *({"type": "image_url", "image_url": {"url": _url(part)}} for part in message.parts)]


def _url(part: Part) -> str:
    return part.uri or f"data:{part.mime_type};base64,{part.data}"
