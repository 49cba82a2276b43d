"""Generate new test scenarios for an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents import find_agent
from fairtrial.errors import UsageError, spell
from fairtrial.formats.adk.write import scenario_json
from fairtrial.llm.model import DEFAULT_MODEL, NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool, check_model
from fairtrial.protocols import Agent, DeclaresAgents, Documented
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.simulate.scenarios import describe_agent, write_scenarios
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import About


async def declared_agents(target: Agent, case: EvalCase) -> About | None:
    """Return the agents of a session for a case before its first message, or None if they are not known."""
    async with target(case, None) as session:
        return await session.declared() if isinstance(session, DeclaresAgents) else session.about


def scenarios(
    agent: str | Callable[..., Any],
    *,
    count: int = 10,
    instruction: str = "",
    model: str = DEFAULT_MODEL,
    models: ModelOptions | None = None,
) -> list[Scenario]:
    """Return new scenarios for an agent, varied and without repetitions. There may be fewer than `count`.

    The model sees the instructions, tools and documentation of the agent, and the `instruction`. Raises UsageError if
    all of them are empty, or if the model cannot be called.
    """
    target = find_agent(agent)
    options = models or ModelOptions()
    check_model(NamedModel(model), options)

    async def write() -> list[Scenario]:
        description = describe_agent(await declared_agents(target, EvalCase("scenarios")), _documentation(target))
        if not description and not instruction:
            problem = "the agent has no instructions, tools or documentation"
            raise UsageError(f"{problem}; describe the scenarios with {spell('instruction')}")
        async with ModelPool(options) as pool:
            writer = pool.connected(NamedModel(model))
            await pool.check()
            return await write_scenarios(writer, description, count=count, instruction=instruction)

    new_scenarios: list[Scenario] = blocking(write())
    return new_scenarios


def scenarios_file(new_scenarios: Sequence[Scenario]) -> dict[str, Json]:
    """Return the content of a file of scenarios, as ADK lays it out."""
    return {"scenarios": [scenario_json(scenario) for scenario in new_scenarios]}


def _documentation(target: Agent) -> str:
    return target.documentation if isinstance(target, Documented) else ""
