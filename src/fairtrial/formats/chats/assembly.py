"""Assemble provider messages into a trace. Each dialect turns its messages into the same entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.formats.accounting import IsKnown, Read, read_and_account
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, beginning, read_response
from fairtrial.formats.number_range import is_in_range
from fairtrial.formats.tool_failures import has_failed
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Part,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    one_message,
    split_reply,
)

if TYPE_CHECKING:
    from fairtrial.formats.chats.declared_shapes import Shapes
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json


class Dialect(NamedTuple):
    """A shape of messages.

    `is_message` says whether a message has a mark that no other dialect has. `read_message` reads one message. A part
    or a role that it does not know is an error, because its content would be lost. It uses messages of the `declared`
    shapes as a whole. `is_known` says which objects inside a message carry nothing, beside those of all providers.
    """

    name: str
    is_message: Callable[[dict[str, Any]], bool]
    read_message: Read
    declared: Shapes
    is_known: IsKnown | None = None

    def entries(self, message: dict[str, Any], at: Place, reading: Diagnostics) -> Sequence[Entry]:
        """Return the entries of a message, of which each leaf is accounted for."""
        if self.declared.covers(message):
            return self.read_message(message, at, reading)
        return read_and_account(self.read_message, message, at, reading, self.is_known)


def assemble(entries: Iterable[Entry], instructions: str, declarations: tuple[dict[str, Any], ...]) -> Trace:
    """Return entries as invocations. A user's message starts an invocation, the agent's last text is the reply.

    User messages that follow one another without a step between them are one message. Messages of the agent before the
    first user message are the opening of the trace, for example a greeting.
    """
    entries = list(entries)
    texts = [instructions] if instructions else []
    texts += [entry.text for entry in entries if type(entry) is Instruction]
    names: dict[str, str] = {}
    before, *turns = split_turns(entries)
    opening: tuple[Message, ...] = ()
    if turns and all(isinstance(step, Message) for step in before.steps):
        opening = tuple(step for step in before.steps if isinstance(step, Message))
    elif before.steps or before.usages:
        turns = [before, *turns]
    invocations = [_invocation(turn, names, texts) for turn in turns]
    if invocations and (texts or declarations):
        about = About((AgentDetails("assistant", "\n".join(texts), declarations),))
        invocations[0] = replace(invocations[0], about=about)
    return Trace(tuple(invocations), opening=opening)


class TurnEntries(NamedTuple):
    """The messages of the user that begin a turn, and what follows them."""

    messages: list[Message]
    steps: list[Step]
    usages: list[Usage]


def split_turns(entries: Iterable[Entry]) -> list[TurnEntries]:
    """Return what stands before the first message of the user, and then each turn.

    User messages that follow one another are one turn, unless other agents worked on the turn between them.
    """
    turns = [TurnEntries([], [], [])]
    goes_on = False
    for entry in entries:
        if type(entry) is UserMessage:
            if entry.quotes_agents:
                goes_on = False
                continue
            if not goes_on:
                turns.append(TurnEntries([], [], []))
                goes_on = True
            turns[-1].messages.append(entry.message)
        elif type(entry) is Usage:
            turns[-1].usages.append(entry)
            goes_on = False
        elif type(entry) is not Instruction:
            turns[-1].steps.append(entry)  # type: ignore[arg-type]  # all other entries are steps
            goes_on = False
    return turns


def with_name(step: Step, names: dict[str, str]) -> Step:
    """Return a step. A result that names only the id of its call gets the name of the call."""
    if type(step) is ToolCall and step.id:
        names[step.id] = step.name
    elif type(step) is ToolResult and not step.name:
        return replace(step, name=names.get(step.id, ""))
    return step


def _invocation(turn: TurnEntries, names: dict[str, str], instructions: list[str]) -> Invocation:
    before, reply = split_reply([with_name(step, names) for step in turn.steps])
    user = one_message(turn.messages) if turn.messages else beginning(instructions)
    return Invocation(user, before, reply, usages=tuple(turn.usages) or None)


def unknown_part(part: Any, at: Place, reading: Diagnostics, dialect: str, part_types: Iterable[str]) -> None:
    """Note a part that a dialect does not have. Its content would be lost, so that it is an error."""
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        problem = f"is a part of the type {part['type']!r}, which is not read in {dialect}"
    elif isinstance(part, dict):
        problem = f"is a part with the keys {', '.join(map(repr, list(part)[:5]))}, which is not read in {dialect}"
    else:
        reading.wrong_type(at, f"a part of {dialect}", part)
        return
    reading.error(at, f"{problem}; known are {', '.join(part_types)}")


def unknown_role(message: dict[str, Any], at: Place, reading: Diagnostics, dialect: str, roles: Iterable[str]) -> None:
    """Note a message whose role a dialect does not have."""
    reading.wrong_type((at, "role"), f"one of {', '.join(roles)} in {dialect}", message.get("role"))


def user_message(texts: Sequence[str], media: Sequence[Part]) -> list[Entry]:
    """Return the user's message, or nothing if it has no content, for example because it held only results."""
    return [UserMessage(Message("\n".join(texts), parts=tuple(media)))] if texts or media else []


