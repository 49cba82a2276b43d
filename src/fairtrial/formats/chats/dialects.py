"""Detect the dialect of a message list, and read its conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats import messages
from fairtrial.formats.accounting import account_beside, account_calls_beside, with_unread
from fairtrial.formats.chats.anthropic_messages import ANTHROPIC
from fairtrial.formats.chats.assembly import (
    Dialect,
    assemble,
    number_at,
    object_at,
    text_at,
)
from fairtrial.formats.chats.bedrock_messages import BEDROCK
from fairtrial.formats.chats.completion_calls import with_completions
from fairtrial.formats.chats.gemini_contents import GEMINI
from fairtrial.formats.chats.langchain_messages import LANGCHAIN
from fairtrial.formats.chats.logged_answers import with_answer
from fairtrial.formats.chats.message_keys import note_unread_keys
from fairtrial.formats.chats.openai_messages import openai_entries
from fairtrial.formats.chats.orphan_results import with_calls_of_results
from fairtrial.formats.chats.otel_messages import OTEL
from fairtrial.formats.chats.plain_chats import read_plain_chat
from fairtrial.formats.chats.pydantic_ai_messages import PYDANTIC_AI
from fairtrial.formats.chats.responses_items import RESPONSES
from fairtrial.formats.chats.smolagents_turns import (
    CALLS_AS_TEXT,
    has_calls_as_text,
    is_smolagents,
    turns_of_users,
)
from fairtrial.formats.chats.vercel_ai_messages import VERCEL_AI
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.reading import MOST_PROBLEMS, Diagnostics, Place
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Message, Thought, ToolCall, Trace, incomplete_trace

if TYPE_CHECKING:
    from fairtrial.formats.chats.assembly import Dialect

_DIALECTS = (PYDANTIC_AI, OTEL, LANGCHAIN, RESPONSES, GEMINI, VERCEL_AI, ANTHROPIC, BEDROCK)
_LISTS = ("messages", "contents", "input")
"""The keys of a request that hold its messages: most providers, Gemini, and OpenAI's Responses API."""
_MARKS = frozenset(("type", "parts", "kind", "lc", "toolInvocations"))
"""The keys of a message that may be marks of a dialect. Otherwise only the parts of its content are."""
_INSTRUCTIONS = ("system", "systemInstruction", "system_instruction", "instructions")
_TOOLS = ("tools", "toolConfig")
EXPORTED = "fairtrial"
"""The key of an exported conversation that holds what messages cannot say of it."""
_OWN_KEYS = frozenset(("id", "reward", EXPORTED, *_TOOLS, *_INSTRUCTIONS))
"""The keys of a request that are read beside its messages."""


def detect_dialect(items: Iterable[Any]) -> Dialect | None:
    """Return the dialect of the first message that has the mark of a dialect.

    Without a mark it is None. The messages are then OpenAI chat messages, which have no mark of their own.
    """
    for item in items:
        # Most messages are a role and a text, and a file may hold very many.
        if isinstance(item, dict) and (isinstance(item.get("content"), list) or not _MARKS.isdisjoint(item)):
            for dialect in _DIALECTS:
                if dialect.is_message(item):
                    return dialect
    return None


def is_message(value: Any) -> bool:
    """Whether a value looks like a message of any dialect."""
    return messages.is_message(value) or detect_dialect([value]) is not None


def is_request(value: Any) -> bool:
    """Whether a value is an object that holds a list of messages."""
    return isinstance(value, dict) and _list_key(value) is not None


def read_name(raw: Any) -> str:
    """Return the name of the dialect of a list of messages, or of a request."""
    key = _list_key(raw) if isinstance(raw, dict) else None
    dialect = detect_dialect(raw if key is None else raw[key])
    return "chat messages" if dialect is None else dialect.name


def _list_key(raw: dict[str, Any]) -> str | None:
    if isinstance(raw.get("messages"), list):
        return "messages"
    return next(
        (key for key in _LISTS if isinstance(raw.get(key), list) and raw[key] and is_message(raw[key][0])), None
    )


