"""A scripted model behind command-line agents: it uses a skill, reads a file, writes a file, and replies.

It speaks the streams of Anthropic, Gemini, OpenAI's Responses and Chat Completions, and uses the tools that the program
declares. What it does depends on the conversation alone, so that requests may come in any order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from loopback import Action, Request, Say

SKILL = "tides"
REPORT = "High water at noon."
_USAGE = 1000, 100


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    args: dict[str, Any]


def act(request: Request) -> Action:
    """The next step of the model, in the protocol of the request."""
    if "count" in request.path.lower():
        return Say(raw=json.dumps({"input_tokens": 10, "totalTokens": 10}).encode())
    step = next_step(request)
    text, call = (step, None) if isinstance(step, str) else ("", step)
    return Say(raw=_write(request, text, call))


def next_step(request: Request) -> Call | str:
    """What the model does next: a call, or its reply."""
    body = json.dumps(request.body)
    tools = tool_names(request)
    done = _results(request.body)
    if "Write a report of the tides" not in body or not tools:
        return "Nothing to do."
    steps = [_read_file(tools)]
    if f"name: {SKILL}" in body or f'"{SKILL}' in body or f"<name>{SKILL}" in body or f"- {SKILL}" in body:
        steps = [_use_skill(tools), _read_file(tools), _write_file(tools)]
    return steps[done] if done < len(steps) else "The ports are in the file."


def is_own_question(request: Request) -> bool:
    """Whether the program asks for itself, for example for a title: it offers no tools then."""
    return not tool_names(request)


def tool_names(request: Request) -> set[str]:
    """The names of the tools that the program declares."""
    body = request.body
    items = body.get("input") if isinstance(body.get("input"), list) else ()
    added = [tool for item in items or () if item.get("type") == "additional_tools" for tool in item["tools"]]
    names = set()
    for tool in [*(body.get("tools") or ()), *added]:
        for own in tool.get("functionDeclarations") or tool.get("tools") or [tool]:
            names.add(own.get("name") or (own.get("function") or {}).get("name") or own.get("type"))
    return names


def _results(value: Any) -> int:
    """The number of results of tools in a conversation."""
    if isinstance(value, list):
        return sum(map(_results, value))
    if not isinstance(value, dict):
        return 0
    is_result = (
        value.get("type") in ("tool_result", "function_call_output", "custom_tool_call_output")
        or value.get("role") == "tool"
        or "functionResponse" in value
    )
    return 1 if is_result else sum(map(_results, value.values()))


def _use_skill(tools: set[str]) -> Call:
    if "Skill" in tools:
        return Call("Skill", {"skill": SKILL})
    if "activate_skill" in tools:
        return Call("activate_skill", {"name": SKILL})
    if "skill" in tools:
        return Call("skill", {"name": SKILL})
    return _shell(tools, f"cat .agents/skills/{SKILL}/SKILL.md")


def _read_file(tools: set[str]) -> Call:
    if "Read" in tools:
        return Call("Read", {"file_path": "ports.txt"})
    if "read_file" in tools:
        return Call("read_file", {"file_path": "ports.txt"})
    if "read" in tools:
        return Call("read", {"filePath": "ports.txt"})
    return _shell(tools, "cat ports.txt")


def _write_file(tools: set[str]) -> Call:
    if "Write" in tools:
        return Call("Write", {"file_path": "report.md", "content": REPORT})
    if "write_file" in tools:
        return Call("write_file", {"file_path": "report.md", "content": REPORT})
    if "write" in tools:
        return Call("write", {"filePath": "report.md", "content": REPORT})
    return _shell(tools, f"echo '{REPORT}' > report.md")


def _shell(tools: set[str], command: str) -> Call:
    if "exec" in tools:
        return Call("exec", {"input": f"text(await tools.exec_command({json.dumps({'cmd': command})}))"})
    if "exec_command" in tools:
        return Call("exec_command", {"cmd": command})
    return Call("shell", {"command": ["sh", "-c", command]})


def _write(request: Request, text: str, call: Call | None) -> bytes:
    if request.path.startswith("/v1/messages"):
        return _events(_anthropic(request, text, call), named=True)
    if "enerateContent" in request.path:
        reply = _gemini(text, call)
        return _events([reply]) if ":stream" in request.path else json.dumps(reply).encode()
    if "/responses" in request.path:
        return _events(_responses(request, text, call), named=True)
    return _events(_chat(request, text, call), end=b"data: [DONE]\n\n")


def _events(events: Any, *, named: bool = False, end: bytes = b"") -> bytes:
    lines = []
    for event in events:
        head = f"event: {event['type']}\n" if named else ""
        lines.append(f"{head}data: {json.dumps(event)}\n\n".encode())
    return b"".join(lines) + end


def _anthropic(request: Request, text: str, call: Call | None) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": _USAGE[0], "output_tokens": _USAGE[1]}
    message = {"id": f"msg_{request.number}", "type": "message", "role": "assistant", "model": request.model}
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": text}
    if call is not None:
        block = {"type": "tool_use", "id": f"toolu_{request.number}", "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.args)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = "end_turn" if call is None else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _gemini(text: str, call: Call | None) -> dict[str, Any]:
    part = {"text": text} if call is None else {"functionCall": {"name": call.name, "args": call.args}}
    usage = {"promptTokenCount": _USAGE[0], "candidatesTokenCount": _USAGE[1], "totalTokenCount": sum(_USAGE)}
    content = {"role": "model", "parts": [part]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def _responses(request: Request, text: str, call: Call | None) -> Iterator[dict[str, Any]]:
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{request.number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    if call is not None:
        item = {
            "type": "function_call",
            "id": f"fc_{request.number}",
            "call_id": f"call_{request.number}",
            "name": call.name,
            "arguments": json.dumps(call.args),
            "status": "completed",
        }
        if call.name == "exec":  # a program in JavaScript, and no JSON
            item |= {"type": "custom_tool_call", "id": f"ctc_{request.number}", "input": call.args["input"]}
            del item["arguments"]
    reply = {"id": f"resp_{request.number}", "object": "response", "created_at": 1, "model": request.model}
    usage = {
        "input_tokens": _USAGE[0],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": _USAGE[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(_USAGE),
    }
    yield {"type": "response.created", "response": {**reply, "status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    done = {**reply, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _chat(request: Request, text: str, call: Call | None) -> Iterator[dict[str, Any]]:
    reply = {"id": f"c{request.number}", "object": "chat.completion.chunk", "created": 1, "model": request.model}
    delta: dict[str, Any] = {"role": "assistant", "content": text}
    if call is not None:
        function = {"name": call.name, "arguments": json.dumps(call.args)}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call_{request.number}", "type": "function", "function": function}],
        }
    yield {**reply, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": "stop" if call is None else "tool_calls"}
    usage = {"prompt_tokens": _USAGE[0], "completion_tokens": _USAGE[1], "total_tokens": sum(_USAGE)}
    yield {**reply, "choices": [end], "usage": usage}
