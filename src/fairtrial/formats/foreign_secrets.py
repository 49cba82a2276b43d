"""Remove secrets from foreign recordings before anything is stored or sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.formats.trace_contents import json_of_contents
from fairtrial.records.decoding import convert
from fairtrial.records.trace import AgentDetails, ToolResult, Trace
from fairtrial.text.layers import unescape_json

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.attempt import Recording

_LONGEST_REMEMBERED = 100_000
"""Details of an agent that are longer are searched each time, so that the memory stays bounded."""


def without_secrets(recording: Recording, reading: Diagnostics, contents: str | None = None) -> Recording:
    """Return a recording with `[REDACTED:kind]` in place of each secret. A warning counts the secrets by their kind.

    E-mail addresses stay: they are part of many conversations, and eval sets name them. `contents` is the
    `json_of_contents` of its trace if the caller has it already.
    """
    trace = recording.trace
    # Most recordings hold no secret. One search in all contents shows that.
    contents = json_of_contents(trace) if contents is None else contents
    if not _may_hold_secrets(contents) and not any(map(_may_agent_hold_secrets, _agents(trace))):
        return recording
    from fairtrial.text.redaction.redact_json import redact_json

    clean, redactions = redact_json(msgspec.json.decode(msgspec.json.encode(trace)), emails=False)
    if not redactions:
        return recording
    counts = Counter(redaction.kind for redaction in redactions)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    reading.warnings.append(f"{reading.path}: secrets in {recording.case_id!r} were replaced by [REDACTED]: {kinds}")
    failure = recording.failure
    if failure is not None:
        cause, _ = redact_json(failure.cause, emails=False)
        failure = replace(failure, cause=str(cause))
    return replace(recording, trace=convert(clean, Trace), failure=failure)


def _agents(trace: Trace) -> Iterator[AgentDetails]:
    """Yield the agents of a trace, and those of the traces inside of its tools."""
    for invocation in (*trace.history, *trace.invocations):
        if invocation.about is not None:
            yield from invocation.about.agents
        for step in invocation.steps or ():
            if isinstance(step, ToolResult) and step.inner is not None:
                yield from _agents(step.inner)


def _may_agent_hold_secrets(agent: AgentDetails) -> bool:
    text = msgspec.json.encode([agent.instructions, agent.tool_declarations]).decode()
    return _remember_text(text) if len(text) <= _LONGEST_REMEMBERED else _may_hold_secrets(text)


@cache
def _load_search() -> Callable[[str], bool]:
    from fairtrial.text.redaction.redact import (
        may_hold_secrets,
    )  # to compile its patterns takes longer than a small run

    return may_hold_secrets


def _may_hold_secrets(text: str) -> bool:
    """Return whether the value of some JSON may hold a secret."""
    return _load_search()(unescape_json(text))


# An agent has the same instructions and tools in all of its conversations, and they are often longer than the texts.
_remember_text = lru_cache(maxsize=64)(_may_hold_secrets)
