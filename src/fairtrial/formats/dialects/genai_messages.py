"""Read messages in spans of the GenAI conventions, from attributes or else from events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.formats.dialects.attributes import read_number
from fairtrial.formats.dialects.genai_events import SpanMessages, read_content
from fairtrial.formats.dialects.genai_parts import read_answer, read_entries, read_instructions
from fairtrial.records.trace import Message, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_ATTRIBUTES = frozenset(
    ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "pydantic_ai.all_messages")
)

_OUTPUT = "gen_ai.output.messages"

_NO_MESSAGES = SpanMessages()


def collect_messages(span: Span, reading: Diagnostics) -> SpanMessages:
    """Return the messages in the attributes of a span. Events fill the gaps."""
    if not span.events and _ATTRIBUTES.isdisjoint(span.attributes):
        return _NO_MESSAGES
    choices = read_number(span, "gen_ai.request.choice.count") or 1
    entries = read_entries(span.attributes.get("gen_ai.input.messages"), reading)
    steps, finish_reason = read_answer(span.attributes.get(_OUTPUT), choices, reading)
    instructions = read_instructions(span.attributes.get("gen_ai.system_instructions"))
    if span.events:
        content = read_content(span, choices, reading)
        if steps and content.output and _differ(steps, content.output):
            reading.unread = reading.unread or f"span {span.span_id}: {_OUTPUT} and the events hold other answers"
        entries = content.input if entries is None else entries
        steps = content.output if steps is None else steps
        instructions = instructions or content.instructions
        finish_reason = finish_reason or content.finish_reason
    if entries is None:
        # Pydantic AI writes a whole conversation beside the span of its agent.
        entries = read_entries(span.attributes.get("pydantic_ai.all_messages"), reading)
    return SpanMessages(entries, steps, instructions, finish_reason)


def _differ(steps: Sequence[Step], others: Sequence[Step]) -> bool:
    """Whether two reports of one answer hold other calls, or other texts. One of them may be shortened."""
    names, other_names = ([step.name for step in each if isinstance(step, ToolCall)] for each in (steps, others))
    texts = ("".join(step.text for step in each if isinstance(step, Message)).split() for each in (steps, others))
    shorter, longer = sorted(map("".join, texts), key=len)
    return sorted(names) != sorted(other_names) or shorter not in longer
