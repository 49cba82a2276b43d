"""The properties of attempts that failures may share and passes do not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.events import Conversation, is_error
from fairtrial.analysis.failures.refusal_phrases import language
from fairtrial.records.trace import ToolResult
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.result import CaseResult

_TURNS = ((1, "1 message"), (3, "2 to 3 messages"), (7, "4 to 7 messages"))
_TOKENS = (1_000, 3_000, 10_000, 30_000, 100_000)
_MOST_GROUPS = 20


def attempt_features(result: CaseResult, conversation: Conversation, case: EvalCase | None) -> frozenset[str]:
    """Return the properties of an attempt: its tools, errors, turns, language, tokens, models, ending and groups."""
    return shared_set(frozenset(_features(result, conversation, case)))


@lru_cache(maxsize=4096)
def shared_set(features: frozenset[str]) -> frozenset[str]:
    """Return one set for equal sets, so that many attempts with equal properties need the memory of one."""
    return frozenset(map(intern, features))


def _features(result: CaseResult, conversation: Conversation, case: EvalCase | None) -> Iterator[str]:
    yield from (f"calls {name}" for name in {conversation.call_at(place).name for place in conversation.calls})
    for event in conversation.events:
        if event.kind == "result" and isinstance(event.item, ToolResult) and is_error(event.item):
            yield f"{event.item.name} answers with an error"
    turns = len(conversation.trace.invocations)
    yield f"has {next((name for most, name in _TURNS if turns <= most), 'more than 7 messages')} of the user"
    query = " ".join(invocation.query for invocation in conversation.trace.invocations[:3])
    if query and (own := language(query)):
        yield f"language: {own}"
    yield f"ended by: {result.ended_by}"
    yield from (f"model: {name}" for name in sorted(set(conversation.trace.models)))
    tokens = sum(number for name, number in (result.usage or {}).items() if name.endswith("tokens"))
    if tokens:
        bound = next((most for most in _TOKENS if tokens <= most), None)
        yield f"takes at most {bound:,} tokens" if bound else f"takes more than {_TOKENS[-1]:,} tokens"
    for name, value in list((case.groups if case is not None else {}).items())[:_MOST_GROUPS]:
        values = value if isinstance(value, list) else [value]
        yield from (shorten(f"{name}: {entry}", 100) for entry in values if isinstance(entry, str | int | float))


def is_defining(feature: str, tools: frozenset[str], kinds: frozenset[str]) -> bool:
    """Return whether a property says no more than the signature of a mode does."""
    if any(feature in (f"calls {tool}", f"{tool} answers with an error") for tool in tools):
        return True
    return ("cap" in kinds and feature.startswith("ended by: ")) or (
        "language" in kinds and feature.startswith("language: ")
    )
