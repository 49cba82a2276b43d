"""Which tools does an agent declare, where not every request to its model names the same?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from fairtrial.records.record import Json
from fairtrial.records.trace import AgentDetails
from fairtrial.text.display import compact


def declaring(known: AgentDetails, tools: Iterable[dict[str, Json]]) -> AgentDetails:
    """Return what is known of an agent with the tools of one more request; the first declaration of a tool counts."""
    declared = {_key(one): one for one in known.tool_declarations}
    for one in tools:
        declared.setdefault(_key(one), one)
    return replace(known, tool_declarations=tuple(declared.values()))


def _key(declaration: dict[str, Json]) -> str:
    """What tells a tool from others: its name, or all of what the model's provider runs."""
    return str(declaration.get("name") or compact(declaration))
