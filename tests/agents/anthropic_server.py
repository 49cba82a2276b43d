"""A server on a real socket that speaks Anthropic's Messages as a stream; what it answers, a function says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from chat_server import Answer, JsonServer, Request, Status, Streamed
from shop import PROMPT_TOKENS, REPLY_TOKENS, Move, ProviderError, move

MODEL = "claude-sonnet-4-5"
Block = dict[str, Any]
Script = Callable[[dict[str, Any]], Answer]


class MessagesServer(JsonServer):
    """A server that answers every request for a message by a script, and knows no other path."""

    def __init__(self, script: Script) -> None:
        self.paths: list[str] = []

        def route(request: Request) -> Answer:
            path = request.path.partition("?")[0]
            self.paths.append(f"{request.method} {path}")
            return script(request.body) if path == "/messages" else 404

        super().__init__(route)

    @property
    def base_url(self) -> str:
        """The URL without the version, as Anthropic's clients want it."""
        return self.url.removesuffix("/v1")


def failed(status: int, text: str = "it broke") -> Status:
    """An error as Anthropic's API writes it."""
    error = {"type": "error", "error": {"type": "api_error", "message": text}}
    return Status(status, json.dumps(error).encode(), {"x-should-retry": "false"})


def text(content: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": content}


def thinking(content: str) -> Block:
    """A block of reasoning."""
    return {"type": "thinking", "thinking": content, "signature": "signed"}


def call(name: str, arguments: dict[str, Any], call_id: str) -> Block:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def message(*blocks: Block, usage: dict[str, int] | None = None) -> Status:
    """A message as a stream of events."""
    counts = usage or {"input_tokens": PROMPT_TOKENS, "output_tokens": REPLY_TOKENS}
    start: dict[str, Any] = {
        "id": f"msg_{len(json.dumps(blocks))}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**counts, "output_tokens": 1},
    }
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        begun, deltas = _stream_rows(block)
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": counts["output_tokens"]}})
    events.append({"type": "message_stop"})
    return Streamed("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode())


def _stream_rows(block: Block) -> tuple[Block, list[dict[str, Any]]]:
    """Return how a block begins in a stream, and its deltas."""
    if block["type"] == "text":
        return text(""), [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        return (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ],
        )
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def latest(body: dict[str, Any]) -> tuple[str, list[Block]]:
    """Return the latest message of the user, and the results of tools since."""
    query, results = "", []
    for one in body["messages"]:
        content = one["content"]
        blocks: Sequence[Block] = [text(content)] if isinstance(content, str) else content
        if one["role"] != "user":
            continue
        found = [block for block in blocks if block["type"] == "tool_result"]
        said = [block["text"] for block in blocks if block["type"] == "text"]
        said = [words for words in said if not words.startswith("<system-reminder>")]
        if found:
            results += found
        elif said:
            query, results = said[-1], []
    return query, results


def shop(body: dict[str, Any]) -> Answer:
    """Answer as the shop's model does."""
    query, results = latest(body)
    try:
        one: Move = move(
            query, len(results), f"{results}{[tool.get('description') for tool in body.get('tools') or ()]}"
        )
    except ProviderError as error:
        return failed(error.status_code, str(error))
    except RuntimeError as error:
        return failed(400, str(error))
    blocks = [text(one.text)] if one.text or not one.call else []
    if one.call:
        blocks.append(call(one.call, one.args, f"toolu_{one.call}_{len(body['messages'])}"))
    return message(*blocks)
