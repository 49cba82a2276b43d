"""The models, instructions and tools with which a run was made, and which of them differ between two runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.run import AgentVersion, RunInfo

if TYPE_CHECKING:
    from fairtrial.records.trace import AgentDetails, Trace

_DIGITS = 16
_JSON = msgspec.json.Encoder(order="deterministic")


class AgentVersions:
    """Collects what the conversations of a run show about its agents.

    Instructions that differ between conversations, for example because they hold the time, are not known.
    """

    def __init__(self) -> None:
        self._models: dict[str, None] = {}
        self._first: dict[str, AgentDetails] = {}
        self._other_instructions: set[str] = set()
        self._other_tools: set[str] = set()

    def add(self, trace: Trace) -> None:
        """Add a conversation."""
        self._models |= dict.fromkeys(trace.models)
        for agent in trace.agents:
            first = self._first.setdefault(agent.name, agent)
            if first.instructions != agent.instructions:
                self._other_instructions.add(agent.name)
            if first.tool_declarations != agent.tool_declarations and _digest_tools(first) != _digest_tools(agent):
                self._other_tools.add(agent.name)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the conversations name."""
        return tuple(self._models)

    @property
    def agents(self) -> tuple[AgentVersion, ...]:
        """The versions of the agents, by name."""
        return tuple(
            AgentVersion(
                name,
                "" if name in self._other_instructions else _digest(agent.instructions.encode()),
                "" if name in self._other_tools else _digest_tools(agent),
            )
            for name, agent in sorted(self._first.items())
        )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS] if content else ""


def _digest_tools(agent: AgentDetails) -> str:
    """Return the digest of the declared tools in any order."""
    return _digest(b"\n".join(sorted(map(_JSON.encode, agent.tool_declarations))))


def list_changes(before: RunInfo, after: RunInfo) -> Iterator[str]:
    """Yield what differs between two runs: `model`, and `instructions` or `tools` with the name of their agent.

    What one of the runs does not know is left out.
    """
    if before.models and after.models and set(before.models) != set(after.models):
        yield "model"
    known = {own.name: own for own in before.agents}
    for own in after.agents:
        earlier = known.get(own.name, own)
        for part, old, new in (
            ("instructions", earlier.instructions, own.instructions),
            ("tools", earlier.tools, own.tools),
        ):
            if old and new and old != new:
                yield f"{part} of {own.name}" if own.name else part
