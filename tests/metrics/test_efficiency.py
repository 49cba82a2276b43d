"""Calls, tokens and seconds are counted if they were recorded, and only then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from builders import call, case, trace, turn, unknown_turn, values
from fairtrial.metrics.efficiency import (
    AgentCost,
    InferenceCallCount,
    InvocationDuration,
    TimeToFirstToken,
    TokenUsage,
    ToolCallCount,
)
from fairtrial.records.trace import Durations, ToolResult, Trace, Usage


def test_tool_calls_of_unknown_steps_are_not_recorded() -> None:
    """Nothing known of the steps is None, not 0; the mean is over the others."""
    found = ToolCallCount()(
        trace(turn(call("f"), call("f"), reply="a"), unknown_turn(reply="b"), turn(reply="c")), case()
    )
    assert (found.value, values(found)) == (1, [2, None, 0])


def test_model_calls_are_counted_where_they_were_recorded() -> None:
    """Two calls, unknown, none."""
    one = turn(reply="a")
    happened = trace(replace(one, usages=(Usage(), Usage(1))), one, replace(one, usages=()))
    found = InferenceCallCount()(happened, case())
    assert (found.value, values(found)) == (1, [2, None, 0])


def test_tokens_are_in_and_out() -> None:
    """12 + 8 = 20; the 3 reasoning tokens are part of the output, the 4 cached tokens of the input."""
    happened = trace(replace(turn(reply="a"), usages=(Usage(12, 8, 3, 4),)))
    assert TokenUsage()(happened, case()).value == 20


def test_a_model_call_without_tokens_leaves_no_sum() -> None:
    """A sum without it would be too low, for example if a tool asked a model itself."""
    known, unknown = (replace(turn(reply="a"), usages=usages) for usages in ((Usage(5, 2),), (Usage(5, 2), Usage())))
    found = TokenUsage()(trace(known, unknown), case())
    assert (found.value, values(found)) == (7, [7, None])
    assert found.parts[1].reason == "1 of 2 model calls have no tokens"


def test_the_cost_is_that_of_each_model_call() -> None:
    """GPT-4o takes 2.50 dollars for a million input tokens, 1.25 for cached ones, and 10 for output tokens."""
    one, other = Usage(1_000_000, 100_000, model="gpt-4o"), Usage(200_000, 0, None, 100_000, model="openai/gpt-4o")
    found = AgentCost()(trace(replace(turn(reply="a"), usages=(one, other))), case())
    assert found.value == pytest.approx(100 * (2.5 + 1.0 + 0.25 + 0.125))


@pytest.mark.parametrize(("model", "name"), [("my-own-model", "my-own-model"), ("", "a model without a name")])
def test_an_unknown_price_is_no_price(model: str, name: str) -> None:
    """A sum without it would be too low."""
    usages = (Usage(10, 5, model="gpt-4o"), Usage(10, 5, model=model))
    found = AgentCost()(trace(replace(turn(reply="a"), usages=usages)), case())
    assert (found.value, found.parts[0].reason) == (None, f"the price of {name} is unknown")


def test_a_cost_that_nobody_can_know_is_not_recorded() -> None:
    """No model call was recorded."""
    found = AgentCost()(trace(turn(reply="a")), case())
    assert (found.value, found.parts[0].reason) == (None, "not recorded")


def test_seconds() -> None:
    """The mean over the invocations that took a known time."""
    one = turn(reply="a")
    happened = trace(replace(one, durations=Durations(2.0)), one, replace(one, durations=Durations(4.0, 1.0)))
    assert InvocationDuration()(happened, case()).value == 3


def test_the_time_to_the_first_token() -> None:
    """The mean over the invocations that were streamed. Another one says that nothing is recorded."""
    one = turn(reply="a")
    times = (Durations(2.0, first_token=0.5), Durations(4.0), Durations(4.0, first_token=1.5))
    found = TimeToFirstToken()(trace(*(replace(one, durations=own) for own in times)), case())
    assert found.value == 1
    assert [part.reason for part in found.parts] == ["", "not recorded", ""]


def test_nothing_recorded_is_none_with_a_reason() -> None:
    """It should have been scored and could not be."""
    found = TokenUsage()(trace(turn(reply="a")), case())
    assert (found.value, found.applicable, found.parts[0].reason) == (None, True, "not recorded")


@pytest.mark.parametrize("depth", [1, 2])
def test_the_work_of_agents_that_answer_as_tools_is_counted(depth: int) -> None:
    """An agent that lets others call its tools needs no fewer calls."""
    one = replace(turn(call("find"), call("find")), usages=(Usage(1, 1),))
    for _ in range(depth):
        result = ToolResult("ask", "it", inner=Trace((one,)))
        one = replace(turn(call("ask"), result, reply="a"), usages=(Usage(1, 1), Usage(1, 1)))
    assert ToolCallCount()(trace(one), case()).value == 2 + depth
    assert InferenceCallCount()(trace(one), case()).value == 1 + 2 * depth


def test_work_inside_a_tool_that_is_not_recorded_is_not_counted_as_none() -> None:
    """A sum without it would be too low."""
    inner = Trace((replace(unknown_turn(reply="it"), usages=(Usage(1, 1),)),))
    partial = Trace((turn(call("find")),), incomplete="a limit")
    for work in (inner, partial):
        one = replace(turn(call("ask"), ToolResult("ask", "it", inner=work), reply="a"), usages=(Usage(1, 1),))
        assert ToolCallCount()(trace(one), case()).value is None
    assert InferenceCallCount()(trace(one), case()).value is None
