"""One dialogue in several dialects, and the accidents that happen to a log of it.

The dialogue: the user asks for an order, the agent calls a tool, gets its result, and replies. The user thanks, and the
agent replies. A dialect writes it as the vendor's documentation does.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

ASKED, REPLIED = "Where is order A-17, please?", "It left the depot this morning."
THANKED, ANSWERED = "Thank you for the quick help.", "You are welcome, have a nice day."
NAME, ARGS, RESULT = "get_order", {"order_id": "A-17"}, {"state": "shipped", "note": "it left the depot"}
TRUTH = [(ASKED, [(NAME, ARGS)], REPLIED), (THANKED, [], ANSWERED)]
PROSE = "the refund was granted at once"

Messages = list[dict[str, Any]]
Accident = Callable[[Any], Any]


def openai_chat() -> Messages:
    """Messages of OpenAI's chat completions."""
    call = {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": json.dumps(ARGS)}}
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
        {"role": "assistant", "content": REPLIED},
        {"role": "user", "content": THANKED},
        {"role": "assistant", "content": ANSWERED},
    ]


def anthropic() -> Messages:
    """Messages of Anthropic."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": json.dumps(RESULT)}
    return [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": NAME, "input": ARGS}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": REPLIED}]},
        {"role": "user", "content": [{"type": "text", "text": THANKED}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWERED}]},
    ]


def gemini() -> Messages:
    """Contents of the Gemini API."""
    return [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": NAME, "args": ARGS}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": NAME, "response": RESULT}}]},
        {"role": "model", "parts": [{"text": REPLIED}]},
        {"role": "user", "parts": [{"text": THANKED}]},
        {"role": "model", "parts": [{"text": ANSWERED}]},
    ]


def responses() -> Messages:
    """Items of OpenAI's Responses API."""
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": NAME, "arguments": json.dumps(ARGS)},
        {"type": "function_call_output", "call_id": "c1", "output": json.dumps(RESULT)},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": REPLIED}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": THANKED}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERED}]},
    ]


def bedrock() -> Messages:
    """Messages of Bedrock's Converse API."""
    result = {"toolResult": {"toolUseId": "c1", "content": [{"json": RESULT}]}}
    return [
        {"role": "user", "content": [{"text": ASKED}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": NAME, "input": ARGS}}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"text": REPLIED}]},
        {"role": "user", "content": [{"text": THANKED}]},
        {"role": "assistant", "content": [{"text": ANSWERED}]},
    ]


def genai() -> Messages:
    """Messages of OpenTelemetry's conventions for GenAI."""
    return [
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": NAME, "arguments": ARGS}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": RESULT}]},
        {"role": "assistant", "parts": [{"type": "text", "content": REPLIED}], "finish_reason": "stop"},
        {"role": "user", "parts": [{"type": "text", "content": THANKED}]},
        {"role": "assistant", "parts": [{"type": "text", "content": ANSWERED}], "finish_reason": "stop"},
    ]


def langchain() -> Messages:
    """Messages of LangChain, as `message_to_dict` writes them."""
    call = {"name": NAME, "args": ARGS, "id": "c1", "type": "tool_call"}
    return [
        {"type": "human", "data": {"content": ASKED, "type": "human"}},
        {"type": "ai", "data": {"content": "", "type": "ai", "tool_calls": [call]}},
        {"type": "tool", "data": {"content": json.dumps(RESULT), "type": "tool", "tool_call_id": "c1", "name": NAME}},
        {"type": "ai", "data": {"content": REPLIED, "type": "ai", "tool_calls": []}},
        {"type": "human", "data": {"content": THANKED, "type": "human"}},
        {"type": "ai", "data": {"content": ANSWERED, "type": "ai", "tool_calls": []}},
    ]


