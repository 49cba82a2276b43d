"""The calls of W&B Weave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.formats.dialects.attributes import extract_text
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import agent_facts, detect_kind, model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

_KINDS: dict[str, Kind] = {"llm": "model", "agent": "agent", "tool": "tool"}
_MESSAGES = ("messages", "contents", "input", "prompt")
_ANSWERS = ("choices", "candidates", "content", "output")


def _read(span: Span, reading: Diagnostics) -> Facts:
    inputs, outputs = span.attributes.get("weave.inputs"), span.attributes.get("weave.output")
    # Clients of providers are recognised by the shape of their arguments: most operations do not name their kind.
    kind = detect_kind(_KINDS, span.attributes.get("weave.kind")) if not _is_model_call(inputs, outputs) else "model"
    if kind == "model":
        return model_facts(inputs, outputs, reading, usage=_usage(span.attributes.get("weave.usage")))
    if kind == "tool":
        return tool_facts(extract_text(span, "weave.op"), inputs, outputs)
    return agent_facts(extract_text(span, "weave.op"), inputs, outputs, reading) if kind == "agent" else Facts()


def _is_model_call(inputs: Json, outputs: Json) -> bool:
    """Whether a call has a model and messages among its arguments, and an answer of a provider."""
    if not isinstance(inputs, dict) or not isinstance(inputs.get("model"), str):
        return False
    has_answer = outputs is None or (isinstance(outputs, dict) and any(key in outputs for key in _ANSWERS))
    return has_answer and any(key in inputs for key in _MESSAGES)


def _usage(by_model: Json) -> Json:
    """Return the tokens of the only model of a call. The tokens of several models belong to several calls."""
    usages = list(by_model.values()) if isinstance(by_model, dict) else []
    return usages[0] if len(usages) == 1 else None


WEAVE = Dialect("Weave", ("weave.op",), _read)
