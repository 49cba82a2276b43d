"""The runs of LangSmith."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.dialects.attributes import extract_text, note_unread
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import detect_kind, model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_KINDS: dict[str, Kind] = {"llm": "model", "tool": "tool"}
_LONE_PATCH = "a run of LangSmith ends without its start; add the file or the row in which the run starts"
_SWITCH = "LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false"


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = detect_kind(_KINDS, span.attributes.get("langsmith.span.kind"))
    inputs, outputs = span.attributes.get("langsmith.inputs"), span.attributes.get("langsmith.outputs")
    if inputs is None and "langsmith.span.kind" not in span.attributes:
        note_unread([_LONE_PATCH], reading)
        return Facts()
    if outputs == {}:
        # LangSmith writes an empty object in the place of hidden contents. Real outputs have a key at least.
        inputs, outputs = inputs or None, None
    if kind == "model":
        settings: Any = span.attributes.get("langsmith.invocation_params")
        facts = model_facts(
            inputs,
            outputs,
            reading,
            model=_model(outputs) or extract_text(span, "langsmith.metadata.ls_model_name"),
            tools=settings.get("tools") if isinstance(settings, dict) else None,
        )
    elif kind == "tool":
        facts = tool_facts(span.name, inputs, outputs, extract_text(span, "langsmith.tool_call_id"))
    else:
        return Facts()
    has_answer = facts.output is not None or facts.result is not None
    return replace(facts, switch=_SWITCH, missing="" if has_answer else _reason(span, outputs))


def _reason(span: Span, outputs: Any) -> str:
    """Return the reason for which a run shows no answer, or an empty text if a setting hides its contents."""
    if outputs is None:
        is_hidden = "langsmith.outputs" in span.attributes or span.failure
        has_ended = "" if span.end is None else ", although it ended"
        return "" if is_hidden else f"the run of LangSmith has no outputs{has_ended}; add the patch that ends it"
    if isinstance(outputs, dict) and all(value is None for value in outputs.values()):
        return f"the run of LangSmith has no answer: its output {min(outputs)!r} is null"
    return "the outputs of the run of LangSmith are in a form that is not read"


def _model(outputs: Any) -> str:
    """Return the model that answered. LangChain names it beside the messages."""
    output = outputs.get("llm_output") if isinstance(outputs, dict) else None
    name = output.get("model_name") if isinstance(output, dict) else None
    return name if isinstance(name, str) else ""


LANGSMITH = Dialect("LangSmith", ("langsmith.inputs", "langsmith.outputs"), _read)
