"""The package and google-adk 2.13 read the same environments."""

from __future__ import annotations

import json
from typing import Any

import both
import pydantic
import pytest
from google.adk.evaluation.eval_set import EvalSet as PeerEvalSet
from google.adk.tools.environment_simulation.environment_simulation_config import EnvironmentSimulationConfig

from fairtrial.errors import ConfigError
from fairtrial.formats.adk.write import dumps
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Injection, Invocation, Message, ToolCall, ToolResult
from fairtrial.simulate.environment_options import environment_options

pytestmark = both.PEER

ERROR = {"injected_http_error_code": 500, "error_message": "no"}


def injecting(**more: Any) -> dict[str, Any]:
    """A configuration of one injection."""
    return {"tool_simulation_configs": [{"tool_name": "get", "injection_configs": [more]}]}


def accepted_here(config: dict[str, Any]) -> bool:
    """Whether we read a configuration."""
    try:
        environment_options(config)
    except ConfigError:
        return False
    return True


def accepted_there(config: dict[str, Any]) -> bool:
    """Whether google-adk reads it."""
    try:
        EnvironmentSimulationConfig.model_validate_json(json.dumps(config))
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "config",
    [
        injecting(injected_response={"a": 1}),
        injecting(injected_error=ERROR, match_args={"a": 1}, random_seed=3, injected_latency_seconds=120),
        injecting(injected_error=ERROR, injected_response={"a": 1}),
        injecting(injected_response={"a": 1}, injected_latency_seconds=121),
        injecting(injected_error={"error_message": "no"}),
        injecting(injection_probability=0.5),
        {"tool_simulation_configs": [{"tool_name": "get", "mock_strategy_type": 1}], "environment_data": "{}"},
        {"tool_simulation_configs": [{"tool_name": "get", "mock_strategy_type": 3}]},
        {"tool_simulation_configs": [{"tool_name": "get"}]},
        {"tool_simulation_configs": [{"mock_strategy_type": 1}]},
        {"tool_simulation_configs": [{"tool_name": "get", "mock_strategy_type": 1}] * 2},
        {"tool_simulation_configs": []},
    ],
)
def test_the_same_configurations_are_read(config: dict[str, Any]) -> None:
    """What one of us refuses, the other refuses."""
    assert accepted_here(config) is accepted_there(config)


@pytest.mark.parametrize(
    ("config", "here"),
    [
        (injecting(injected_response={}), True),
        (injecting(injected_response={"a": 1}, injection_probability=2), False),
        (injecting(injected_response={"a": 1}, injected_latency_seconds=-1), False),
        (injecting(injected_response={"a": 1}, injection_probabilty=0.5), False),
    ],
)
def test_where_we_differ(config: dict[str, Any], here: bool) -> None:
    """An empty response is one; a chance above 1, a negative latency and a misspelt key are mistakes."""
    assert accepted_here(config) is here
    assert accepted_there(config) is not here


def test_google_adk_reads_what_was_injected() -> None:
    """A recording with injections is an eval set to it, and keeps them."""
    result = ToolResult("get", {"a": 1}, "1", "shop", injected=(Injection("error", "500: no"),))
    recorded = Invocation(Message("hi"), (ToolCall("get", id="1", author="shop"), result), Message("ok"))
    theirs = PeerEvalSet.model_validate_json(dumps(EvalSet("s", (EvalCase("c", (recorded,)),))))
    assert '"fairtrial":{"injected":' in theirs.model_dump_json()
