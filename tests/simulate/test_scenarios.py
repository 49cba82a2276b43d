"""New scenarios are varied, and nothing that the model writes is taken on trust."""

from __future__ import annotations

import asyncio
import json

import pytest

from fairtrial import AgentDetails
from fairtrial.errors import SimulatorError
from fairtrial.records.case import Scenario
from fairtrial.records.trace import About
from fairtrial.simulate.scenarios import describe_agent, write_scenarios
from fairtrial.testing import ScriptedModel

PLANS = (
    "Ask where the teapot is that was ordered on Monday.",
    "Complain that the lamp came broken, and want the money back.",
    "배송 주소를 부산으로 바꾸고 싶다.",
    "Find out whether the shop sells rugs, then leave.",
)


def batch(*plans: str) -> str:
    """A reply with a scenario for each plan."""
    entries = [{"starting_prompt": f"about {plan[:12]}", "conversation_plan": plan} for plan in plans]
    return json.dumps({"scenarios": entries}, ensure_ascii=False)


def written(*replies: str, count: int = 2) -> tuple[list[Scenario], ScriptedModel]:
    """The scenarios that come of these replies, and the model with what it was asked."""
    model = ScriptedModel([*replies, *[batch()] * 9])
    return asyncio.run(write_scenarios(model, "a shop", count=count, instruction="orders")), model


def test_as_many_as_asked_for() -> None:
    """What the model writes beyond the count is left out."""
    found, _ = written(batch(*PLANS), count=3)
    assert [one.conversation_plan for one in found] == list(PLANS[:3])


def test_what_repeats_itself_is_left_out() -> None:
    """The same plan in nearly the same words is no new scenario; more are asked for."""
    again = "Ask where the teapot is that was ordered on a Monday."
    found, model = written(batch(PLANS[0], again), batch(PLANS[1]))
    assert [one.conversation_plan for one in found] == [PLANS[0], PLANS[1]]
    assert len(model.prompts) == 2


def test_the_model_is_shown_what_exists() -> None:
    """The second batch knows the first."""
    _, model = written(batch(PLANS[0]), batch(PLANS[1]))
    assert PLANS[0] not in model.prompts[0].text
    assert PLANS[0] in model.prompts[1].text


def test_batches_are_draws_of_their_own() -> None:
    """A store or a cassette tells two batches apart."""
    _, model = written(batch(), batch(*PLANS))
    assert len({prompt.draw for prompt in model.prompts}) == 2


def test_a_reply_that_cannot_be_read_is_asked_for_again() -> None:
    """Neither prose nor a wrong shape ends it."""
    found, _ = written("Sure! Here they are:", json.dumps({"scenarios": [{"plan": 1}]}), batch(*PLANS))
    assert len(found) == 2


def test_fewer_are_returned_where_the_model_repeats_itself() -> None:
    """The number of calls is bounded."""
    found, model = written(*[batch(PLANS[0])] * 4, count=2)
    assert len(found) == 1
    assert len(model.prompts) == 4


def test_blank_scenarios_do_not_count() -> None:
    """A prompt or a plan without text tests nothing."""
    found, _ = written(batch("  ", PLANS[0], PLANS[1]))
    assert [one.conversation_plan for one in found] == [PLANS[0], PLANS[1]]


def test_nothing_readable_is_an_error() -> None:
    """The last problem is named."""
    with pytest.raises(SimulatorError, match="wrote no scenario: "):
        written(*["no JSON"] * 4)


def test_an_agent_is_described_by_what_it_says_of_itself() -> None:
    """Documentation, instructions and tools."""
    tool = {"name": "get_order", "description": "Looks an order up."}
    text = describe_agent(About((AgentDetails("shop", "Help with orders.", (tool,)),)), "A shop assistant.")
    assert text == "A shop assistant.\nshop: Help with orders.\n- tool get_order: Looks an order up."
