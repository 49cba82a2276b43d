"""The answers of a model as the providers write them: Messages, Gemini, Responses, Chat Completions and Converse.

A request decides by its path which protocol it is, and whether the answer is a stream.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from loopback import Request, Say

PROMPT_TOKENS, REPLY_TOKENS = 1000, 100
TOKENS = PROMPT_TOKENS + REPLY_TOKENS


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    args: dict[str, Any]


Piece = str | Call


def tool_names(request: Request) -> set[str]:
    """The names of the tools that a client declares."""
    body = request.body
    items = body.get("input") if isinstance(body.get("input"), list) else ()
    added = [tool for item in items or () if item.get("type") == "additional_tools" for tool in item["tools"]]
    converse = (body.get("toolConfig") or {}).get("tools") or () if "/converse" in request.path else ()
    names = set()
    for tool in [*(body.get("tools") or ()), *converse, *added]:
        for own in tool.get("functionDeclarations") or tool.get("tools") or [tool]:
            inner = own.get("function") or own.get("toolSpec") or {}
            names.add(own.get("name") or inner.get("name") or own.get("type"))
    return names


def answer(request: Request, *pieces: Piece) -> Say:
    """The texts and calls of a model, in the protocol of its request."""
    return Say(raw=_write(request, pieces))


def _write(request: Request, pieces: Sequence[Piece]) -> bytes:
    path, streams = request.path.partition("?")[0], bool(request.body.get("stream"))
    if path.startswith("/v1/messages"):
        return _written(_anthropic(request, pieces), _anthropic_message(request, pieces), streams)
    if "enerateContent" in path:
        reply = _gemini(pieces)
        return _events([reply]) if ":stream" in path else _dumped(reply)
    if path.endswith("/converse-stream"):
        return b"".join(_amazon_frame(name, payload) for name, payload in _converse_stream(pieces))
    if path.endswith("/converse"):
        return _dumped(_converse(pieces))
    if path.endswith("/responses"):
        events = list(_responses(request, pieces))
        return _written(events, events[-1]["response"], streams)
    chunks = _events(_chat(request, pieces), end=b"data: [DONE]\n\n")
    return chunks if streams else _dumped(_completion(request, pieces))


def _written(events: Iterable[Any], whole: Any, streams: bool) -> bytes:
    return _events(events, named=True) if streams else _dumped(whole)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _events(events: Iterable[Any], *, named: bool = False, end: bytes = b"") -> bytes:
    lines = []
    for event in events:
        head = f"event: {event['type']}\n" if named else ""
        lines.append(f"{head}data: {json.dumps(event)}\n\n".encode())
    return b"".join(lines) + end


def _calls(pieces: Sequence[Piece]) -> bool:
    return any(isinstance(piece, Call) for piece in pieces)


def _anthropic_block(request: Request, index: int, piece: Piece) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    return {"type": "tool_use", "id": f"toolu_{request.number}_{index}", "name": piece.name, "input": piece.args}


def _anthropic_message(request: Request, pieces: Sequence[Piece]) -> dict[str, Any]:
    return {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [_anthropic_block(request, index, piece) for index, piece in enumerate(pieces)],
        "stop_reason": "tool_use" if _calls(pieces) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": REPLY_TOKENS},
    }


def _anthropic(request: Request, pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    message = _anthropic_message(request, pieces)
    stop = message["stop_reason"]
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        begun: dict[str, Any] = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        delta: dict[str, Any] = {"type": "text_delta", "text": block.get("text")}
        if block["type"] == "tool_use":
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _gemini(pieces: Sequence[Piece]) -> dict[str, Any]:
    parts = [
        {"text": piece} if isinstance(piece, str) else {"functionCall": {"name": piece.name, "args": piece.args}}
        for piece in pieces
    ]
    usage = {"promptTokenCount": PROMPT_TOKENS, "candidatesTokenCount": REPLY_TOKENS, "totalTokenCount": TOKENS}
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def _response_item(request: Request, index: int, piece: Piece) -> dict[str, Any]:
    number = f"{request.number}_{index}"
    if isinstance(piece, str):
        content = [{"type": "output_text", "text": piece, "annotations": [], "logprobs": []}]
        return {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    item = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": piece.name,
        "arguments": json.dumps(piece.args),
        "status": "completed",
    }
    if piece.name == "exec":  # a program in JavaScript, and no JSON
        item |= {"type": "custom_tool_call", "id": f"ctc_{number}", "input": piece.args["input"]}
        del item["arguments"]
    return item


def _responses(request: Request, pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    items = [_response_item(request, index, piece) for index, piece in enumerate(pieces)]
    reply = {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": 1,
        "model": request.model,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    usage = {
        "input_tokens": PROMPT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": REPLY_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS,
    }
    done = {**reply, "status": "completed", "output": items, "usage": usage}
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": {**reply, "status": "in_progress", "output": []}})
    ]
    for index, item in enumerate(items):
        events += [(name, {"output_index": index, **event}) for name, event in _item_events(item)]
    for number, (name, event) in enumerate([*events, ("completed", {"response": done})]):
        yield {"type": f"response.{name}", "sequence_number": number, **event}


def _item_events(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of an item: it begins empty, and its text or its arguments come as a delta."""
    place: dict[str, Any] = {"item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        (part,) = item["content"]
        text = part["text"]
        yield "output_item.added", {"item": {**begun, "content": []}}
        place["content_index"] = 0
        yield "content_part.added", {**place, "part": {**part, "text": ""}}
        yield "output_text.delta", {**place, "delta": text, "logprobs": []}
        yield "output_text.done", {**place, "text": text, "logprobs": []}
        yield "content_part.done", {**place, "part": part}
    elif item["type"] == "function_call":
        yield "output_item.added", {"item": {**begun, "arguments": ""}}
        yield "function_call_arguments.delta", {**place, "delta": item["arguments"]}
        yield "function_call_arguments.done", {**place, "name": item["name"], "arguments": item["arguments"]}
    else:
        yield "output_item.added", {"item": begun}
    yield "output_item.done", {"item": item}


def _chat_message(request: Request, pieces: Sequence[Piece]) -> dict[str, Any]:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    calls = [
        {
            "id": f"call_{request.number}_{index}",
            "type": "function",
            "function": {"name": piece.name, "arguments": json.dumps(piece.args)},
        }
        for index, piece in enumerate(piece for piece in pieces if isinstance(piece, Call))
    ]
    return {**message, "tool_calls": calls} if calls else message


def _chat_frame(request: Request, kind: str) -> dict[str, Any]:
    return {"id": f"c{request.number}", "object": kind, "created": 1, "model": request.model}


_CHAT_USAGE = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": REPLY_TOKENS, "total_tokens": TOKENS}


def _completion(request: Request, pieces: Sequence[Piece]) -> dict[str, Any]:
    reason = "tool_calls" if _calls(pieces) else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": _chat_message(request, pieces)}
    return {**_chat_frame(request, "chat.completion"), "choices": [choice], "usage": _CHAT_USAGE}


def _chat(request: Request, pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    reply = _chat_frame(request, "chat.completion.chunk")
    delta = _chat_message(request, pieces)
    for index, call in enumerate(delta.get("tool_calls") or ()):
        call["index"] = index
    yield {**reply, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if _calls(pieces) else "stop"
    yield {**reply, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    yield {**reply, "choices": [], "usage": _CHAT_USAGE}


_CONVERSE_USAGE = {"inputTokens": PROMPT_TOKENS, "outputTokens": REPLY_TOKENS, "totalTokens": TOKENS}


def _converse_block(index: int, piece: Piece) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"text": piece}
    return {"toolUse": {"toolUseId": f"tooluse_{index}_{piece.name}", "name": piece.name, "input": piece.args}}


def _converse(pieces: Sequence[Piece]) -> dict[str, Any]:
    content = [_converse_block(index, piece) for index, piece in enumerate(pieces)]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if _calls(pieces) else "end_turn",
        "usage": _CONVERSE_USAGE,
        "metrics": {"latencyMs": 1},
    }


def _converse_stream(pieces: Sequence[Piece]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "messageStart", {"role": "assistant"}
    for index, piece in enumerate(pieces):
        block = _converse_block(index, piece)
        if isinstance(piece, Call):
            use = block["toolUse"]
            arguments = json.dumps(use.pop("input"))
            yield "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": use}}
            block = {"toolUse": {"input": arguments}}
        yield "contentBlockDelta", {"contentBlockIndex": index, "delta": block}
        yield "contentBlockStop", {"contentBlockIndex": index}
    yield "messageStop", {"stopReason": "tool_use" if _calls(pieces) else "end_turn"}
    yield "metadata", {"usage": _CONVERSE_USAGE, "metrics": {"latencyMs": 1}}


def _amazon_frame(name: str, payload: dict[str, Any]) -> bytes:
    """An event as Amazon's event stream frames it: lengths, checksum, headers, payload, checksum."""
    headers = b""
    for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return frame + struct.pack(">I", zlib.crc32(frame))
