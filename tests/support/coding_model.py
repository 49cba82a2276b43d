"""A scripted model behind command-line agents: it uses a skill, reads a file, writes a file, and replies.

It speaks the streams of Anthropic, Gemini, OpenAI's Responses and Chat Completions, and uses the tools that the program
declares. What it does depends on the conversation alone, so that requests may come in any order.
"""

from __future__ import annotations

import json
from typing import Any

from loopback import Action, Request, Say
from wires import Call, answer, tool_names

SKILL = "tides"
REPORT = "High water at noon."


def act(request: Request) -> Action:
    """The next step of the model, in the protocol of the request."""
    if "count" in request.path.lower():
        return Say(raw=json.dumps({"input_tokens": 10, "totalTokens": 10}).encode())
    return answer(request, next_step(request))


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
