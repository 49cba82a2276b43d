"""An environment_simulation_config is read as google-adk reads it, and misspellings are reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.errors import ConfigError
from fairtrial.simulate.environment_options import (
    Chaos,
    EnvironmentOptions,
    InjectedError,
    InjectionConfig,
    SimulatedTool,
    Strategy,
    environment_options,
)


def options(raw: dict[str, Any]) -> EnvironmentOptions:
    """The options in a configuration without warnings."""
    found, warnings = environment_options(raw)
    assert warnings == []
    return found


def problems(raw: dict[str, Any]) -> list[str]:
    """What is wrong with a configuration."""
    with pytest.raises(ConfigError) as error:
        environment_options(raw)
    return str(error.value).splitlines()


def tool(**more: Any) -> dict[str, Any]:
    """A configuration of one tool."""
    return {"tool_simulation_configs": [{"tool_name": "get", **more}]}


def injecting(**more: Any) -> dict[str, Any]:
    """A configuration of one injection."""
    return tool(injection_configs=[more])


TYPO = "'MOCK_STRATEGY_TOOL_SPECS'; did you mean 'MOCK_STRATEGY_TOOL_SPEC'?"
AT = "/environment_simulation_config"
FIRST = f"{AT}/tool_simulation_configs/0"


def test_both_spellings_are_read() -> None:
    """In snake_case and in camelCase, mixed; what users put in is left as it is."""
    read = options(
        {
            "toolSimulationConfigs": [
                {
                    "tool_name": "get",
                    "injectionConfigs": [
                        {
                            "injectionProbability": 0.5,
                            "match_args": {"orderId": "A"},
                            "injectedLatencySeconds": 2,
                            "random_seed": 3,
                            "injectedError": {"injectedHttpErrorCode": 500, "error_message": "no"},
                            "invalidates": True,
                        }
                    ],
                    "mockStrategyType": 1,
                }
            ],
            "simulationModel": "m",
            "simulation_model_configuration": {"maxOutputTokens": 3, "thinkingConfig": {"thinkingBudget": 0}},
            "environmentData": "data",
            "chaosEffects": [{"effect": "stale", "toolName": "get_*"}],
            "randomSeed": 9,
        }
    )
    injection = InjectionConfig(0.5, {"orderId": "A"}, 2.0, 3, InjectedError(500, "no"), invalidates=True)
    assert read == EnvironmentOptions(
        (SimulatedTool("get", (injection,), Strategy.PLAYED),),
        "m",
        {"max_output_tokens": 3, "thinking_config": {"thinkingBudget": 0}},
        "data",
        chaos_effects=(Chaos("stale", tool_name="get_*"),),
        random_seed=9,
    )


def test_an_empty_response_is_a_response() -> None:
    """Google's own reader takes `{}` for none."""
    (one,) = options(injecting(injected_response={})).tool_simulation_configs
    assert one.injection_configs[0].injected_response == {}


def test_an_empty_list_is_none_given() -> None:
    """Of tools or of effects, where there is the other."""
    effects = [{"effect": "empty"}]
    assert options({"tool_simulation_configs": [], "chaos_effects": effects}) == options({"chaos_effects": effects})
    injection = injecting(injected_response={})
    assert options({**injection, "chaos_effects": []}) == options(injection)


