"""Read the conversations that most files hold: messages of OpenAI with texts, calls and results, and no other key.

One check in msgspec shows that no key needs more care. Every other conversation takes the way of `dialects`, which also
finds the problems. Both ways give the same recording.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from fairtrial.formats.chats.completion_calls import COMPLETION
from fairtrial.formats.chats.smolagents_turns import STARTS
from fairtrial.formats.jsontext import decode_text
from fairtrial.formats.message_entries import beginning, read_response
from fairtrial.formats.tool_failures import is_failure
from fairtrial.records.decoding import convert
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Step,
    ToolCall,
    ToolResult,
    Trace,
    one_message,
    split_reply,
)


class _Function(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    function: _Function
    type: Literal["function"] = "function"


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[_Call] | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET


class _Chat(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    messages: list[_Message]
    id: str | None = None


def read_plain_chat(raw: Any, name: str) -> Trace | None:
    """Return the trace of a plain conversation, or None if it is not plain or needs a second look.

    `name` is the id of a conversation without one.
    """
    try:
        chat = convert({"messages": raw} if type(raw) is list else raw, _Chat)
    except msgspec.ValidationError:
        return None
    return _PlainTrace().add_messages(chat.messages, name if chat.id is None else chat.id)


class _PlainTrace:
    """The invocations of the messages so far. See `fairtrial.formats.messages.trace`, which these rules follow."""

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []
        self.texts: list[str] = []
        self.opening: tuple[Message, ...] = ()
        self.user: list[Message] = []
        self.steps: list[Step] = []
        self.names: dict[str, str] = {}

    def add_messages(self, messages: list[_Message], name: str) -> Trace | None:
        """Add messages, and return their trace, or None if a message needs a second look."""
        for message in messages:
            role, content, calls = message.role, message.content, message.tool_calls
            if role == "assistant" and calls is not UNSET:
                if not self._add_calls(content, calls):
                    return None
            elif content is None or calls is not UNSET:
                return None
            elif role == "assistant":
                self.steps.append(Message(content))
            elif role == "user":
                self._add_user(content)
            elif role != "tool":
                self.texts.append(content)
            elif not self._add_result(content, message.tool_call_id):
                return None
        if self.user or self.steps:
            self._end_invocation()
        return self._finish_trace(name)

    def _finish_trace(self, name: str) -> Trace | None:
        invocations = self.invocations
        if invocations:
            if invocations[0].user.text.startswith(STARTS):
                return None
            if not self.names:  # texts alone say nothing of calls
                if any(invocation.steps for invocation in invocations):
                    return None
                invocations = [
                    Invocation(invocation.user, None, invocation.final_response) for invocation in invocations
                ]
            if self.texts:
                about = About((AgentDetails("assistant", "\n".join(self.texts)),))
                invocations[0] = msgspec.structs.replace(invocations[0], about=about)
        return Trace(tuple(invocations), session_id=name, opening=self.opening)

    def _end_invocation(self) -> None:
        steps, reply = split_reply(self.steps)
        self.invocations.append(Invocation(one_message(self.user or [beginning(self.texts)]), steps, reply))
        self.user, self.steps = [], []

    def _add_user(self, text: str) -> None:
        messages = [step for step in self.steps if type(step) is Message]
        if self.steps and (self.user or len(messages) < len(self.steps)):
            self._end_invocation()
        elif not self.user:
            self.opening, self.steps = tuple(messages), []
        self.user.append(Message(text))

    def _add_calls(self, content: str | None, calls: list[_Call]) -> bool:
        """Add the calls of a message behind its text. Return whether they need no second look."""
        if content:
            self.steps.append(Message(content))
        for call in calls:
            tool, call_id = call.function.name, call.id
            if not call_id or call_id in self.names or tool == COMPLETION:
                return False
            try:
                args = decode_text(call.function.arguments or "{}")
            except ValueError:
                return False
            if type(args) is not dict:
                return False
            self.names[call_id] = tool
            self.steps.append(ToolCall(tool, args, call_id))
        return bool(calls)

    def _add_result(self, text: str, call_id: str | UnsetType) -> bool:
        """Add the answer of a tool. Return whether it needs no second look, because its call stands before it."""
        if call_id is UNSET or call_id not in self.names:
            return False
        response = read_response(text)
        self.steps.append(ToolResult(self.names[call_id], response, call_id, is_error=is_failure(response)))
        return True
