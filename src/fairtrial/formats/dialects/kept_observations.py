"""The spans of services that keep the input and the output of each, with a kind: Opik and Datadog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.formats.dialects.attributes import extract_text
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import agent_facts, detect_kind, model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_KINDS: dict[str, Kind] = {"llm": "model", "agent": "agent", "tool": "tool"}


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = detect_kind(_KINDS, span.attributes["observation.kind"])
    inputs, outputs = span.attributes.get("observation.input"), span.attributes.get("observation.output")
    if kind == "model":
        model, usage = extract_text(span, "observation.model"), span.attributes.get("observation.usage")
        return model_facts(inputs, outputs, reading, model=model, usage=usage)
    if kind == "tool":
        return tool_facts(span.name, inputs, outputs)
    return agent_facts(span.name, inputs, outputs, reading) if kind == "agent" else Facts()


KEPT_OBSERVATIONS = Dialect("observations", ("observation.kind",), _read)
