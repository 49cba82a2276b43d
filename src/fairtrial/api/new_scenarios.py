"""Which scenarios would test this agent?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairtrial.agents import agent_of
from fairtrial.api.blocking import blocking
from fairtrial.errors import UsageError
from fairtrial.formats.adk.write import scenario_json
from fairtrial.llm.model import DEFAULT_MODEL, NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool, check_model
from fairtrial.protocols import Agent, Documented
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.record import Json
from fairtrial.records.trace import About
from fairtrial.simulate.scenarios import described_agent, write_scenarios


def scenarios(
    agent: str | Callable[..., Any],
    *,
    count: int = 10,
    instruction: str = "",
    model: str = DEFAULT_MODEL,
    models: ModelOptions | None = None,
) -> list[Scenario]:
    """Return new scenarios for an agent, varied and without repetitions; fewer where the model runs out of ideas.

    The model is told what the agent says of itself (instructions, tools, a function's documentation) and the
    instruction. Raises UsageError where there is neither, or where the model cannot be called.
    """
    target = agent_of(agent)
    options = models or ModelOptions()
    check_model(NamedModel(model), options)

    async def go() -> list[Scenario]:
        known = described_agent(await _about(target), _documentation(target))
        if not known and not instruction:
            raise UsageError("nothing is known of the agent; say with --instruction what the scenarios are about")
        async with ModelPool(options) as pool:
            writer = pool.connected(NamedModel(model))
            await pool.check()
            return await write_scenarios(writer, known, count=count, instruction=instruction)

    found: list[Scenario] = blocking(go())
    return found


def scenarios_file(found: Sequence[Scenario]) -> dict[str, Json]:
    """Return the content of a file of scenarios, as ADK lays it out."""
    return {"scenarios": [scenario_json(scenario) for scenario in found]}


async def _about(target: Agent) -> About | None:
    """What a session tells of its agents before anything was said."""
    async with target(EvalCase("scenarios"), None) as session:
        return session.about


def _documentation(target: Agent) -> str:
    return target.documentation if isinstance(target, Documented) else ""
