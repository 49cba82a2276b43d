"""Read replies of chat endpoints, as JSON or as an event stream, and separate thoughts from answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.endpoints.endpoint_client import StreamEvent
from fairtrial.records.trace import Message, Step, Thought

_THINKING = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)


def whole_reply(reply: Any) -> Any:
    """Return the JSON of a reply. The pieces of a stream are joined."""
    if not isinstance(reply, list) or not all(isinstance(event, StreamEvent) for event in reply):
        return reply
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for event in (event.data for event in reply if isinstance(event.data, dict)):
        for choice in event.pop("choices", None) or ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                _add(message, choice.get("delta") or choice.get("message") or {})
        whole |= {name: value for name, value in event.items() if value is not None}
    return {**whole, "choices": [{"message": message}]}


def _add(message: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a piece to a message: its texts grow, and the pieces of a call are joined by the index of the call."""
    for name in ("content", "reasoning_content"):
        if isinstance(delta.get(name), str):
            message[name] = (message.get(name) or "") + delta[name]
    for piece in delta.get("tool_calls") or ():
        calls = message.setdefault("tool_calls", [])
        index = piece.get("index", len(calls))
        while len(calls) <= index:
            calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call, function = calls[index], piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""


def separate_thoughts(steps: Iterable[Step]) -> list[Step]:
    """Return steps with the reasoning at the beginning of a message (`<think>...</think>`) as a thought before it."""
    separated: list[Step] = []
    for step in steps:
        match = _THINKING.match(step.text) if isinstance(step, Message) else None
        if match is None or not isinstance(step, Message):
            separated.append(step)
            continue
        thought = match.group(1).strip()
        separated += [Thought(thought, step.author)] if thought else []
        separated.append(replace(step, text=step.text[match.end() :]))
    return separated
