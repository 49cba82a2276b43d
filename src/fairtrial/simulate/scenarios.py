"""Which scenarios would test an agent? A language model invents them; what repeats itself is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import SimulatorError
from fairtrial.llm.prompts import render
from fairtrial.llm.structured import read_json
from fairtrial.protocols import Model
from fairtrial.records.case import Scenario
from fairtrial.records.record import Json
from fairtrial.text.rouge import characters, rouge

_BATCH = 10
_ALIKE = 0.7
"""Plans that share so much of their words (F of ROUGE-1) ask for the same thing."""
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


class _Written(msgspec.Struct, frozen=True):
    starting_prompt: str
    conversation_plan: str


class _Reply(msgspec.Struct, frozen=True):
    scenarios: list[_Written]


async def write_scenarios(model: Model, assistant: str, *, count: int, instruction: str = "") -> list[Scenario]:
    """Return `count` scenarios for an assistant, or fewer where the model goes on repeating itself.

    Batches of at most 10 are asked for, each shown what exists; twice as many as needed, and two more. A reply that
    cannot be read is asked for again in the next batch; raises SimulatorError where none could be read.
    """
    found: list[Scenario] = []
    problem = ""
    for batch in range(2 * -(-count // _BATCH) + 2):
        if len(found) >= count:
            break
        texts = {"assistant": assistant, "instruction": instruction, "earlier": _listed(found)}
        prompt = render(
            "scenarios",
            texts,
            schema=_SCHEMA,
            count=min(_BATCH, count - len(found)),
            instruction=bool(instruction),
            earlier=bool(found),
        )
        reply = await model(replace(prompt, draw=f"batch {batch + 1}"))
        try:
            written = msgspec.convert(read_json(reply.text), _Reply).scenarios
        except ValueError as error:
            problem = str(error)
            continue
        found += _new(written, found)
    if not found:
        raise SimulatorError(f"the model wrote no scenario{f': {problem}' if problem else ''}")
    return found[:count]


def _new(written: Sequence[_Written], found: Sequence[Scenario]) -> list[Scenario]:
    """Those that are neither blank nor like one that is there."""
    fresh: list[Scenario] = []
    for one in written:
        scenario = Scenario(one.starting_prompt.strip(), one.conversation_plan.strip())
        blank = not scenario.starting_prompt or not scenario.conversation_plan
        if not blank and not any(_alike(scenario, other) for other in (*found, *fresh)):
            fresh.append(scenario)
    return fresh


def _alike(one: Scenario, other: Scenario) -> bool:
    same_start = characters(one.starting_prompt) == characters(other.starting_prompt)
    plans = rouge(characters(one.conversation_plan), characters(other.conversation_plan))
    return same_start or plans.f >= _ALIKE


def _listed(found: Sequence[Scenario]) -> str:
    return "\n".join(f"- {one.starting_prompt} | {one.conversation_plan}" for one in found)


def described_agent(about: Any, documentation: str) -> str:
    """Return what is known of an agent: its documentation, its instructions, the names and purposes of its tools."""
    lines = [documentation] if documentation else []
    for agent in about.agents if about is not None else ():
        lines.append(f"{agent.name}: {agent.instructions}".rstrip(": "))
        lines += [
            f"- tool {tool.get('name', '')}: {tool.get('description', '')}".rstrip(": ")
            for tool in agent.tool_declarations
        ]
    return "\n".join(lines)
