"""The spans of Langfuse's SDK, and the observations that Langfuse makes of all spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.dialects.attributes import extract_text
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import agent_facts, detect_kind, model_facts, tool_facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

_KINDS: dict[str, Kind] = {"generation": "model", "agent": "agent", "tool": "tool"}
_ROLE = re.compile(r"^(system|user|assistant): ", re.MULTILINE)
_SWITCH = "capture_input=True and capture_output=True of @observe, and no mask that hides the contents"


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = detect_kind(_KINDS, span.attributes["langfuse.observation.type"])
    if kind == "other" and "gen_ai.tool.name" in span.attributes:  # Langfuse calls the tools of koog spans
        kind = "tool"
    inputs, outputs = (span.attributes.get(f"langfuse.observation.{name}") for name in ("input", "output"))
    if kind == "model":
        inputs = _messages(inputs)
        facts = model_facts(
            inputs,
            outputs,
            reading,
            model=extract_text(span, "langfuse.observation.model.name"),
            usage=span.attributes.get("langfuse.observation.usage_details"),
        )
    elif kind == "tool":
        call_id = extract_text(span, "gen_ai.tool.call.id")
        facts = tool_facts(_tool_name(span), inputs, outputs, call_id)
    elif kind == "agent":
        facts = agent_facts(span.name, inputs, outputs, reading)
    else:
        return Facts()
    return replace(facts, failure=_failure(span), switch=_SWITCH)


def _tool_name(span: Span) -> str:
    """Return the name of a tool. Without an attribute it is the name of the span, behind the words of frameworks."""
    return extract_text(span, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ").removeprefix(
        "running tool: "
    )


def _failure(span: Span) -> str:
    """Return the failure that the level of an observation states, or an empty text."""
    if span.attributes.get("langfuse.observation.level") != "ERROR":
        return ""
    return extract_text(span, "langfuse.observation.status_message") or "ERROR"


def _messages(inputs: Json) -> Json:
    r"""Return messages that stand in one text, as in `system: Be brief.\nuser: hi`."""
    if not isinstance(inputs, str) or not _ROLE.match(inputs):
        return inputs
    _, *pieces = _ROLE.split(inputs)
    return [
        {"role": role, "content": text.removesuffix("\n")} for role, text in zip(pieces[::2], pieces[1::2], strict=True)
    ]


LANGFUSE = Dialect("Langfuse", ("langfuse.observation.type",), _read)
