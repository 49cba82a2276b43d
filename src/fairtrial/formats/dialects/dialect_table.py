"""In which dialects is a span written, and what does it say?

A dialect is a module of this package that makes one `Dialect`, and one row in `DIALECTS`:

- `is_span(span)` says by the attributes of a span whether it is written in the dialect. The scope of the span says
  nothing: a list of known scopes would drop the spans of everybody else.
- `read(span, reading)` returns the `Facts` of the span: whether it is an agent, a model call or a tool, and its
  messages as entries of `formats/chats/assembly.py`. `attributes.py` reads messages of providers, JSON in texts, and
  numbers. A problem in a message becomes a warning in `reading`.

Many spans are written in several dialects. The dialects earlier in the table count, and the later ones fill their gaps.
`CONVERSATION_IDS` lists the attributes that name a conversation, the first that is there counts.
Everything after that, from the facts to recordings, is the same for all dialects: `formats/conversation/`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from fairtrial.formats.cut_off_texts import LIMIT, LONGEST_TEXT, is_cut_json
from fairtrial.formats.dialects.agents_sdk import OPENAI_AGENTS
from fairtrial.formats.dialects.facts import NOTHING, Dialect, Facts, combined
from fairtrial.formats.dialects.fairtrial_exports import FAIRTRIAL_EXPORTS
from fairtrial.formats.dialects.genai import GENAI
from fairtrial.formats.dialects.google_adk import GOOGLE_ADK
from fairtrial.formats.dialects.hidden_contents import with_withheld_contents
from fairtrial.formats.dialects.langfuse import LANGFUSE
from fairtrial.formats.dialects.langsmith import LANGSMITH
from fairtrial.formats.dialects.mcp import MCP
from fairtrial.formats.dialects.mlflow import MLFLOW
from fairtrial.formats.dialects.openinference import OPENINFERENCE
from fairtrial.formats.dialects.openllmetry import OPENLLMETRY
from fairtrial.formats.dialects.vercel_ai import VERCEL_AI_SPANS
from fairtrial.formats.dialects.weave import WEAVE
from fairtrial.formats.jsontext import MOST_DEPTH, is_too_deep
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.body import COUNT_LIMITS
from fairtrial.formats.spans.span import Span, SpanItem
from fairtrial.records.record import Json

DIALECTS: tuple[Dialect, ...] = (
    GOOGLE_ADK,
    OPENINFERENCE,
    VERCEL_AI_SPANS,
    MCP,
    OPENLLMETRY,
    GENAI,
    LANGFUSE,
    LANGSMITH,
    MLFLOW,
    WEAVE,
    OPENAI_AGENTS,
    FAIRTRIAL_EXPORTS,
)

CONVERSATION_IDS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.chat_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.chatId",
    "gcp.vertex.agent.session_id",
    "mlflow.trace.session",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.conversation_id",
    "weave.thread_id",
    "openai_agents.group_id",
)
"""The attributes that name the conversation of a span, in the order of their precedence."""


def dialects_of(span: Span) -> list[Dialect]:
    """Return the dialects that a span is written in."""
    return [dialect for dialect in DIALECTS if dialect.is_span(span)]


def dialect_names(items: Iterable[SpanItem]) -> tuple[str, ...]:
    """Return the names of the dialects of spans, in the order of the table."""
    names = {dialect.name for item in items if isinstance(item, Span) for dialect in dialects_of(item)}
    return tuple(dialect.name for dialect in DIALECTS if dialect.name in names)


def facts_of(span: Span, reading: Diagnostics) -> Facts:
    """Return what a span says in all its dialects together, with the reason for each content that is not recorded."""
    facts = _facts_of(span, reading)
    if facts is NOTHING:
        return facts
    if span.dropped:
        loss = f"the limits of an SDK dropped {span.dropped} attributes or events of this span"
        facts = replace(facts, missing=f"{loss}; set {COUNT_LIMITS} higher where the agent runs")
    return with_withheld_contents(facts, has_lost_attributes=span.dropped > 0)


def _facts_of(span: Span, reading: Diagnostics) -> Facts:
    """Return what the dialects read. Attributes that a limit cut off, or that are too long, are as good as absent."""
    missing = {name: reason for name, value in span.attributes.items() if (reason := _gap_in(name, value))}
    facts = NOTHING
    for dialect in dialects_of(span):
        if not missing:
            facts = combined(facts, dialect.read(span, reading))
            continue
        whole = {name: value for name, value in span.attributes.items() if name not in missing}
        if dialect.is_span(rest := replace(span, attributes=whole)):
            facts = combined(facts, dialect.read(rest, reading))
    return replace(facts, missing=missing[min(missing)]) if missing and facts is not NOTHING else facts


def _gap_in(name: str, value: Json) -> str:
    """Return the reason for which an attribute is not read, or an empty text."""
    if not isinstance(value, str):
        if not isinstance(value, dict | list):
            return ""
        return f"the attribute {name} is nested deeper than {MOST_DEPTH} levels" if is_too_deep(value) else ""
    if len(value) > LONGEST_TEXT:
        return f"the attribute {name} is longer than 16 MiB; record shorter texts where the agent runs"
    return f"a limit cut {name} off; set {LIMIT} higher where the agent runs" if is_cut_json(value) else ""
