"""Find the field in which a graph or a chain without messages takes the user's text, and the field of its reply."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from fairtrial.agents.plain import as_text
from fairtrial.errors import UsageError, nearest

TEXT = "(text)"
"""The field of a chain that takes the text itself."""
_INPUTS = ("question", "input", "query", "prompt", "request", "user_input", "task", "topic", "text", "message")
_OUTPUTS = ("answer", "output", "response", "reply", "result", "final_answer", "final_output", "final_report")


def find_input(runnable: Any, asked: str = "") -> str:
    """Return the field that takes the user's text, `TEXT`, or an empty text if it takes messages.

    `asked` is the field that the user names. Raises UsageError if the field cannot be known.
    """
    fields = _fields(runnable)
    if fields is None or "messages" in fields:
        return ""
    if asked:
        if fields and asked not in fields:
            names = ", ".join(map(repr, fields))
            raise UsageError(
                f"input: must be a field of the state, {names}, got {asked!r}{nearest(asked, fields)}",
                code="unusable-agent",
            )
        return asked
    if TEXT in fields:
        return TEXT
    texts = [name for name, is_text in fields.items() if is_text]
    if len(texts) == 1:
        return texts[0]
    known = next((name for name in _INPUTS if name in texts), "")
    if not known:
        names = ", ".join(map(repr, fields)) or "nothing"
        raise UsageError(
            f"the state of a graph must hold 'messages', or a field for the user's text; its fields are {names}; name "
            "the field in a function that returns the pair of the graph and {'input': NAME}",
            code="unusable-agent",
        )
    return known


def find_reply(output: Any, before: Mapping[str, Any], asked: str = "", latest: str = "") -> str:
    """Return the reply in an output.

    It is the field that the user names, a field such as `answer`, or the `latest` field that the graph has written. A
    value that is no text is written as JSON.
    """
    if not isinstance(output, Mapping):
        return _write_text(output)
    names = (asked,) if asked else (*(name for name in _OUTPUTS if output.get(name) != before.get(name)), latest)
    for name in names:
        if name in output and output[name] is not None:
            return _write_text(output[name])
    return as_text({name: value for name, value in output.items() if value != before.get(name)})


def last_changed(state: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    """Return the last field whose value differs from an earlier state, or an empty text."""
    return next((name for name in reversed(list(state)) if state[name] is not earlier.get(name)), "")


def _write_text(value: Any) -> str:
    return as_text(value.text) if hasattr(value, "content_blocks") else as_text(value)


def _fields(runnable: Any) -> dict[str, bool] | None:
    """Return the fields of the input, and whether each takes a text. It is None if nothing is known."""
    builder: Any = getattr(runnable, "builder", None)
    if isinstance(getattr(builder, "schemas", None), dict):
        channels = builder.schemas.get(getattr(builder, "input_schema", None)) or {}
        if not channels or "__root__" in channels:
            return None
        try:
            hints = typing.get_type_hints(builder.input_schema)
        except Exception:  # noqa: BLE001  (annotations are code of users)
            hints = {}
        return {name: _is_text(hints.get(name, str)) for name in channels}
    return None if hasattr(runnable, "stream_channels") else _fields_of_chain(runnable)


def _fields_of_chain(chain: Any) -> dict[str, bool] | None:
    try:
        schema = chain.get_input_jsonschema()
    except Exception:  # noqa: BLE001  (schemas are made by code of users)
        return None
    properties = schema.get("properties")
    if schema.get("type") == "string":
        return {TEXT: True}
    if schema.get("type") != "object" or not isinstance(properties, dict) or not properties:
        return None
    if list(properties) == ["root"]:  # every branch of a parallel step gets the text
        return {TEXT: True}
    return {name: own.get("type", "string") == "string" for name, own in properties.items()}


def _is_text(annotation: Any) -> bool:
    if annotation in (str, Any):
        return True
    origin: Any = typing.get_origin(annotation)
    members: Iterable[Any] = typing.get_args(annotation)
    return origin in (typing.Union, types.UnionType) and any(map(_is_text, members))
