"""The table of kinds of logs, and the reading of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import account_beside, account_calls, with_unread
from fairtrial.formats.chats import dialects
from fairtrial.formats.kinds import (
    agent_runs,
    azure_rows,
    evaluations,
    model_logs,
    openhands,
    service_logs,
    terminal_agents,
)
from fairtrial.formats.kinds.kind import UNKNOWN, Conversation, Kind
from fairtrial.formats.loaded import BATCH
from fairtrial.formats.record_order import find_disorder_in
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import incomplete_trace

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics

KINDS = (
    Kind("ATIF trajectory", "atif.json", agent_runs.is_atif, agent_runs.read_atif, in_order=True),
    Kind("OpenHands events", "openhands.json", openhands.is_openhands, openhands.read_openhands, in_order=True),
    Kind(
        "Gemini CLI session",
        "gemini-cli.json",
        terminal_agents.is_gemini_cli,
        terminal_agents.read_gemini_cli,
        in_order=True,
    ),
    Kind(
        "OpenCode session", "opencode.json", terminal_agents.is_opencode, terminal_agents.read_opencode, in_order=True
    ),
    Kind("pi session", "pi.jsonl", terminal_agents.is_pi, terminal_agents.read_pi, in_order=True),
    Kind("AutoGen messages", "autogen.json", agent_runs.is_autogen, agent_runs.read_autogen, in_order=True),
    Kind("smolagents memory", "smolagents.json", agent_runs.is_smolagents, agent_runs.read_smolagents, in_order=True),
    Kind(BATCH, "batch.jsonl", model_logs.is_batch, model_logs.read_batch),
    Kind("Helicone rows", "helicone.jsonl", model_logs.is_helicone, model_logs.read_helicone),
    Kind("LangGraph state", "langgraph.json", model_logs.is_langgraph, model_logs.read_langgraph),
    Kind(
        "items of a conversation of OpenAI",
        "conversation-items.json",
        model_logs.is_conversation_items,
        model_logs.read_conversation_items,
    ),
    Kind("ShareGPT conversations", "sharegpt.json", model_logs.is_sharegpt, model_logs.read_sharegpt),
    Kind("Azure evaluation rows", "azure.jsonl", azure_rows.is_azure, azure_rows.read_azure),
    Kind("promptfoo results", "promptfoo.json", evaluations.is_promptfoo, evaluations.read_promptfoo),
    Kind("lm-eval samples", "lm-eval.jsonl", evaluations.is_lm_eval, evaluations.read_lm_eval),
    Kind("BFCL results", "bfcl.jsonl", evaluations.is_bfcl, evaluations.read_bfcl),
    Kind("ADK analytics", "adk-analytics.jsonl", service_logs.is_analytics, service_logs.read_analytics),
    Kind(
        "trace of a Bedrock agent", "bedrock-agent.json", service_logs.is_bedrock_agent, service_logs.read_bedrock_agent
    ),
    Kind("messages of MCP", "mcp.jsonl", service_logs.is_mcp, service_logs.read_mcp, in_order=True),
    Kind("CrewAI output", "crewai.json", evaluations.is_crewai, evaluations.read_crewai),
)


def find_kind(values: list[Any]) -> Kind | None:
    """Return the kind of the lines, the items or the document, or None."""
    return next((kind for kind in KINDS if kind.is_kind(values)), None) if isinstance(values[:1], list) else None


def read_kind(kind: Kind, values: list[Any], reading: Diagnostics, stem: str) -> Iterator[Recording]:
    """Yield the recordings of a log. Each leaf of the log is accounted for."""
    disorder = find_disorder_in(values) if kind.in_order else ""
    for recording in read_conversations(kind.read(values), reading, stem):
        yield replace(recording, trace=incomplete_trace(recording.trace, disorder)) if disorder else recording


def read_conversations(found: Iterable[Conversation], reading: Diagnostics, stem: str) -> Iterator[Recording]:
    """Yield the recordings of conversations."""
    conversations = list(found)
    for number, conversation in enumerate(conversations, 1):
        name = conversation.id or (stem if len(conversations) == 1 else f"{stem}-{number}")
        for message in conversation.messages:
            if isinstance(message, dict) and message.get("role") == UNKNOWN:
                reading.error((), f"holds {message['content']}, which is not read")
        own = {"keeps_calls": conversation.keeps_calls, "incomplete": conversation.incomplete}
        request = {"messages": conversation.messages, dialects.EXPORTED: own}
        recording = dialects.conversation(request, (), reading, name=name)
        source = conversation.source if isinstance(conversation.source, dict | list) else {"log": conversation.source}
        account_beside(source, recording.trace, (), reading)
        account_calls(source, recording.trace, reading)
        trace = with_unread(recording.trace, reading)
        if not conversation.failure:
            yield replace(recording, trace=trace)
            continue
        failure = Failure("infrastructure", conversation.failure)
        broken = replace(trace, broken=conversation.failure)
        yield replace(recording, trace=broken, failure=failure, ended_by="failure")
