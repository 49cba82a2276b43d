"""Read the instructions and tools that an agent declares, before any conversation."""

from __future__ import annotations

from fairtrial.protocols import Agent, DeclaresAgents
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About


async def declared_agents(target: Agent, case: EvalCase) -> About | None:
    """Return the agents of a session for a case before its first message, or None if they are not known."""
    async with target(case, None) as session:
        return await session.declared() if isinstance(session, DeclaresAgents) else session.about
