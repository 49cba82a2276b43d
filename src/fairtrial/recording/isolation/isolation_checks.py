"""Agents that a process of their own can find, and that it separates."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, spell

if TYPE_CHECKING:
    from fairtrial.recording import OwnProcesses
    from fairtrial.recording.holding import Holding


def isolate(agent: object, record: str, holding: Holding, target: object) -> OwnProcesses:
    """Return an agent in processes of its own. Raises UsageError if that does not separate its conversations.

    `target` is the agent in this process, which says what it can and cannot do.
    """
    from fairtrial.recording.isolation.isolated_agent import IsolatedAgents

    try:
        name = importable_target(agent)
        check_isolation(name)
    except UsageError as error:
        option = "isolation" if holding.shuffle is None else "shuffle"
        raise UsageError(f"{spell(option)}: {error}", code=error.code) from None
    return IsolatedAgents(name, record, holding, target)


def importable_target(agent: object) -> str:
    """Return the name by which another process finds an agent. Raises UsageError if there is none."""
    if isinstance(agent, str):
        return agent
    module, name = getattr(agent, "__module__", None), getattr(agent, "__qualname__", "")
    found = getattr(sys.modules.get(module or ""), name, None) if module != "__main__" else None
    if found is not agent:
        raise UsageError(
            "a process of its own needs an agent that another process can import: give its name, such as "
            "'module:function', or a function at the top of a module"
        )
    return f"{module}:{name}"


_SERVERS: Collection[str] = ("http", "https", "responses", "endpoint", "a2a", "adk-server", "langgraph-server")


def check_isolation(target: str) -> None:
    """Raise UsageError if a process of its own would not separate the conversations of an agent."""
    kind = target.partition(":")[0]
    if kind in _SERVERS:
        raise UsageError(f"{target}: works in a server, which a process of its own would not separate")
    if kind == "harness":
        raise UsageError(f"{target}: has a process, a workspace and a home for each attempt already")
