"""Generate test scenarios for an agent with a language model, and leave out repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import SimulatorError
from fairtrial.llm.prompts import Templates
from fairtrial.llm.structured import read_json
from fairtrial.records.case import Scenario
from fairtrial.records.decoding import convert
from fairtrial.text.language import detect_language
from fairtrial.text.rouge import characters, rouge

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.record import Json

TEMPLATES = Templates("fairtrial.simulate")
_BATCH = 10
_ALIKE = 0.7
"""Plans with at least this F of ROUGE-1 ask for the same thing."""
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "scenarios": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"starting_prompt": {"type": "string"}, "conversation_plan": {"type": "string"}},
                "required": ["starting_prompt", "conversation_plan"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["scenarios"],
    "additionalProperties": False,
}


class _WrittenScenario(msgspec.Struct, frozen=True):
    starting_prompt: str
    conversation_plan: str


class _Reply(msgspec.Struct, frozen=True):
    scenarios: list[_WrittenScenario]


async def write_scenarios(model: Model, assistant: str, *, count: int, instruction: str = "") -> list[Scenario]:
    """Return `count` scenarios for an assistant, or fewer if the model repeats itself.

    The model writes batches of at most 10, and each prompt holds the scenarios so far. There are at most twice as many
    batches as needed, plus two. If a reply is unreadable, the next batch replaces it. Raises SimulatorError if every
    reply is unreadable.
    """
    scenarios: list[Scenario] = []
    problem = ""
    for batch in range(2 * -(-count // _BATCH) + 2):
        if len(scenarios) >= count:
            break
        texts = {"assistant": assistant, "instruction": instruction, "earlier": _make_list(scenarios)}
        prompt = TEMPLATES.render(
            "scenarios",
            texts,
            language=detect_language(instruction or assistant),
            schema=_SCHEMA,
            count=min(_BATCH, count - len(scenarios)),
            instruction=bool(instruction),
            earlier=bool(scenarios),
        )
        reply = await model(replace(prompt, draw=f"batch {batch + 1}"))
        try:
            batch_scenarios = convert(read_json(reply.text), _Reply).scenarios
        except ValueError as error:
            problem = str(error)
            continue
        scenarios += _new(batch_scenarios, scenarios)
    if not scenarios:
        raise SimulatorError(f"the model wrote no scenario{f': {problem}' if problem else ''}")
    return scenarios[:count]


def _new(candidates: Sequence[_WrittenScenario], scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return the candidates that are neither blank nor similar to an existing scenario."""
    fresh: list[Scenario] = []
    for candidate in candidates:
        scenario = Scenario(candidate.starting_prompt.strip(), candidate.conversation_plan.strip())
        blank = not scenario.starting_prompt or not scenario.conversation_plan
        if not blank and not any(_alike(scenario, existing) for existing in (*scenarios, *fresh)):
            fresh.append(scenario)
    return fresh


def _alike(scenario: Scenario, existing: Scenario) -> bool:
    same_start = characters(scenario.starting_prompt) == characters(existing.starting_prompt)
    plans = rouge(characters(scenario.conversation_plan), characters(existing.conversation_plan))
    return same_start or plans.f >= _ALIKE


def _make_list(scenarios: Sequence[Scenario]) -> str:
    return "\n".join(f"- {scenario.starting_prompt} | {scenario.conversation_plan}" for scenario in scenarios)


def describe_agent(about: Any, documentation: str) -> str:
    """Return a description of an agent: its documentation, its instructions, and its tools with their purposes."""
    lines = [documentation] if documentation else []
    for agent in about.agents if about is not None else ():
        lines.append(f"{agent.name}: {agent.instructions}".rstrip(": "))
        lines += [
            f"- tool {tool.get('name', '')}: {tool.get('description', '')}".rstrip(": ")
            for tool in agent.tool_declarations
        ]
    return "\n".join(lines)
