"""The table of kinds of logs, and the reading of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from fairtrial.formats.accounting import account_beside, account_calls, with_unread
from fairtrial.formats.chats import dialects
from fairtrial.formats.kinds import agent_runs, model_logs
from fairtrial.formats.kinds.kind import Kind
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.attempt import Failure, Recording

KINDS = (
    Kind("ATIF trajectory", "atif.json", agent_runs.is_atif, agent_runs.read_atif),
    Kind("OpenHands events", "openhands.json", agent_runs.is_openhands, agent_runs.read_openhands),
    Kind("Gemini CLI session", "gemini-cli.json", agent_runs.is_gemini_cli, agent_runs.read_gemini_cli),
    Kind("OpenCode session", "opencode.json", agent_runs.is_opencode, agent_runs.read_opencode),
    Kind("pi session", "pi.jsonl", agent_runs.is_pi, agent_runs.read_pi),
    Kind("AutoGen messages", "autogen.json", agent_runs.is_autogen, agent_runs.read_autogen),
    Kind("smolagents memory", "smolagents.json", agent_runs.is_smolagents, agent_runs.read_smolagents),
    Kind("batch of requests", "batch.jsonl", model_logs.is_batch, model_logs.read_batch),
    Kind("Helicone rows", "helicone.jsonl", model_logs.is_helicone, model_logs.read_helicone),
    Kind("LangGraph state", "langgraph.json", model_logs.is_langgraph, model_logs.read_langgraph),
    Kind(
        "items of a conversation of OpenAI",
        "conversation-items.json",
        model_logs.is_conversation_items,
        model_logs.read_conversation_items,
    ),
    Kind("ShareGPT conversations", "sharegpt.json", model_logs.is_sharegpt, model_logs.read_sharegpt),
    Kind("Azure evaluation rows", "azure.jsonl", model_logs.is_azure, model_logs.read_azure),
    Kind("promptfoo results", "promptfoo.json", model_logs.is_promptfoo, model_logs.read_promptfoo),
    Kind("lm-eval samples", "lm-eval.jsonl", model_logs.is_lm_eval, model_logs.read_lm_eval),
    Kind("CrewAI output", "crewai.json", model_logs.is_crewai, model_logs.read_crewai),
)


def find_kind(values: list[Any]) -> Kind | None:
    """Return the kind of the lines, the items or the document, or None."""
    return next((kind for kind in KINDS if kind.is_kind(values)), None) if isinstance(values[:1], list) else None


def read_kind(kind: Kind, values: list[Any], reading: Diagnostics, stem: str) -> Iterator[Recording]:
    """Yield the recordings of a log. Each leaf of the log is accounted for."""
    conversations = list(kind.read(values))
    for number, found in enumerate(conversations, 1):
        name = found.id or (stem if len(conversations) == 1 else f"{stem}-{number}")
        request = {"messages": found.messages, dialects.EXPORTED: {"keeps_calls": found.keeps_calls}}
        recording = dialects.conversation(request, (), reading, name=name)
        source = found.source if isinstance(found.source, dict) else {"log": found.source}
        account_beside(source, recording.trace, (), reading)
        account_calls(source, recording.trace, reading)
        trace = with_unread(recording.trace, reading)
        if not found.failure:
            yield replace(recording, trace=trace)
            continue
        failure = Failure("infrastructure", found.failure)
        broken = replace(trace, broken=found.failure)
        yield replace(recording, trace=broken, failure=failure, ended_by="failure")
