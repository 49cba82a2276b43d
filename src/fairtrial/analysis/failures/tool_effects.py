"""Tell calls that change the world from calls that only read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.records.trace import AgentDetails

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_READS = frozenset(
    [
        "get",
        "find",
        "list",
        "search",
        "lookup",
        "look",
        "read",
        "fetch",
        "query",
        "check",
        "show",
        "describe",
        "view",
        "calculate",
        "compute",
        "calc",
        "think",
        "retrieve",
        "count",
        "browse",
        "inspect",
        "estimate",
        "validate",
        "verify",
        "compare",
        "explain",
        "summarize",
        "summarise",
        "translate",
        "convert",
        "load",
        "select",
        "preview",
        "peek",
        "is",
        "has",
        "can",
        "grep",
        "glob",
        "ls",
        "cat",
        "stat",
        "history",
        "weather",
        "forecast",
        "status",
        "info",
        "details",
    ]
)
_WRITES = frozenset(
    [
        "book",
        "cancel",
        "create",
        "update",
        "delete",
        "remove",
        "set",
        "add",
        "change",
        "modify",
        "send",
        "transfer",
        "pay",
        "refund",
        "return",
        "exchange",
        "order",
        "buy",
        "purchase",
        "submit",
        "write",
        "put",
        "post",
        "insert",
        "apply",
        "reserve",
        "schedule",
        "assign",
        "close",
        "open",
        "grant",
        "revoke",
        "reset",
        "start",
        "stop",
        "move",
        "rename",
        "upload",
        "edit",
        "execute",
        "run",
        "approve",
        "reject",
        "issue",
        "charge",
        "enable",
        "disable",
        "toggle",
        "escalate",
    ]
)


def read_hints(agents: Iterable[AgentDetails]) -> dict[str, bool]:
    """Return whether declared tools only read, by name, where the declaration says so (MCP's `readOnlyHint`)."""
    hints: dict[str, bool] = {}
    for agent in agents:
        for tool in agent.tools:
            notes = tool.get("annotations")
            hint = notes.get("readOnlyHint") if isinstance(notes, dict) else None
            if isinstance(hint, bool):
                hints[str(tool["name"])] = hint
    return hints


@lru_cache(maxsize=4096)
def only_reads(name: str) -> bool:
    """Return whether a tool only reads, by the first verb in its name. A name without a known verb may write.

    For example, `get_order` and `searchFlights` read, `cancel_order` and `place` do not.
    """
    for word in _WORD.findall(name[:200]):
        if word.lower() in _WRITES:
            return False
        if word.lower() in _READS:
            return True
    return False
