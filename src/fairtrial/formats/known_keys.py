"""Keys that carry nothing for scoring, and the texts under all other keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairtrial.formats.jsontext import decode_text

if TYPE_CHECKING:
    from fairtrial.formats.reading import Place

KNOWN_KEYS = frozenset(
    (
        *("role", "type", "kind", "part_kind", "lc", "object", "index", "id", "uuid", "status", "state", "phase"),
        *("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "message_id", "messageId", "parentId"),
        *("logprobs", "annotations", "citations", "usage", "usage_metadata", "response_metadata", "metadata", "model"),
        *("finish_reason", "finishReason", "stop_reason", "stopReason", "stop_sequence", "stop_details", "weight"),
        *("timestamp", "createdAt", "created_at", "created", "example", "artifact", "fairtrial", "extra", "run_id"),
        *("cache_control", "provider_specific_fields", "container", "context_management", "revisionId", "diagnostics"),
        *("signature", "encrypted_content", "thoughtSignature", "thought_signature", "providerMetadata"),
        *("providerOptions", "provider_options", "callProviderMetadata", "experimental_providerMetadata"),
        *("provider_details", "provider_name", "provider_response_id", "provider_url", "model_name", "vendor_details"),
        *("experimental_attachments", "tool_call_chunks", "invalid_tool_calls", "token_usage", "system_fingerprint"),
        *(
            "withheld",
            "beginning",
            "name",
            "tool_name",
            "toolName",
            "author",
            "sender",
            "color",
            "avatar",
            "title",
            "mime_type",
            "mimeType",
        ),
    )
)
"""Keys whose values carry nothing for scoring, in the messages of all providers."""
KNOWN_NOTES = frozenset(
    (
        *("description", "descriptions", "notes", "note", "comment", "comments", "remark", "remarks", "title", "tags"),
        *("category", "categories", "subcategory", "topic", "labels", "label", "metadata", "meta", "info", "source"),
        *("user_metadata", "attributes", "properties", "rationale", "explanation", "justification", "purpose"),
        *("persona", "user_profile", "profile", "scenario", "goal", "license", "license_name", "url", "link"),
        *("scores", "score", "evaluation", "evaluations", "feedback", "judge", "judgement", "reason", "reasons"),
        *("author", "authors", "owner", "created_by", "dataset", "split", "language", "locale", "user_agent"),
        *("user", "customer", "tenant", "environment", "config", "configuration", "parameters", "settings", "params"),
        *("response_format", "tool_choice", "generation_config", "generationConfig", "safety_settings", "why"),
        *("safetySettings", "stop", "stop_sequences", "thinking", "betas", "headers", "litellm"),
        *("policy", "reward_info", "difficulty", "documentation", "changelog", "history_note", "todo", "$schema"),
    )
)
"""Keys beside a conversation or in a case whose texts are notes for people, or settings of a request."""

_EXPECTATIONS = re.compile("expect|refer|gold|ground|target|ideal|correct|truth|annotat|task|declar|definition|schema")
"""Parts of the names under which people and benchmarks keep what should be called, or what can be called."""


def is_expectation(key: str) -> bool:
    """Whether a key beside a conversation names what is expected or declared, and not what happened."""
    return _EXPECTATIONS.search(key.lower()) is not None


_LEAST_SPACES = 3
_LEAST_CHARACTERS = 8
"""So many characters of a script without spaces are about four words."""


def is_prose(text: str) -> bool:
    """Whether a text has about four words or more, in any script."""
    return text.count(" ") >= _LEAST_SPACES or (len(text) >= _LEAST_CHARACTERS and not text.isascii())


def prose_leaves(value: Any, at: Place) -> Iterator[tuple[Place, str]]:
    """Yield the texts of some words in an object, with their places, except notes and settings."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if key in KNOWN_KEYS or key in KNOWN_NOTES:
            continue
        if isinstance(item, str):
            inner = _decode(item) if item.startswith(("{", "[")) else None
            if inner is not None:
                yield from prose_leaves(inner, (at, key))
            elif is_prose(item):
                yield (at, key), item
        elif isinstance(item, dict | list):
            yield from prose_leaves(item, (at, key))


def _decode(text: str) -> Any:
    """Return the object or the list in a JSON text, or None."""
    with suppress(ValueError, RecursionError):
        value = decode_text(text)
        return value if isinstance(value, dict | list) else None
    return None
