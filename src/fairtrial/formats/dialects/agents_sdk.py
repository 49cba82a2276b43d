"""The spans of the OpenAI Agents SDK's own export. Spans of responses have no content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.chats.otel_messages import SWITCH as GENAI_SWITCH
from fairtrial.formats.dialects.attributes import extract_text
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.dialects.observations import model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_SWITCH = "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA=true"
_NO_TEXTS = (
    "the trace export of the OpenAI Agents SDK never holds texts of the Responses API; record the items of the "
    f"session, or set an OpenTelemetry instrumentation of the SDK and {GENAI_SWITCH} where the agent runs"
)
_HANDOVER = "transfer_to_"


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = span.attributes["openai_agents.type"]
    inputs, outputs = span.attributes.get("openai_agents.input"), span.attributes.get("openai_agents.output")
    if kind == "agent":
        name = extract_text(span, "openai_agents.name")
        return Facts("agent", name, name, missing=_NO_TEXTS)
    if kind in ("response", "generation"):
        model = extract_text(span, "openai_agents.model")
        facts = model_facts(inputs, outputs, reading, model=model, usage=span.attributes.get("openai_agents.usage"))
        missing = _NO_TEXTS if kind == "response" else ""
        response_id = extract_text(span, "openai_agents.response_id")
        return replace(facts, response_id=response_id, missing=missing, switch=_SWITCH)
    if kind == "function":
        return replace(tool_facts(extract_text(span, "openai_agents.name"), inputs, outputs), switch=_SWITCH)
    if kind == "handoff":
        target = extract_text(span, "openai_agents.to_agent")
        return Facts("tool", _HANDOVER + target.lower().replace(" ", "_"), args={}, hands_over=True, switch=_SWITCH)
    return Facts()


OPENAI_AGENTS = Dialect("OpenAI Agents SDK", ("openai_agents.type",), _read)
