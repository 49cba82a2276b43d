"""Read spans that the console exporter of OpenTelemetry for Node.js prints, as objects of JavaScript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fairtrial.formats.jsontext import decode_documents
from fairtrial.formats.spans.otlp_json import kind_name, read_failure
from fairtrial.formats.spans.span import Span, SpanEvent
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds, without_nulls

_KEYS = frozenset(("traceId", "id", "timestamp", "duration", "attributes"))
_MARK = b"traceId: '"
_FIRST_BYTES = 1 << 16
_MICROSECONDS = 1_000
_KINDS = ("INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)(?P<plus>\s+\+)?"""
    r"|(?P<word>[A-Za-z_$][\w$]*)|(?P<hidden>\[(?:Object|Array|Circular[^\]\n]{0,9})\])|(?P<other>[^A-Za-z_$'\"`\[]+|\[)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CONSTANTS = frozenset(("true", "false", "null"))


def is_span(value: Any) -> bool:
    """Whether a value is a span of the exporter."""
    return isinstance(value, dict) and value.keys() >= _KEYS


def items(row: dict[str, Any]) -> Iterator[Span]:
    """Yield the span. Its times are microseconds."""
    start, duration = row.get("timestamp"), row.get("duration")
    begin = int(start * _MICROSECONDS) if isinstance(start, int | float) else 0
    status = member(row, "status")
    parent = member(row, "parentSpanContext").get("spanId") or row.get("parentId")
    yield Span(
        hex_id(row.get("traceId")),
        hex_id(row.get("id")),
        hex_id(parent),
        str(row.get("name") or ""),
        kind_name(_name_number(row.get("kind"), _KINDS)),
        begin,
        begin + int(duration * _MICROSECONDS) if isinstance(duration, int | float) else None,
        without_nulls(member(row, "attributes")),
        tuple(
            SpanEvent(
                str(event.get("name") or ""),
                without_nulls(member(event, "attributes")),
                None,
                nanoseconds(event.get("time")) or 0,
            )
            for event in (row.get("events") or ())
            if isinstance(event, dict)
        ),
        read_failure(_name_number(status.get("code"), _STATUSES), status.get("message")),
        resource=without_nulls(member(member(row, "resource"), "attributes")),
    )


def _name_number(number: Any, names: tuple[str, ...]) -> Any:
    return names[number] if isinstance(number, int) and 0 <= number < len(names) else number


def read_printed_spans(data: bytes) -> list[Any] | None:
    """Return the spans in a text that Node.js printed, or None for any other text.

    A value that the printer left out, `[Object]`, stays as this text.
    """
    if _MARK not in data[:_FIRST_BYTES] or not data.lstrip().startswith(b"{"):
        return None
    text = data.decode(errors="replace")
    pieces: list[str] = []
    position, pending = 0, ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        position = match.end()
        if match["text"] is not None:
            pending += _unescape(match["text"][1:-1])
            if match["plus"] is None:
                pieces.append(json.dumps(pending))
                pending = ""
        elif not (pending and not match[0].strip()):
            word = match["word"] or match["hidden"]
            pieces.append(_word(word, text, position) if word else match[0])
    documents = "".join(pieces).encode()
    values = decode_documents(documents)
    if values is None:
        try:
            values = [json.loads(documents)]
        except (ValueError, RecursionError):
            return None
    return values


def _word(word: str, text: str, end: int) -> str:
    """Return a word as JSON: a key, a constant, or a text in the place of a value that JSON does not have."""
    is_key = text[end : end + 1] == ":"
    if is_key or word not in _CONSTANTS:
        return "null" if word == "undefined" and not is_key else json.dumps(word)
    return word


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)