def vercel() -> Messages:
    """Messages of the user interface of Vercel's AI SDK 5. The call and its result are one part."""
    tool = {
        "type": f"tool-{NAME}",
        "toolCallId": "c1",
        "state": "output-available",
        "input": ARGS,
        "output": RESULT,
    }
    return [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
        {"id": "2", "role": "assistant", "parts": [tool, {"type": "text", "text": REPLIED}]},
        {"id": "3", "role": "user", "parts": [{"type": "text", "text": THANKED}]},
        {"id": "4", "role": "assistant", "parts": [{"type": "text", "text": ANSWERED}]},
    ]


def pydantic_ai() -> Messages:
    """Messages of Pydantic AI."""
    called = {"part_kind": "tool-call", "tool_name": NAME, "args": ARGS, "tool_call_id": "c1"}
    returned = {"part_kind": "tool-return", "tool_name": NAME, "content": RESULT, "tool_call_id": "c1"}
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
        {"kind": "response", "parts": [called]},
        {"kind": "request", "parts": [returned]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": REPLIED}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": THANKED}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWERED}]},
    ]


DIALECTS = {
    dialect.__name__: dialect
    for dialect in (openai_chat, anthropic, gemini, responses, bedrock, genai, langchain, vercel, pydantic_ai)
}


def without(*places: int) -> Accident:
    """Messages at these places are missing."""
    return lambda messages: [message for i, message in enumerate(messages) if i not in places]


def twice(place: int) -> Accident:
    """A message stands twice, with the same ids."""
    return lambda messages: [*messages[: place + 1], copy.deepcopy(messages[place]), *messages[place + 1 :]]


def swapped(first: int, second: int) -> Accident:
    """Two messages have changed their places."""

    def swap(messages: Messages) -> Messages:
        order = list(messages)
        order[first], order[second] = order[second], order[first]
        return order

    return swap


def with_field(place: int, key: str, value: Any) -> Accident:
    """A message has a field that its dialect does not know."""
    return lambda messages: [message | {key: value} if i == place else message for i, message in enumerate(messages)]


def instead(place: int, message: Any) -> Accident:
    """A message of another dialect, or something else, stands in the place of a message."""
    return lambda messages: [*messages[:place], message, *messages[place + 1 :]]