@pytest.mark.parametrize("raw", ["MOCK_STRATEGY_TOOL_SPEC", 1])
def test_strategies_by_name_and_number(raw: Any) -> None:
    """google-adk writes the number of its enum."""
    assert options(tool(mock_strategy_type=raw)).plays


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({}, f"{AT}/tool_simulation_configs: must hold at least one tool, or there must be chaos_effects"),
        (
            {"tool_simulation_configs": []},
            f"{AT}/tool_simulation_configs: must hold at least one tool, or there must be chaos_effects",
        ),
        ({"chaos_effects": {}}, f"{AT}/chaos_effects: must be an array of objects, got an empty object"),
        (tool(), f"{FIRST}: must have injection_configs or a mock_strategy_type"),
        ({"tool_simulation_configs": [{}]}, f"{FIRST}: must have 'tool_name'"),
        (
            {"tool_simulation_configs": tool(mock_strategy_type=1)["tool_simulation_configs"] * 2},
            f"{AT}/tool_simulation_configs/1/tool_name: names 'get' a second time",
        ),
        (
            {"tool_simulation_configs": [{"tool_name": "get_*", "mock_strategy_type": 1}]},
            f"{AT}/tool_simulation_configs/0/tool_name: is the name of one tool, not a glob; got 'get_*'",
        ),
        (
            {**tool(mock_strategy_type=1), "simulation_modle": "m"},
            f"{AT}/simulation_modle: is not a known option; did you mean 'simulation_model'?",
        ),
        (injecting(injected_respose={}), f"{FIRST}/injection_configs/0/injected_respose: is not a known option"),
        (
            injecting(),
            f"{FIRST}/injection_configs/0: must have exactly one of injected_error, injected_response and planted",
        ),
        (
            injecting(injected_response={}, injected_error={"injected_http_error_code": 500, "error_message": "no"}),
            f"{FIRST}/injection_configs/0: must have exactly one of injected_error, injected_response and planted",
        ),
        (
            injecting(injected_response={}, injected_latency_seconds=121),
            f"{FIRST}/injection_configs/0/injected_latency_seconds: must be a number from 0 to 120, got 121",
        ),
        (
            injecting(injected_response={}, injection_probability=1.5),
            f"{FIRST}/injection_configs/0/injection_probability: must be a number from 0 to 1, got 1.5",
        ),
        (
            injecting(injected_error={"error_message": "no"}),
            f"{FIRST}/injection_configs/0/injected_error: must have 'injected_http_error_code'",
        ),
        (
            injecting(injected_response={}, injectedResponse={}),
            f"{FIRST}/injection_configs/0/injectedResponse: stands there twice, as 'injected_response' and as 'inj",
        ),
        (
            tool(mock_strategy_type="MOCK_STRATEGY_TOOL_SPECS"),
            f"{FIRST}/mock_strategy_type: must be one of {', '.join(Strategy)}, or 0 to 2, got {TYPO}",
        ),
        (tool(mock_strategy_type=3), f"{FIRST}/mock_strategy_type: must be one of"),
        (
            {"chaos_effects": [{"effect": "truncate"}]},
            (
                f"{AT}/chaos_effects/0/effect: must be one of timeout, truncated, corrupted, empty, stale, duplicated, "
                "wrong, thinned, exchanged, got 'truncate'; did you mean 'truncated'?"
            ),
        ),
        (tool(mock_strategy_type=2), f"{AT}/tracing: must hold recorded answers, because a tool answers from them"),
        (
            {**tool(mock_strategy_type=2), "tracing": [{"tool_name": "gets", "response": 1}]},
            f"{AT}/tracing: holds no recorded answer of 'get'; did you mean 'gets'?",
        ),
        (
            {**tool(mock_strategy_type=2), "tracing": "[]"},
            f"{AT}/tracing: ",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(raw: dict[str, Any], problem: str) -> None:
    """Each with a JSON pointer, what was got and what is allowed."""
    (found,) = problems(raw)
    assert found.startswith(problem), found


def test_all_problems_are_told_at_once() -> None:
    """A configuration is corrected in one go."""
    raw = {
        "tool_simulation_configs": [{"tool_name": "a", "injection_configs": [{"injected_respons": 1}]}, 3],
        "chaos_effects": [{"effect": "empty", "probability": "often"}],
    }
    assert [problem.partition(": ")[0] for problem in problems(raw)] == [
        f"{FIRST}/injection_configs/0/injected_respons",
        f"{AT}/tool_simulation_configs/1",
        f"{AT}/chaos_effects/0/probability",
    ]


def test_lenient_makes_an_unknown_option_a_warning() -> None:
    """For files that are newer than we are."""
    raw = {"chaos_effects": [{"effect": "empty", "colour": "red"}]}
    read, warnings = environment_options(raw, lenient=True)
    assert read.chaos_effects == (Chaos("empty"),)
    assert [warning.partition(": ")[0] for warning in warnings] == [f"{AT}/chaos_effects/0/colour"]


RECORDING = {
    "case_id": "a",
    "trace": {
        "invocations": [
            {
                "user": {"kind": "message", "text": "hi"},
                "steps": [
                    {"kind": "tool_call", "name": "get", "args": {"id": 1}},
                    {"kind": "tool_result", "name": "get", "response": {"state": "new"}},
                ],
            }
        ]
    },
}


@pytest.mark.parametrize(
    "tracing",
    [
        [{"tool_name": "get", "args": {"id": 1}, "response": {"state": "new"}}],
        json.dumps([{"tool_name": "get", "args": {"id": 1}, "response": {"state": "new"}}]),
        RECORDING,
        json.dumps(RECORDING),
        "\n".join([json.dumps(RECORDING)] * 2),
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get", "arguments": '{"id": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": '{"state": "new"}'},
        ],
    ],
)
def test_recorded_answers_are_read_from_whatever_was_recorded(tracing: Any) -> None:
    """Examples, recordings of ours and chat messages, as JSON or as its text."""
    assert options({**tool(mock_strategy_type=2), "tracing": tracing}).tracing == tracing
