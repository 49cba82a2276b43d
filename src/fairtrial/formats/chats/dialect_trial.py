"""Choose among the dialects whose messages have `parts`, by reading the messages in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.errors import FormatError
from fairtrial.formats.chats.gemini_contents import GEMINI
from fairtrial.formats.chats.otel_messages import OTEL
from fairtrial.formats.chats.vercel_ai_messages import VERCEL_AI
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.reading import MOST_PROBLEMS, Diagnostics, Place
from fairtrial.records.trace import Message, Thought, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.chats.assembly import Dialect

_SIMILAR = (OTEL, GEMINI, VERCEL_AI)
_MOST_MESSAGES = 200
"""So many messages of a conversation are read in each dialect."""


class _Signs(NamedTuple):
    """The roles, and the types and keys of parts, that another of the dialects may have. Most messages have none."""

    roles: frozenset[str]
    types: frozenset[str]
    keys: frozenset[str]

    def occur_in(self, message: dict[str, Any]) -> bool:
        """Whether a message may be of another dialect."""
        parts = message.get("parts")
        if type(parts) is not list:
            return False
        role = message.get("role")
        if type(role) is str and role in self.roles:
            return True
        for part in parts:
            if type(part) is dict:
                kind = part.get("type")
                if not self.keys.isdisjoint(part) or (type(kind) is str and kind in self.types):
                    return True
        return False


_GENAI_TYPES = frozenset(("tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response", "blob"))
_UI_TYPES = frozenset(("step-start", "dynamic-tool", "tool-call", "tool-result", "tool-invocation", "source-url"))
_CALLS = frozenset(("functionCall", "function_call", "functionResponse", "function_response", "toolCallId"))
_SIGNS = {
    VERCEL_AI.name: _Signs(frozenset(("model",)), _GENAI_TYPES, frozenset(("content", *_CALLS)) - {"toolCallId"}),
    GEMINI.name: _Signs(frozenset(("assistant", "tool", "developer")), frozenset(), frozenset(("type", "content"))),
    OTEL.name: _Signs(frozenset(), _UI_TYPES, frozenset(("text", *_CALLS))),
}


class _Trial(NamedTuple):
    """A reading of messages in a dialect. `unread` counts its problems and the leaves that it does not use."""

    dialect: Dialect
    entries: list[Entry]
    unread: int


def choose_dialect(dialect: Dialect | None, messages: Sequence[Any], at: Place, reading: Diagnostics) -> Dialect | None:
    """Return the dialect that reads most of the messages: the given one, or another whose messages have `parts`.

    If two dialects read equally much and find other contents, that is an error that names both.
    """
    signs = _SIGNS.get(dialect.name) if dialect is not None else None
    if dialect is None or signs is None:
        return dialect
    sample = [message for message in messages[:_MOST_MESSAGES] if isinstance(message, dict)]
    if not any(signs.occur_in(message) for message in sample):
        return dialect
    first = _try(dialect, sample)
    if not first.unread:
        return dialect
    trials = [first, *(_try(similar, sample) for similar in _SIMILAR if similar is not dialect)]
    best = min(trials, key=lambda trial: trial.unread)
    for trial in trials:
        if trial is not best and trial.unread == best.unread and _contents(trial) != _contents(best):
            reading.error(
                at,
                f"can be read as {best.dialect.name} and as {trial.dialect.name}, which give different texts or calls; "
                "keep the keys of one of them",
            )
    return best.dialect


def _try(dialect: Dialect, messages: Iterable[dict[str, Any]]) -> _Trial:
    reading = Diagnostics("")
    entries: list[Entry] = []
    try:
        for i, message in enumerate(messages):
            entries += dialect.entries(message, ((), i), reading)
    except FormatError:  # the list of problems is full
        return _Trial(dialect, entries, MOST_PROBLEMS)
    return _Trial(dialect, entries, len(reading.errors) + len(reading.unread_keys))


def _contents(trial: _Trial) -> list[Any]:
    contents: list[Any] = []
    for entry in trial.entries:
        message = entry.message if isinstance(entry, UserMessage) else entry
        if isinstance(message, Message | Thought):
            text = message.text or (message.beginning if isinstance(message, Message) else "")
            contents += [text] if text else []
        elif isinstance(message, ToolCall):
            contents.append((message.name, message.args))
    return contents
