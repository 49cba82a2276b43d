"""Convert Google ADK events into session items. An event comes from ADK's runner, or as JSON from its server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.plain import plain
from fairtrial.config.spelling import snake
from fairtrial.errors import UsageError
from fairtrial.formats.adk import content
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import Message, Step, Thought, ToolCall

if TYPE_CHECKING:
    from fairtrial.protocols import Item

CONFIRMATION = "adk_request_confirmation"
QUESTION = "adk_request_input"
_CREDENTIAL = "adk_request_credential"
_KEYS = (
    "author",
    "content",
    "grounding_metadata",
    "usage_metadata",
    "model_version",
    "error_code",
    "error_message",
)


def items_of_event(event: dict[str, Any], *, is_final: bool) -> list[Item]:
    """Return the items of an event: the group, its steps, and the tokens of its model call.

    The texts of a final response become one message.
    """
    raw = {key: value for key, value in event.items() if snake(key) in _KEYS}
    group, steps, usage = content.event(raw, (), Diagnostics("event", lenient=True))
    if is_final and all(isinstance(step, Message | Thought) for step in steps):
        steps = _reply(steps)
    items: list[Item] = [replace(group, size=len(steps)), *steps]
    return items if usage is None else [*items, usage]


def confirmations_in(items: Iterable[Item]) -> dict[str, ToolCall]:
    """Return the calls that wait for a confirmation, by the id of the request."""
    calls: dict[str, ToolCall] = {}
    for item in items:
        if not isinstance(item, ToolCall) or item.name != CONFIRMATION:
            continue
        original = item.args.get("originalFunctionCall")
        if isinstance(original, dict):
            args = original.get("args")
            name, call_id = str(original.get("name")), str(original.get("id"))
            calls[item.id] = ToolCall(name, args if isinstance(args, dict) else {}, call_id)
    return calls


def questions_in(items: Iterable[Item]) -> dict[str, str]:
    """Return the questions to the user, by the id of the request. Raises UsageError if ADK asks for a credential."""
    questions: dict[str, str] = {}
    for item in items:
        if isinstance(item, ToolCall) and item.name == QUESTION:
            questions[item.id] = str(item.args.get("message") or item.name)
        elif isinstance(item, ToolCall) and item.name == _CREDENTIAL:
            raise UsageError(
                f"{item.author}: ADK asks the user for a credential ({_CREDENTIAL}), and nobody gives it here",
                code="unusable-agent",
            )
    return questions


def _reply(steps: list[Step]) -> list[Step]:
    """Return the steps of a final response with its texts joined into one message, as in ADK."""
    texts = [step for step in steps if isinstance(step, Message)]
    if len(texts) < 2:
        return steps
    text = "\n".join(message.text for message in texts if message.text)
    whole = replace(texts[0], text=text, parts=tuple(part for message in texts for part in message.parts))
    return [*(step for step in steps if isinstance(step, Thought)), whole]


def text_of_instruction(instruction: Any) -> str:
    """Return a system instruction as text. It may be a text, a content with parts, or a list of these."""
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    if isinstance(instruction, list):
        return "\n".join(filter(None, map(text_of_instruction, instruction)))
    parts = getattr(instruction, "parts", None)
    return text_of_instruction(list(parts)) if parts is not None else str(getattr(instruction, "text", None) or "")


def declarations_of_tool(tool: Any) -> list[dict[str, Any]]:
    """Return the functions that a tool declares, or the tool itself if the model's provider runs it."""
    dump = getattr(tool, "model_dump", None)
    raw = plain(dump(exclude_none=True)) if dump is not None else {"name": getattr(tool, "__name__", str(tool))}
    functions = raw.pop("function_declarations", [])
    return [*functions, *([raw] if raw else [])]