def conversation(raw: Any, at: Place, reading: Diagnostics, *, name: str) -> Recording:
    """Return a recorded conversation: a list of messages, or a request, which holds such a list beside other keys.

    A request may hold instructions and tools. `id`, `reward` and `fairtrial` are our own keys.
    """
    plain = read_plain_chat(raw, name)
    if plain is not None:
        return without_secrets(Recording(plain.session_id, plain), reading)
    own: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    reward: float | None = None
    instructions = ""
    declarations: tuple[dict[str, Any], ...] = ()
    messages_at = at
    is_answered = False
    if isinstance(raw, dict):
        key = _list_key(raw) or "messages"
        extra = {name: value for name, value in raw.items() if name != key and name not in _OWN_KEYS}
        name = name if raw.get("id") is None else str(raw["id"])
        reward = reading.number(raw, "reward", at)
        own = object_at(raw, EXPORTED)
        instructions = "\n".join([text_of_instructions(raw[key]) for key in _INSTRUCTIONS if raw.get(key)])
        declarations = _declarations(raw, at, reading) if "tools" in raw or "toolConfig" in raw else ()
        messages_at, raw = (at, key), reading.array(raw, key, at)
        if extra:
            request_length = len(raw)
            raw, extra = with_answer(raw, extra, at, reading)
            is_answered = len(raw) > request_length  # the response of a provider would hold its calls
    if type(raw) is not list:
        reading.wrong_type(at, "a conversation: an array of messages, or an object with 'messages'", raw)
        raw = []
    note_unread_keys(raw, messages_at, reading)
    reading.unread = ""
    dialect = detect_dialect(raw)
    are_declared = dialect is not None and dialect.declared.cover_all(raw)
    if not are_declared:
        dialect = choose_dialect(dialect, raw, messages_at, reading)
    if dialect is None:
        session = messages.trace(raw, messages_at, reading, instructions=instructions, declarations=declarations)
        if not (declarations or is_answered) and own.get("keeps_calls") is not True:
            session = messages.with_unknown_steps(session, raw)
        session = _with_turns_of_users(session, raw, instructions, declarations)
    else:
        read_message = dialect.read_message if are_declared else partial(_entries, dialect)
        entries = [entry for i, message in enumerate(raw) for entry in read_message(message, (messages_at, i), reading)]
        session = assemble(entries, instructions, declarations)
    if extra:
        account_beside(extra, session, at, reading)
        account_calls_beside(extra, session, at, reading)
    session = with_completions(with_calls_of_results(_with_exported(session, own)))
    session = incomplete_trace(with_unread(session, reading), _find_repetition(raw))
    trace = msgspec.structs.replace(session, session_id=name, extra=extra or None, reward=reward)
    return without_secrets(Recording(name, trace), reading)


def _find_repetition(raw: list[Any]) -> str:
    """Return the reason if a message with an id stands twice, one behind the other."""
    if any(map(eq, raw, raw[1:])):
        for i, (message, following) in enumerate(pairwise(raw), 1):
            if type(message) is dict and message.get("id") is not None and message == following:
                return f"/{i} repeats the message before it"
    return ""


def _with_turns_of_users(
    session: Trace, raw: list[Any], instructions: str, declarations: tuple[dict[str, Any], ...]
) -> Trace:
    """Return a trace of chat messages in which only tasks are turns, if smolagents wrote the messages."""
    if not session.invocations or not is_smolagents([UserMessage(session.invocations[0].user)]):
        return session
    chats = [message for message in raw if isinstance(message, dict)]
    entries = [entry for i, message in enumerate(chats) for entry in openai_entries(message, ((), i), Diagnostics(""))]
    incomplete = CALLS_AS_TEXT if has_calls_as_text(entries) else ""
    trace = assemble(turns_of_users(entries), instructions, declarations)
    return msgspec.structs.replace(trace, incomplete=incomplete)


def _with_exported(session: Trace, own: dict[str, Any]) -> Trace:
    """Return a trace with what our own export says of it beside the messages: the first turns may be its history."""
    if not own:
        return session
    count = number_at(own, "history") or 0
    return msgspec.structs.replace(
        session,
        history=session.invocations[:count],
        invocations=session.invocations[count:],
        incomplete=text_at(own, "incomplete") or session.incomplete,
        turns_unknown=own.get("turns_unknown") is True,
    )


def _entries(dialect: Dialect, message: Any, at: Place, reading: Diagnostics) -> Iterable[Any]:
    if isinstance(message, dict):
        return dialect.entries(message, at, reading)
    reading.wrong_type(at, f"an object, as all {dialect.name} are", message)
    return ()


def text_of_instructions(content: Any) -> str:
    """Return the text of instructions: a string, parts, or an object with parts."""
    if isinstance(content, dict):
        content = content.get("parts", [content])
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def _declarations(raw: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[dict[str, Any], ...]:
    """Return the declared tools of a request, without the wrapper that a provider puts around a declaration."""
    tools = reading.array(raw, "tools", at)
    config = raw.get("toolConfig")
    if isinstance(config, dict):  # Bedrock; Gemini keeps no tools there
        tools = [*tools, *reading.array(config, "tools", (at, "toolConfig"))]
    declarations: list[Any] = []
    for tool in tools:
        if isinstance(tool, dict):
            group = tool.get("functionDeclarations") or tool.get("function_declarations")
            wrapped = tool.get("function") or tool.get("toolSpec")
            declarations += group if isinstance(group, list) else [wrapped if isinstance(wrapped, dict) else tool]
    return tuple(declaration for declaration in declarations if isinstance(declaration, dict))


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
