"""Hold a JSON value against a JSON schema that uses the usual keywords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import regex

from fairtrial.text.display import compact, shorten

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}
_LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool], Callable[[Any], Any]]] = {
    "minimum": ("number", lambda value, limit: value >= limit, lambda value: value),
    "maximum": ("number", lambda value, limit: value <= limit, lambda value: value),
    "exclusiveMinimum": ("number", lambda value, limit: value > limit, lambda value: value),
    "exclusiveMaximum": ("number", lambda value, limit: value < limit, lambda value: value),
    "minLength": ("string", lambda value, limit: value >= limit, len),
    "maxLength": ("string", lambda value, limit: value <= limit, len),
    "minItems": ("array", lambda value, limit: value >= limit, len),
    "maxItems": ("array", lambda value, limit: value <= limit, len),
}
_KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "pattern", *_LIMITS}
_ANNOTATIONS = {"$schema", "$id", "title", "description", "default", "examples", "$comment"}
_MOST_SECONDS = 2.0
_LONGEST_VALUE = 80


def unknown_keywords(schema: Any) -> list[str]:
    """Return the keywords of a schema that `problems` does not know, in the order of the schema, each once."""
    if not isinstance(schema, dict):
        return [] if isinstance(schema, bool) else ["a schema that is no object"]
    unknown = [key for key in schema if key not in _KEYWORDS | _ANNOTATIONS]
    inner = [*(schema.get("properties") or {}).values()] if isinstance(schema.get("properties"), dict) else []
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for inner_schema in inner:
        unknown += unknown_keywords(inner_schema)
    return list(dict.fromkeys(unknown))


def problems(value: Any, schema: Any, at: str = "") -> Iterator[str]:
    """Yield each place at which a value does not fit a schema, as a JSON pointer with the reason."""
    place = at or "/"
    if isinstance(schema, bool):
        if not schema:
            yield f"{place}: is not allowed"
        return
    kinds = schema.get("type", list(_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_TYPES[kind](value) for kind in kinds if kind in _TYPES):
        yield f"{place}: must be {' or '.join(kinds)}, got {shorten(compact(value), _LONGEST_VALUE)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: must be one of {compact(schema['enum'])}, got {shorten(compact(value), _LONGEST_VALUE)}"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: must be {compact(schema['const'])}, got {shorten(compact(value), _LONGEST_VALUE)}"
    yield from _limits(value, schema, place)
    if isinstance(value, dict):
        yield from _members(value, schema, at)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from problems(item, schema["items"], f"{at}/{i}")


def _limits(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    for keyword, (kind, fits, measure) in _LIMITS.items():
        if keyword in schema and _TYPES[kind](value) and not fits(measure(value), schema[keyword]):
            yield f"{place}: breaks {keyword} {schema[keyword]}, got {shorten(compact(value), _LONGEST_VALUE)}"
    pattern = schema.get("pattern")
    if pattern is not None and isinstance(value, str):
        try:
            match = regex.search(pattern, value, timeout=_MOST_SECONDS)
        except TimeoutError:
            yield f"{place}: the pattern {pattern!r} took more than {_MOST_SECONDS:g} seconds"
            return
        if match is None:
            yield f"{place}: does not match {pattern!r}, got {shorten(compact(value), _LONGEST_VALUE)}"


def _members(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    members, default = schema.get("properties") or {}, schema.get("additionalProperties", True)
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{at or '/'}: lacks {key!r}"
    for key, member in value.items():
        own = members.get(key, default)
        if own is not True:
            yield from problems(member, own, f"{at}/{key}")