def renamed(old: str, new: str, *, role: bool = False) -> Accident:
    """All keys of a name have another one; with `role`, all roles and types of that name."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if role:
            own = {key: new if key in ("role", "type", "kind") and item == old else item for key, item in value.items()}
            return {key: walk(item) for key, item in own.items()}
        return {new if key == old else key: walk(item) for key, item in value.items()}

    return walk


def as_rows(messages: Messages) -> Any:
    """Each message is a row with the id of its conversation, as a table of messages has them."""
    return [{"conversation_id": "s1", "seq": i, **message} for i, message in enumerate(messages)]


def mixed_rows(messages: Messages) -> Any:
    """The rows of two conversations stand one after the other in turn, as their times say."""
    other = [{"conversation_id": "s2", **message} for message in messages]
    own = [{"conversation_id": "s1", **message} for message in messages]
    return [row for pair in zip(own, other, strict=True) for row in pair]


def in_a_text(messages: Messages) -> Any:
    """The messages are JSON in a text, as a column of a database holds them."""
    return {"messages": json.dumps(messages)}


def beside(key: str, value: Any) -> Accident:
    """Something stands beside the messages."""
    return lambda messages: {"messages": messages, key: value}


def answer_beside(key: str) -> Accident:
    """The last message stands beside the others."""
    return lambda messages: {"messages": messages[:-1], key: messages[-1]}


_CALL = {"name": "cancel_order", "arguments": {"order_id": "A-17"}}
_OPENAI_CALL = {"id": "c9", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order_id": "A"}'}}

ACCIDENTS: dict[str, Accident] = {
    "the message with the call is missing": without(1),
    "the result is missing": without(2),
    "the first question is missing": without(0),
    "the result stands twice": twice(2),
    "the call stands twice": twice(1),
    "the result stands before its call": swapped(1, 2),
    "the call stands after the reply": swapped(1, 3),
    "the messages stand in the reverse order": lambda messages: messages[::-1],
    "a text stands beside the reply": with_field(5, "correction", PROSE),
    "a call stands beside the reply": with_field(5, "actions", [_CALL]),
    "a call of OpenAI stands in the last message": with_field(5, "tool_calls", [_OPENAI_CALL]),
    "a call of OpenAI stands beside the messages": beside("tool_calls", [_OPENAI_CALL]),
    "steps with calls stand beside the messages": beside("steps", [{"tool": "cancel_order", "tool_input": {"id": 1}}]),
    "a second list stands beside the messages": beside("turns", [{"role": "assistant", "content": PROSE}]),
    "the answer stands in 'reply'": answer_beside("reply"),
    "the answer stands in 'final_output'": answer_beside("final_output"),
    "the last message is a text": instead(5, PROSE),
    "the last message is an object of events": instead(5, {"event": "message", "data": {"body": PROSE}}),
    "the last message is null": instead(5, None),
    "the last message holds a part of another dialect": instead(
        5, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "cancel", "input": {"id": 1}}]}
    ),
    "the last message holds parts of Gemini": instead(5, {"role": "model", "parts": [{"functionCall": _CALL}]}),
    "the last message holds an unknown part": instead(
        5, {"role": "assistant", "content": [{"type": "teleport", "destination": PROSE}]}
    ),
    "the role of the agent is 'bot'": renamed("assistant", "bot", role=True),
    "the role of the user is 'customer'": renamed("user", "customer", role=True),
    "calls are 'tool_requests'": renamed("tool_calls", "tool_requests"),
    "parts are 'segments'": renamed("parts", "segments"),
    "contents are 'body'": renamed("content", "body"),
    "texts are 'value'": renamed("text", "value"),
    "names are 'tool'": renamed("name", "tool"),
    "ids of calls are missing": renamed("tool_call_id", "ref"),
    "messages are rows": as_rows,
    "rows of two conversations are mixed": mixed_rows,
    "messages are JSON in a text": in_a_text,
    "each message is wrapped": lambda messages: [{"message": message} for message in messages],
    "messages are one level deeper": lambda messages: {"data": {"request": {"messages": messages}}},
    "the list is in a list": lambda messages: [messages],
    "half of the messages are of OpenAI": lambda messages: [*messages[: len(messages) // 2], *openai_chat()[3:]],
}
"""What happens to a list of messages. That a text of the agent is missing cannot be known, and is not among them."""
_ADDS = ("beside the reply", "beside the messages", "the last message is", "an unknown part")
"""Parts of the names of accidents after which the document holds something that the dialogue does not."""
_ORDINARY = {
    "openai_chat": ("a call of OpenAI stands in the last message",),
    "anthropic": ("the last message holds a part of another dialect",),
    "gemini": ("the last message holds parts of Gemini",),
    "vercel": (
        *(name for name in ACCIDENTS if " is missing" in name or " stands before " in name),
        *("the result stands twice", "the call stands after the reply", "the messages stand in the reverse order"),
    ),
}
"""Accidents that are none in a dialect. Each message of Vercel's SDK is a whole turn with its call and its result."""


class Situation(NamedTuple):
    """A document after an accident. `adds` says that it holds something that the dialogue does not."""

    dialect: str
    accident: str
    document: Any
    conversations: int
    adds: bool


def situations() -> Iterator[Situation]:
    """Yield each accident in each dialect."""
    for dialect, build in DIALECTS.items():
        for name, accident in ACCIDENTS.items():
            messages = build()
            if name in _ORDINARY.get(dialect, ()):
                continue
            document = accident(copy.deepcopy(messages))
            if document != messages:
                count = 2 if accident is mixed_rows else 1
                yield Situation(dialect, name, document, count, any(part in name for part in _ADDS))
