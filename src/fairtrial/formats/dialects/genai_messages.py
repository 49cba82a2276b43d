"""Read messages in spans of the GenAI conventions, from attributes or else from events."""

from __future__ import annotations

from fairtrial.formats.dialects.attributes import read_number
from fairtrial.formats.dialects.genai_events import SpanMessages, read_content
from fairtrial.formats.dialects.genai_parts import read_answer, read_entries, read_instructions
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span

_ATTRIBUTES = frozenset(
    ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "pydantic_ai.all_messages")
)

_NO_MESSAGES = SpanMessages()


def collect_messages(span: Span, reading: Diagnostics) -> SpanMessages:
    """Return the messages in the attributes of a span. Events fill the gaps."""
    if not span.events and _ATTRIBUTES.isdisjoint(span.attributes):
        return _NO_MESSAGES
    choices = read_number(span, "gen_ai.request.choice.count") or 1
    entries = read_entries(span.attributes.get("gen_ai.input.messages"), reading)
    steps, finish_reason = read_answer(span.attributes.get("gen_ai.output.messages"), choices, reading)
    instructions = read_instructions(span.attributes.get("gen_ai.system_instructions"))
    if span.events and (entries is None or steps is None):
        content = read_content(span, choices, reading)
        entries = content.input if entries is None else entries
        steps = content.output if steps is None else steps
        instructions = instructions or content.instructions
        finish_reason = finish_reason or content.finish_reason
    if entries is None:
        # Pydantic AI writes a whole conversation beside the span of its agent.
        entries = read_entries(span.attributes.get("pydantic_ai.all_messages"), reading)
    return SpanMessages(entries, steps, instructions, finish_reason)
