"""Merge the tools that an agent declares, if its requests to the model differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import AgentDetails


def add_declarations(agent: AgentDetails, tools: Iterable[dict[str, Json]]) -> AgentDetails:
    """Return an agent with the tools of one more request. The first declaration of a tool counts."""
    declarations = {_key(declaration): declaration for declaration in agent.tool_declarations}
    for declaration in tools:
        declarations.setdefault(_key(declaration), declaration)
    return replace(agent, tool_declarations=tuple(declarations.values()))


def _key(declaration: dict[str, Json]) -> str:
    """Return the name of a tool, or its whole declaration: a tool that the provider runs may have no name."""
    return str(declaration.get("name") or compact(declaration))
