"""The runs of LangSmith."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fairtrial.formats.dialects.attributes import text_of
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import kind_of, model_facts, tool_facts
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span

_KINDS: dict[str, Kind] = {"llm": "model", "tool": "tool"}
_SWITCH = "LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false"


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = kind_of(_KINDS, span.attributes.get("langsmith.span.kind"))
    inputs, outputs = span.attributes["langsmith.inputs"], span.attributes.get("langsmith.outputs")
    if outputs == {}:
        # LangSmith writes an empty object in the place of hidden contents. Real outputs have a key at least.
        inputs, outputs = inputs or None, None
    if kind == "model":
        settings: Any = span.attributes.get("langsmith.invocation_params")
        facts = model_facts(
            inputs,
            outputs,
            reading,
            model=_model(outputs) or text_of(span, "langsmith.metadata.ls_model_name"),
            tools=settings.get("tools") if isinstance(settings, dict) else None,
        )
    elif kind == "tool":
        facts = tool_facts(span.name, inputs, outputs, text_of(span, "langsmith.tool_call_id"))
    else:
        return Facts()
    return replace(facts, switch=_SWITCH)


def _model(outputs: Any) -> str:
    """Return the model that answered. LangChain names it beside the messages."""
    output = outputs.get("llm_output") if isinstance(outputs, dict) else None
    name = output.get("model_name") if isinstance(output, dict) else None
    return name if isinstance(name, str) else ""


LANGSMITH = Dialect("LangSmith", ("langsmith.inputs",), _read)
