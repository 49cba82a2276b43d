"""Read a provider's response body field by field, because gateways send anything.

A field that has another type than the protocol says is converted, or left out. Only a response without any reply is an
error. Its cause is the server's message, also if the server sends an error with status 200.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.llm.token_counts import TokenCounts, read_counts, read_members, reported_cost

if TYPE_CHECKING:
    from fairtrial.llm.known_providers import Protocol

_LONGEST = 200
"""The longest model name, and the longest refusal explanation, in characters."""


@dataclass(frozen=True)
class ProviderReply:
    """A provider's reply. `stop` is the reason for which it ended early, as in `Reply`."""

    text: str
    model: str = ""
    stop: str = ""
    counts: TokenCounts | None = None
    cost: float | None = None


class NoReplyError(Exception):
    """A response with status 200 holds no reply. `status` is the status that its error should have had."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


def read_reply(protocol: Protocol, content: bytes) -> ProviderReply:
    """Return the reply in a response body. Raises `NoReplyError` if there is none."""
    body = _document(content)
    error = body.get("error")
    if not error:
        return _READERS[protocol](body)
    if any(kind in _name_kinds(error) for kind in _FILTERS):
        return ProviderReply("", stop=f"content_filter: {_name(read_members(error).get('message'))}".removesuffix(": "))
    raise NoReplyError(_find_status(error), body)


def _document(content: bytes) -> Mapping[str, Any]:
    """Return a response's JSON object, or the message that its events make up."""
    try:
        if content[:100].lstrip().startswith((b"event:", b"data:")):
            return _join_message(content)
        # Unlike msgspec, this reads lone surrogates, which models write when a limit cuts an emoji in two.
        document = json.loads(content, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        start = content[:80].decode("utf-8", "replace").strip()
        raise NoReplyError(502, f"the response is not JSON ({error}): {start}") from None
    if not isinstance(document, dict):
        raise NoReplyError(502, "the response is not a JSON object")
    return document


def _integer(digits: str) -> int | float:
    """Return an integer of JSON. Python refuses one with thousands of digits, which would cost the whole reply."""
    return int(digits) if len(digits) < 30 else float(digits)


_FILTERS = ("content_filter", "content_policy", "moderation")
_STATUS_OF_TYPES = {
    "rate_limit": 429,
    "resource_exhausted": 429,
    "throttling": 429,
    "too_many": 429,
    "overloaded": 529,
    "unavailable": 503,
    "timeout": 504,
    "deadline": 504,
    "authentication": 401,
    "permission": 403,
    "billing": 402,
    "not_found": 404,
    "invalid_request": 400,
    "invalid_argument": 400,
}
"""An error's status, by part of its type in lower case."""


def _find_status(error: object) -> int:
    """Return the status that an error should have had. An error of unknown kind may pass, so it is a bad gateway."""
    members = read_members(error)
    for name in ("code", "status", "status_code", "http_status"):
        value = members.get(name)
        if isinstance(value, int | str) and not isinstance(value, bool) and str(value).isdecimal():
            status = int(str(value)[:4])
            if 400 <= status <= 599:
                return status
    kinds = _name_kinds(error)
    return next((status for kind, status in _STATUS_OF_TYPES.items() if kind in kinds), 502)


def _name_kinds(error: object) -> str:
    """Return names for an error kind, in lower case. An error may be no more than a text."""
    members = read_members(error)
    names = [str(members.get(name)) for name in ("code", "status", "type") if members.get(name)] or [_text(error)]
    return " ".join(names).lower().replace("ratelimit", "rate_limit").replace("rate limit", "rate_limit")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _name(value: object) -> str:
    return _text(value)[:_LONGEST]


def _parts(value: object) -> Iterator[Mapping[str, Any]]:
    return (part for part in value if isinstance(part, dict)) if isinstance(value, list) else iter(())


def _explain_stop(stop: str, text: str, *, calls: bool, thinks: bool) -> str:
    """Return the reason why a reply has no text, if the provider does not give a reason."""
    if stop or text.strip():
        return stop
    return "tool_call" if calls else "thoughts" if thinks else ""


def _chat(body: Mapping[str, Any]) -> ProviderReply:
    choice = next(_parts(body.get("choices")), {})
    if choice.get("error"):
        raise NoReplyError(_find_status(choice["error"]), {"error": choice["error"]})
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NoReplyError(502, _explain_missing(body, "choices with a message"))
    refusal, text = _text(message.get("refusal")), _content(message.get("content"))
    stop = _CHAT_STOPS.get(_text(choice.get("finish_reason")), "")
    calls = bool(message.get("tool_calls") or message.get("function_call"))
    thinks = bool(message.get("reasoning_content") or message.get("reasoning") or message.get("reasoning_details"))
    thinks = thinks or any(part.get("type") in {"thinking", "reasoning"} for part in _parts(message.get("content")))
    usage = body.get("usage")
    return ProviderReply(
        "" if refusal else text,
        _name(body.get("model")),
        f"refusal: {refusal[:_LONGEST]}" if refusal else _explain_stop(stop, text, calls=calls, thinks=thinks),
        read_counts("chat", usage),
        reported_cost(usage),
    )


_CHAT_STOPS = {
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
}


def _responses(body: Mapping[str, Any]) -> ProviderReply:
    if not isinstance(body.get("output"), list):
        raise NoReplyError(502, _explain_missing(body, "output"))
    items = tuple(_parts(body["output"]))
    parts = [part for item in items if item.get("type") == "message" for part in _parts(item.get("content"))]
    text = "".join(_text(part.get("text")) for part in parts if part.get("type") == "output_text")
    refusal = "".join(_text(part.get("refusal")) for part in parts if part.get("type") == "refusal")
    kinds = {_text(item.get("type")) for item in items}
    reason = _text(read_members(body.get("incomplete_details")).get("reason"))
    stop = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(reason, "")
    calls = any(kind.endswith("_call") for kind in kinds)
    usage = body.get("usage")
    return ProviderReply(
        "" if refusal else text,
        _name(body.get("model")),
        f"refusal: {refusal[:_LONGEST]}"
        if refusal
        else _explain_stop(stop, text, calls=calls, thinks="reasoning" in kinds),
        read_counts("responses", usage),
        reported_cost(usage),
    )


def _content(content: object) -> str:
    """Return a reply's text, which some servers send in parts."""
    texts = (_text(part.get("text")) for part in _parts(content) if part.get("type") == "text")
    return "".join(texts) if isinstance(content, list) else _text(content)


def _gemini(body: Mapping[str, Any]) -> ProviderReply:
    usage = body.get("usageMetadata")
    model, counts = _name(body.get("modelVersion")), read_counts("gemini", usage)
    candidate = next(_parts(body.get("candidates")), None)
    if candidate is None:
        block = _text(read_members(body.get("promptFeedback")).get("blockReason"))
        if not block:
            raise NoReplyError(502, _explain_missing(body, "candidates"))
        return ProviderReply("", model, f"content_filter: the prompt was blocked ({block})", counts)
    parts = tuple(_parts(read_members(candidate.get("content")).get("parts")))
    text = "".join(_text(part.get("text")) for part in parts if not part.get("thought"))
    finish = _text(candidate.get("finishReason"))
    stop = _GEMINI_STOPS.get(finish, "" if text else f"content_filter: {_name(finish)}" if finish else "")
    calls, thinks = any(part.get("functionCall") for part in parts), any(part.get("thought") for part in parts)
    return ProviderReply(
        text, model, _explain_stop(stop, text, calls=calls, thinks=thinks), counts, reported_cost(usage)
    )


_GEMINI_STOPS = {
    "STOP": "",
    "FINISH_REASON_UNSPECIFIED": "",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "CONTENT_FILTER": "content_filter",
    **{name: f"content_filter: {name}" for name in ("RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")},
    "MALFORMED_FUNCTION_CALL": "tool_call",
    "UNEXPECTED_TOOL_CALL": "tool_call",
}


def _messages(body: Mapping[str, Any]) -> ProviderReply:
    if not isinstance(body.get("content"), list):
        raise NoReplyError(502, _explain_missing(body, "content"))
    parts = tuple(_parts(body["content"]))
    text = "".join(_text(part.get("text")) for part in parts if part.get("type") == "text")
    kinds = {_text(part.get("type")) for part in parts}
    stop = _STOPS.get(_text(body.get("stop_reason")), "")
    stop = _explain_stop(stop, text, calls="tool_use" in kinds, thinks=bool(kinds & {"thinking", "redacted_thinking"}))
    usage = body.get("usage")
    return ProviderReply(text, _name(body.get("model")), stop, read_counts("messages", usage), reported_cost(usage))


_STOPS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_call",
    "malformed_tool_use": "tool_call",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
"""The reasons of Anthropic and Bedrock for a reply's end. All others mean that it is whole."""


def _converse(body: Mapping[str, Any]) -> ProviderReply:
    message = read_members(body.get("output")).get("message")
    if not isinstance(message, dict):
        kind = body.get("__type") or body.get("code")
        raise NoReplyError(_find_status({"type": kind}), _explain_missing(body, "output.message"))
    parts = tuple(_parts(message.get("content")))
    text = "".join(_text(part.get("text")) for part in parts)
    stop = _STOPS.get(_text(body.get("stopReason")), "")
    calls, thinks = any("toolUse" in part for part in parts), any("reasoningContent" in part for part in parts)
    stop = _explain_stop(stop, text, calls=calls, thinks=thinks)
    return ProviderReply(text, "", stop, read_counts("converse", body.get("usage")))


_READERS = {
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "messages": _messages,
    "converse": _converse,
}


def _explain_missing(body: Mapping[str, Any], field: str) -> object:
    """Return a body's message without a reply, or the fact that a field is missing."""
    message = next((body[name] for name in ("message", "Message", "detail", "msg") if body.get(name)), None)
    return f"the response has no {field}" if message is None else {"message": message}


def _join_message(content: bytes) -> Mapping[str, Any]:
    """Return the message that the events of Anthropic's stream make up. Raises ValueError for other bytes."""
    message: dict[str, Any] = {"usage": {}}
    blocks: dict[str, list[str]] = {}
    for line in content.splitlines():
        if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
            continue
        event = json.loads(line[5:])
        if isinstance(event, dict):
            _add_event(message, blocks, event)
    if not message.get("error") and not message.get("stop_reason"):
        raise ValueError("the stream ended before the reply")
    return {**message, "content": [{"type": kind, "text": "".join(texts)} for kind, *texts in blocks.values()]}


def _add_event(message: dict[str, Any], blocks: dict[str, list[str]], event: Mapping[str, Any]) -> None:
    kind = event.get("type")
    if kind == "error" or event.get("error"):
        message["error"] = event.get("error") or {"message": "the stream holds an error"}
    elif kind == "message_start":
        start = read_members(event.get("message"))
        message |= {name: value for name, value in start.items() if name != "content"}
        message["usage"] = dict(read_members(start.get("usage")))
    elif kind == "content_block_start":
        block = read_members(event.get("content_block"))
        blocks[str(event.get("index"))] = [_text(block.get("type")), _text(block.get("text"))]
    elif kind == "content_block_delta":
        delta = read_members(event.get("delta"))
        pieces = blocks.setdefault(str(event.get("index")), ["text"])
        if delta.get("type") == "text_delta":
            pieces.append(_text(delta.get("text")))
    elif kind == "message_delta":
        message |= {"stop_reason": read_members(event.get("delta")).get("stop_reason")}
        message["usage"] |= {name: n for name, n in read_members(event.get("usage")).items() if n is not None}
