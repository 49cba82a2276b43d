"""Spans of the Model Context Protocol: the call of a tool on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.formats.chats.assembly import response, result
from fairtrial.formats.dialects.attributes import arguments, extract_text, read_data
from fairtrial.formats.dialects.facts import Dialect, Facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

METHODS = ("mcp.method.name", "mcp.method")
"""The attributes that mark a span of MCP."""
_CALL = "tools/call"


def _read(span: Span, _reading: Diagnostics) -> Facts:
    if extract_text(span, *METHODS) != _CALL:
        return Facts("ignored")
    name = extract_text(span, "gen_ai.tool.name", "mcp.tool.name") or span.name.removeprefix(_CALL).strip()
    answer = read_data(span, "gen_ai.tool.call.result", "mcp.tool.result")
    failed = span.attributes.get("mcp.tool.is_error") is True or None
    return Facts(
        "tool",
        name,
        args=arguments(read_data(span, "gen_ai.tool.call.arguments", "mcp.tool.arguments")),
        result=None if answer is None else result(name, response(answer), "", stated=failed),
        call_id=extract_text(span, "gen_ai.tool.call.id") or None,
    )


MCP = Dialect("MCP", METHODS, _read)
