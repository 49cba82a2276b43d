"""Read Claude Agent SDK options, and rewrite them for a conversation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial.agents.user_parts import detect_kind, encode_base64, read_content
from fairtrial.records.trace import AgentDetails, Part

_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
_REPORTS_STATE = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}


def list_servers(options: Any) -> dict[str, Any]:
    """Return the MCP servers in this process by their names."""
    servers = options.mcp_servers if isinstance(options.mcp_servers, dict) else {}
    return {
        name: server["instance"]
        for name, server in servers.items()
        if isinstance(server, dict) and server.get("type") == "sdk" and "instance" in server
    }


def name_of_tool(server: str, tool: str, options: Any) -> str:
    """Return the name by which the model knows a tool of an MCP server in this process."""
    bare = "CLAUDE_AGENT_SDK_MCP_NO_PREFIX"
    return tool if options.env.get(bare, os.environ.get(bare)) else f"mcp__{server}__{tool}"


def working_folder(options: Any, folder: Path) -> Any:
    """Return the folder in which the agent works: that of its options, or an empty one.

    An agent that asks for the settings of its project stays in the current folder.
    """
    if options.cwd is not None or {"project", "local"} & set(options.setting_sources or ()):
        return options.cwd
    work = folder / "work"
    work.mkdir()
    return work


def make_variables(options: Any, folder: Path) -> dict[str, str]:
    """Return the variables of the process. Nothing is written into the user's own folder of Claude Code."""
    quiet = {name: value for name, value in _QUIET.items() if name not in os.environ}
    (folder / "tmp").mkdir()
    own = {"CLAUDE_CONFIG_DIR": str(folder / "config"), "CLAUDE_CODE_TMPDIR": str(folder / "tmp")}
    return {**quiet, **own, **options.env, **_REPORTS_STATE}


def read_instructions(options: Any) -> str:
    """Return the instructions of the options. Those of the preset are known to Claude Code only."""
    prompt = options.system_prompt
    if not isinstance(prompt, Mapping):
        return str(prompt or "")
    if prompt.get("type") == "file":
        return Path(prompt["path"]).read_text(encoding="utf-8")
    return str(prompt.get("prompt") or prompt.get("append") or "")


def sub_agent(name: str, definition: Any) -> AgentDetails:
    """Return a sub-agent that the options define. Its tools are known by their names only."""
    return AgentDetails(name, str(definition.prompt), tuple({"name": tool} for tool in definition.tools or ()))


def make_block(part: Part) -> dict[str, Any] | None:
    """Return a part of a message as Anthropic's API takes it, or None if it does not."""
    title = {"title": part.name} if part.name else {}
    if detect_kind(part) == "image":
        if part.uri:
            return {"type": "image", "source": {"type": "url", "url": part.uri}}
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": part.mime_type, "data": encode_base64(part)},
        }
    if part.mime_type == "application/pdf":
        source = {"type": "base64", "media_type": part.mime_type, "data": encode_base64(part)} if not part.uri else {}
        return {"type": "document", "source": source or {"type": "url", "url": part.uri}, **title}
    if part.mime_type.startswith("text/") and not part.uri:
        text = read_content(part).decode(errors="replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    return None
