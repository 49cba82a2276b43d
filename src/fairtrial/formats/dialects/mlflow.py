"""The spans of MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.formats.dialects.attributes import read_data
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import agent_facts, detect_kind, model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_KINDS: dict[str, Kind] = {"chat_model": "model", "llm": "model", "agent": "agent", "tool": "tool"}


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = detect_kind(_KINDS, read_data(span, "mlflow.spanType"))
    inputs, outputs = read_data(span, "mlflow.spanInputs"), read_data(span, "mlflow.spanOutputs")
    if kind == "model":
        model = read_data(span, "mlflow.llm.model", "model")
        return model_facts(
            inputs,
            outputs,
            reading,
            model=model if isinstance(model, str) else "",
            usage=read_data(span, "mlflow.chat.tokenUsage"),
            tools=read_data(span, "mlflow.chat.tools"),
        )
    if kind == "tool":
        return tool_facts(span.name, inputs, outputs)
    return agent_facts(span.name, inputs, outputs, reading) if kind == "agent" else Facts()


MLFLOW = Dialect("MLflow", ("mlflow.spanType",), _read)
