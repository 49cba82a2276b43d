"""The table of span dialects. It finds the dialects of a span, and reads its facts.

A dialect is a module of this package that makes one `Dialect`, and one row in `DIALECTS`:

- `marks` are names of attributes. A span with one of them is written in the dialect. The scope of the span says
  nothing: a list of known scopes would drop the spans of everybody else.
- `read(span, reading)` returns the `Facts` of the span: whether it is an agent, a model call or a tool, and its
  messages as entries of `formats/chats/assembly.py`. `attributes.py` reads messages of providers, JSON in texts, and
  numbers. A problem in a message becomes a warning in `reading`.

Many spans are written in several dialects. The dialects earlier in the table count, and the later ones fill their gaps.
`CONVERSATION_IDS` lists the attributes that name a conversation, the first that is there counts.
Everything after that, from the facts to recordings, is the same for all dialects: `formats/conversation/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.chats.smolagents_turns import is_smolagents, own_steps, turns_of_users
from fairtrial.formats.cut_off_texts import LIMIT, LONGEST_TEXT, beginning_of_text, is_cut_json, read_beginning
from fairtrial.formats.dialects.agents_sdk import OPENAI_AGENTS
from fairtrial.formats.dialects.facts import NOTHING, Dialect, Facts, combined
from fairtrial.formats.dialects.fairtrial_exports import FAIRTRIAL_EXPORTS
from fairtrial.formats.dialects.genai import GENAI
from fairtrial.formats.dialects.google_adk import GOOGLE_ADK
from fairtrial.formats.dialects.hidden_contents import with_withheld_contents
from fairtrial.formats.dialects.kept_observations import KEPT_OBSERVATIONS
from fairtrial.formats.dialects.langfuse import LANGFUSE
from fairtrial.formats.dialects.langsmith import LANGSMITH
from fairtrial.formats.dialects.mcp import MCP
from fairtrial.formats.dialects.mlflow import MLFLOW
from fairtrial.formats.dialects.openinference import OPENINFERENCE
from fairtrial.formats.dialects.openllmetry import OPENLLMETRY
from fairtrial.formats.dialects.vercel_ai import VERCEL_AI_SPANS
from fairtrial.formats.dialects.weave import WEAVE
from fairtrial.formats.jsontext import MOST_DEPTH, is_too_deep
from fairtrial.formats.spans.body import dropped_reason
from fairtrial.formats.spans.span import Span, SpanItem

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
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
    KEPT_OBSERVATIONS,
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


_ANSWER = re.compile(r"output|response|result|completion")
"""The names of attributes that hold the answer of a model, an agent or a tool."""
_CONTAINERS = (dict, list)
_PLACES = {mark: place for place, dialect in enumerate(DIALECTS) for mark in dialect.marks}
"""The place in the table of each dialect by its marks."""


def detect_dialects(span: Span) -> tuple[Dialect, ...]:
    """Return the dialects that a span is written in."""
    attributes = span.attributes
    marks = tuple([name for name in attributes if name in _PLACES and attributes[name] is not None])
    return _dialects_with(marks) if marks else ()


@lru_cache(maxsize=1024)
def _dialects_with(marks: tuple[str, ...]) -> tuple[Dialect, ...]:
    """Return the dialects with some marks. Most spans of an instrumentation have the same marks."""
    return tuple(DIALECTS[place] for place in sorted({_PLACES[mark] for mark in marks}))


def dialect_names(items: Iterable[SpanItem]) -> tuple[str, ...]:
    """Return the names of the dialects of spans, in the order of the table."""
    names = {dialect.name for item in items if isinstance(item, Span) for dialect in detect_dialects(item)}
    return tuple(dialect.name for dialect in DIALECTS if dialect.name in names)


def read_facts(span: Span, reading: Diagnostics) -> Facts:
    """Return what a span says in all its dialects together, with the reason for each content that is not recorded."""
    reading.unread = ""
    facts = _read_facts(span, reading)
    if facts is NOTHING:
        return facts
    if reading.unread:
        facts = replace(facts, unread=reading.unread, missing=facts.missing or reading.unread)
    if span.dropped:
        facts = replace(facts, missing=dropped_reason(span))
    if facts.input and is_smolagents(facts.input):
        output = None if facts.output is None else own_steps(facts.input, facts.output)
        facts = replace(facts, input=turns_of_users(facts.input), output=output)
    return with_withheld_contents(facts, has_lost_attributes=span.dropped > 0)


def _read_facts(span: Span, reading: Diagnostics) -> Facts:
    """Return what the dialects read. Attributes that a limit cut off, or that are too long, are as good as absent."""
    dialects = detect_dialects(span)
    if not dialects:
        return NOTHING
    attributes = span.attributes
    gaps = _gaps_in(attributes) if _may_have_gaps(attributes.values()) else {}
    if gaps:
        whole = {name: value for name, value in attributes.items() if name not in gaps}
        span = replace(span, attributes=whole)
        dialects = detect_dialects(span)
    facts = NOTHING
    for dialect in dialects:
        facts = combined(facts, dialect.read(span, reading))
    if not gaps or facts is NOTHING:
        return facts
    return replace(facts, missing=gaps[min(gaps)], **_beginnings(facts, {name: attributes[name] for name in gaps}))


def _beginnings(facts: Facts, gaps: Mapping[str, Json]) -> dict[str, str]:
    """Return the beginnings of arguments, of a result or of an answer among the attributes that are not read."""
    texts = {name: value for name, value in gaps.items() if isinstance(value, str)}
    answers = [texts[name] for name in sorted(texts) if _ANSWER.search(name)]
    if facts.kind != "tool":
        return {"output_beginning": beginning_of_text(answers[0])} if answers and facts.output is None else {}
    requests = [texts[name] for name in sorted(texts) if not _ANSWER.search(name)]
    found = {
        "input_beginning": requests if facts.args is None else [],
        "output_beginning": answers if facts.result is None else [],
    }
    return {field: read_beginning(values[0]) for field, values in found.items() if values}


def _gaps_in(attributes: Mapping[str, Json]) -> dict[str, str]:
    """Return the names of attributes that are not read, with the reason."""
    gaps = {name: _find_gap(name, value) for name, value in attributes.items()}
    return {name: reason for name, reason in gaps.items() if reason}


def _may_have_gaps(values: Iterable[Json]) -> bool:
    """Whether one of the values may not be whole. Most are short texts, whole JSON and numbers."""
    for value in values:
        if type(value) is str:
            if (value and value[0] in "{[" and value[-1] not in "}]") or len(value) > LONGEST_TEXT:
                return True
        elif type(value) in _CONTAINERS and is_too_deep(value):
            return True
    return False


def _find_gap(name: str, value: Json) -> str:
    """Return the reason for which an attribute is not read, or an empty text."""
    if is_too_deep(value):
        return f"the attribute {name} is nested deeper than {MOST_DEPTH} levels"
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"the attribute {name} is longer than 16 MiB; record shorter texts where the agent runs"
    return f"a limit cut {name} off; set {LIMIT} higher where the agent runs" if is_cut_json(value) else ""
