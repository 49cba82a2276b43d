"""The spans of MLflow."""

from __future__ import annotations

from fairtrial.formats.dialects.attributes import data_of
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import agent_facts, kind_of, model_facts, tool_facts
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span

_KINDS: dict[str, Kind] = {"chat_model": "model", "llm": "model", "agent": "agent", "tool": "tool"}


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = kind_of(_KINDS, data_of(span, "mlflow.spanType"))
    inputs, outputs = data_of(span, "mlflow.spanInputs"), data_of(span, "mlflow.spanOutputs")
    if kind == "model":
        model = data_of(span, "mlflow.llm.model", "model")
        return model_facts(
            inputs,
            outputs,
            reading,
            model=model if isinstance(model, str) else "",
            usage=data_of(span, "mlflow.chat.tokenUsage"),
            tools=data_of(span, "mlflow.chat.tools"),
        )
    if kind == "tool":
        return tool_facts(span.name, inputs, outputs)
    return agent_facts(span.name, inputs, outputs, reading) if kind == "agent" else Facts()


MLFLOW = Dialect("MLflow", ("mlflow.spanType",), _read)