def input_entries(steps: Sequence[Step], *, is_instruction: bool) -> list[Entry]:
    """Return the entries of a message to the agent: an instruction, or results of tools before the user's message."""
    entries: list[Entry] = []
    texts: list[str] = []
    media: list[Part] = []
    for step in steps:
        if type(step) is Message:
            texts += [step.text] if step.text else []
            media += step.parts
        elif type(step) is ToolResult:
            entries.append(step)
    return [Instruction("\n".join(texts))] if is_instruction else entries + user_message(texts, media)


def join_texts(steps: Sequence[Step]) -> list[Step]:
    """Return steps with texts that follow one another joined. A provider splits a text, for example at citations."""
    if len(steps) < 2 or [type(step) for step in steps].count(Message) < 2:  # most messages
        return [step for step in steps if type(step) is not Message or step.text or step.parts]
    joined: list[Step] = []
    for _, group in groupby(steps, key=lambda step: type(step) is Message):
        neighbours = list(group)
        messages = [step for step in neighbours if isinstance(step, Message)]
        if not messages:
            joined += neighbours
        elif len(messages) == 1:
            joined += messages if messages[0].text or messages[0].parts else []
        else:
            text = "".join(message.text for message in messages)
            parts = tuple(part for message in messages for part in message.parts)
            joined += [replace(messages[0], text=text, parts=parts)] if text or parts else []
    return joined


def result(name: str, response: Json, call_id: str, *, stated: bool | None = None, withheld: str = "") -> ToolResult:
    """Return the result of a tool. `stated` is the failure that the source states beside the response."""
    return ToolResult(name, response, call_id, is_error=has_failed(response, stated), withheld=withheld)


def response(raw: Json) -> Json:
    """Return the answer of a tool: data, the data in its text, or the text in blocks of content."""
    value = read_response(raw) if isinstance(raw, str) else raw
    blocks = value if isinstance(value, list) else []
    if blocks and all(isinstance(block, dict) and isinstance(block.get("text"), str) for block in blocks):
        return read_response("\n".join(block["text"] for block in blocks))
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"json"}:
        return blocks[0]["json"]
    return value


def thoughts(text: Any) -> list[Step]:
    """Return a thought if there is a text."""
    return [Thought(text)] if isinstance(text, str) and text else []


def text_at(value: dict[str, Any], key: str) -> str:
    """Return a text of a message, or an empty text if it is absent or something else, for example a null name."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


def object_at(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object of a message, or an empty object."""
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def number_at(value: dict[str, Any], key: str) -> int | None:
    """Return a count of tokens, or None."""
    number = value.get(key)
    return number if isinstance(number, int) and not isinstance(number, bool) and is_in_range(number) else None
