"""The shop as an agent of the Claude Agent SDK: the real Claude Code, and a scripted API on a socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from anthropic_server import MODEL, MessagesServer, Script
from anthropic_server import shop as scripted
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from shop import HUGE, INSTRUCTIONS, TOOLS

from fairtrial.agents.function import result_in_thread

VARIABLES = {
    "ANTHROPIC_API_KEY": "none",
    # Claude Code would wait between its own tries, and try a refused request without its betas.
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
    "CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1",
}


def _tool(function: Callable[..., Any]) -> Any:
    async def handle(arguments: dict[str, Any]) -> dict[str, Any]:
        value = await result_in_thread(lambda: function(**arguments))
        return {"content": [{"type": "text", "text": json.dumps(value)}]}

    return tool(function.__name__, function.__doc__ or "", {"order_id": str})(handle)


def options_for(server: MessagesServer, **more: Any) -> ClaudeAgentOptions:
    """Options with the tools of the shop, whose API is a server."""
    own = {
        "system_prompt": INSTRUCTIONS,
        "model": MODEL,
        "tools": [],
        "allowed_tools": [f"mcp__shop__{name}" for name in TOOLS],
        "mcp_servers": {"shop": create_sdk_mcp_server("shop", tools=list(map(_tool, TOOLS.values())))},
        "max_buffer_size": 4 * HUGE,
    }
    variables = {**VARIABLES, "ANTHROPIC_BASE_URL": server.base_url, **more.pop("env", {})}
    return ClaudeAgentOptions(**own | more, env=variables)


def shop_with(script: Script, **more: Any) -> Callable[[], Any]:
    """A factory of options for conversations with a scripted model."""

    @asynccontextmanager
    async def make() -> AsyncIterator[ClaudeAgentOptions]:
        with MessagesServer(script) as server:
            yield options_for(server, **more)

    return make


shop = shop_with(scripted)


async def nobody_decides(*_: Any) -> Any:
    """Ask a person, as the function of an app does. fairtrial takes its place."""
    raise AssertionError("nobody is here")


asking = shop_with(scripted, allowed_tools=["mcp__shop__get_order"], can_use_tool=nobody_decides)
