"""The backend of a criterion, the requests to the service, and its replies. The service itself is played."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import json
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.errors import ConfigError
from fairtrial.judge.judges import Judges
from fairtrial.judge.service import Service
from fairtrial.llm.model import CallError
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool
from fairtrial.metrics.catalog import build
from fairtrial.records.case import EvalCase
from fairtrial.records.result import Criterion
from fairtrial.records.score import Score
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, Thought, ToolCall, ToolResult, Trace
from fairtrial.testing import ModelLine, ScriptedModel
from judged import invocation

CONVERSATION = "multi_turn_task_success_v1"
WITHOUT_SDK = pytest.mark.skipif(importlib.util.find_spec("agentplatform") is not None, reason="the SDK is installed")

Built = tuple[Criterion, tuple[str, ...], ScriptedModel]


def built(options: dict[str, Any], *lines: ModelLine, name: str = "safety_v1") -> Built:
    """The criterion that a config makes, warnings, and the service that is played for it."""
    service = ScriptedModel(list(lines))
    spec = ConfigPart(name, {"threshold": 0.8, **options}, f"/criteria/{name}")
    models = ModelOptions(custom_models={"vertex": service})
    criteria, warnings = build(EvalConfig((spec,)), judges=Judges(models=models))
    metric: Any = criteria[0].metric
    if isinstance(getattr(metric, "service", None), Service):
        connected = metric.service.connect_models(ModelPool(models))
        return replace(criteria[0], metric=dataclasses.replace(metric, service=connected)), warnings, service
    return criteria[0], warnings, service


def score(criterion: Criterion, trace: Trace) -> Score:
    """Score a conversation."""

    async def called() -> Score:
        found: Any = criterion.metric(trace, EvalCase("c"))
        answer: Score = await found
        return answer

    return asyncio.run(called())


def asked(service: ScriptedModel) -> dict[str, Any]:
    """The instance of the first call."""
    found: dict[str, Any] = json.loads(service.prompts[0].text)["instance"]
    return found


def test_a_backend_that_is_none_is_a_config_error() -> None:
    """With the place and what is allowed."""
    with pytest.raises(ConfigError, match="safety_v1/backend: must be one of judge, vertex, or null, got 'vertx'"):
        built({"backend": "vertx"})


def test_a_criterion_without_service_has_no_backend() -> None:
    """Only five have one."""
    with pytest.raises(ConfigError, match="/criteria/hallucinations_v1/backend: is not a known option"):
        built({"backend": "vertex"}, name="hallucinations_v1")


@WITHOUT_SDK
def test_the_service_needs_its_extra() -> None:
    """The message names it."""
    spec = ConfigPart("safety_v1", {"threshold": 0.8, "backend": "vertex"}, "/criteria/safety_v1")
    with pytest.raises(ConfigError, match=r"/criteria/safety_v1/backend: .*needs the extra 'vertex': pip install"):
        build(EvalConfig((spec,)))


@WITHOUT_SDK
def test_without_the_extra_the_environment_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Project and location alone are on every machine of Google's users."""
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-central1")
    criterion, _, _ = built({})
    assert criterion.signature["backend"] == "judge"


def test_options_of_a_judge_that_is_not_asked_are_warned_of() -> None:
    """They change nothing."""
    guided = {"backend": "vertex", "judge_model_options": {"num_samples": 3}, "instructions": "Be strict."}
    _, warnings, _ = built(guided)
    assert "/criteria/safety_v1/judge_model_options: not used, the backend is vertex" in warnings
    assert "/criteria/safety_v1/instructions: not used, the backend is vertex" in warnings


def test_a_conversation_is_told_without_thoughts_and_with_its_tools() -> None:
    """Calls, results and words in order, by who said them; a tool's parameters as they were declared."""
    shape = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    declared = {"function_declarations": [{"name": "find", "description": "Finds.", "parameters": shape}]}
    turn = Invocation(
        Message("where?"),
        (Thought("hm", "bot"), ToolCall("find", {"id": "7"}, author="bot"), ToolResult("find", "here", author="bot")),
        Message("Here.", "bot"),
        about=About((AgentDetails("bot", "Be brief.", (declared,)),)),
    )
    criterion, _, service = built({"backend": "vertex"}, '{"score": 1.0}', name=CONVERSATION)
    assert score(criterion, Trace((turn,))).value == 1.0
    data = asked(service)["agent_data"]
    function = {"name": "find", "description": "Finds.", "parameters_json_schema": shape}
    tools = [{"function_declarations": [function]}]
    assert data["agents"] == {"bot": {"agent_id": "bot", "instruction": "Be brief.", "tools": tools}}
    parts = [(event["author"], event["content"]["parts"][0]) for event in data["turns"][0]["events"]]
    assert parts == [
        ("user", {"text": "where?"}),
        ("bot", {"function_call": {"name": "find", "args": {"id": "7"}}}),
        ("bot", {"function_response": {"name": "find", "response": {"result": "here"}}}),
        ("bot", {"text": "Here."}),
    ]


def test_a_broken_conversation_is_not_sent() -> None:
    """It is unscored with the cause."""
    criterion, _, service = built({"backend": "vertex"}, name=CONVERSATION)
    found = score(criterion, Trace((invocation("q", "a"),), broken="the agent raised"))
    assert (found.value, service.prompts) == (None, [])


@pytest.mark.parametrize(
    ("line", "value", "reason"),
    [
        ('{"score": 0.25, "explanation": "half said"}', 0.25, "half said"),
        ('{"score": 2}', None, "must be from 0 to 1, got 2"),
        ('{"score": NaN}', None, "cannot be read"),
        ('{"score": "1"}', None, "cannot be read"),
        ("[]", None, "cannot be read"),
        ('{"score": 1, "error": {"code": 13, "message": "internal"}}', None, "internal"),
        (CallError("HTTP 400: no"), None, "HTTP 400: no"),
    ],
)
def test_a_result_is_a_number_in_range_or_unscored(line: ModelLine, value: float | None, reason: str) -> None:
    """Never a zero for what could not be read."""
    criterion, _, _ = built({"backend": "vertex"}, line, line, name=CONVERSATION)
    found = score(criterion, Trace((invocation("q", "a"),)))
    assert found.value == value
    assert reason in found.reason


def test_what_gives_no_number_is_asked_for_once_more() -> None:
    """With another key, so that the first reply does not answer it."""
    criterion, _, service = built({"backend": "vertex"}, "{}", '{"score": 1.0}', name=CONVERSATION)
    assert score(criterion, Trace((invocation("q", "a"),))).value == 1.0
    assert [prompt.ask for prompt in service.prompts] == [1, 2]
