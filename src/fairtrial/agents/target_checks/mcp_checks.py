"""Checks of an MCP server: its tools are described, their schemas hold, and errors are answered as errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from fairtrial.agents.mcp_server import McpConnection, open_answering, response_in
from fairtrial.agents.target_checks.target_findings import TargetFinding
from fairtrial.errors import UsageError
from fairtrial.text.display import compact, count, describe_error, shorten
from fairtrial.text.json_schemas import json_schema

_SECONDS = 30.0
_SHOWN = 120
_WRONG_VALUES = {"string": {}, "integer": "x y", "number": "x y", "boolean": "x y", "array": 7, "object": 7}
_UNKNOWN = "fairtrial_no_such_tool"


async def check_mcp_server(server: str) -> list[TargetFinding]:
    """Return the findings about a server. Tools are only called with arguments that their own schemas forbid.

    Raises UsageError if the server does not answer.
    """
    async with open_answering(server) as connection:
        findings = [
            TargetFinding(
                connection.name, "", f"{connection.version or 'no version'}, {count(len(connection.tools), 'tool')}"
            )
        ]
        names = Counter(str(tool.get("name")) for tool in connection.tools)
        findings += [
            TargetFinding(name, f"is the name of {number} tools") for name, number in names.items() if number > 1
        ]
        if not connection.tools:
            findings.append(TargetFinding(connection.name, "lists no tools"))
        for tool in connection.tools:
            findings += [finding async for finding in _check_tool(connection, tool)]
        findings.append(await _check_error(connection, _UNKNOWN, {}, "an unknown tool"))
    return findings


async def _check_tool(connection: McpConnection, tool: dict[str, Any]) -> AsyncIterator[TargetFinding]:
    name, schema = str(tool.get("name")), tool.get("inputSchema")
    problems = list(_description_problems(tool))
    try:
        json_schema(schema)
    except UsageError:
        pass  # the extra `schema` is not installed
    except Exception as error:  # noqa: BLE001  (the schema of a stranger may break the library in any way)
        problems.append(f"its inputSchema is not a JSON schema: {shorten(describe_error(error), _SHOWN)}")
    yield TargetFinding(name, "; ".join(problems), "" if problems else "described, with a schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if required:
        yield await _check_error(connection, name, {}, f"a call without {', '.join(map(str, required))}")
    wrong = {key: _wrong_value(value) for key, value in (properties or {}).items() if _wrong_value(value) is not None}
    if wrong:
        yield await _check_error(connection, name, wrong, f"a call with the wrong types {shorten(compact(wrong), 60)}")


def _description_problems(tool: dict[str, Any]) -> list[str]:
    problems = [] if str(tool.get("description") or "").strip() else ["has no description"]
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return [*problems, "its inputSchema is not of the type object"]
    properties = schema.get("properties") or {}
    unknown = [key for key in schema.get("required") or () if key not in properties]
    return [*problems, *(f"requires {key!r}, which is not among its properties" for key in unknown)]


def _wrong_value(schema: Any) -> Any:
    """Return a value of another type than a property has, or None if no value is certainly wrong."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return _WRONG_VALUES.get(str(kind))


async def _check_error(connection: McpConnection, name: str, args: dict[str, Any], what: str) -> TargetFinding:
    """Return whether a call that must fail is answered with an error, and whether the server is still there."""
    try:
        async with asyncio.timeout(_SECONDS):
            result = await connection.call(name, args)
    except Exception as error:  # noqa: BLE001  (the server may end, or answer anything)
        return TargetFinding(name, f"{what} is not answered: {shorten(describe_error(error), _SHOWN)}")
    text = shorten(compact(response_in(result)), _SHOWN)
    if not result.get("isError"):
        return TargetFinding(name, f"{what} is answered without an error: {text}")
    return TargetFinding(name, "", f"{what} is an error: {text}")
