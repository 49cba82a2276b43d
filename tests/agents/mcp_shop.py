"""MCP servers of the shop: one by the SDK of the protocol, and one by hand with planted faults."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any


def serve(*, over_http: bool = False) -> None:
    """Serve two tools with the SDK, on standard input and output or on a free port, which is printed."""
    try:
        from mcp.server.mcpserver import MCPServer as Server
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Server

    server = Server("shop", instructions="Look up and cancel orders.")

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def get_order(order_id: str) -> dict[str, str]:
        """Look up an order."""
        if order_id == "none":
            raise LookupError("no such order")
        return {"state": f"shipped {order_id}"}

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def cancel_order(order_id: str, reason: str = "") -> str:
        """Cancel an order."""
        return f"{order_id} is cancelled {reason}".strip()

    if not over_http:
        server.run("stdio")
        return
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])


FAULTY_TOOLS = [
    {"name": "silent", "description": "", "inputSchema": {"type": "object"}},
    {
        "name": "lenient",
        "description": "Takes anything.",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id", "other"]},
    },
    {
        "name": "wrong",
        "description": "Its schema is none.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "strange"}}},
    },
    {"name": "silent", "description": "Its name is taken.", "inputSchema": {"type": "object"}},
]


def serve_faults() -> None:
    """Serve tools with faults, by hand: every call succeeds, also that of an unknown tool. `wait` is never answered."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and message.get("params", {}).get("name") != "wait":
            answer = {"jsonrpc": "2.0", "id": message["id"], **_answer(message)}
            sys.stdout.write(f"{json.dumps(answer)}\n")
            sys.stdout.flush()


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "faulty", "version": "1"},
            }
        }
    if method == "tools/list":
        return {"result": {"tools": FAULTY_TOOLS}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "ok"}]}}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


if __name__ == "__main__":
    if sys.argv[1:] == ["ends"]:
        sys.exit("no database")
    if sys.argv[1:] == ["silent"]:
        sys.stdin.read()
    serve_faults() if sys.argv[1:] == ["faults"] else serve(over_http=sys.argv[1:] == ["http"])
