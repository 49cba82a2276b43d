"""Google's current files are read, written, and refused with a message if they cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import load, said
from fairtrial.errors import FormatError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.agents_cli.write_dataset import dataset
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read
from fairtrial.records.case import Scenario
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import ToolCall

NAME = "basic-dataset.json"


def cases(*found: dict[str, Any]) -> Loaded:
    """A dataset of these cases."""
    return load({"eval_cases": list(found)}, NAME)


def problems(document: Any, path: str = NAME) -> tuple[str, ...]:
    """The problems of a file that is refused."""
    with pytest.raises(FormatError) as caught:
        load(document, path)
    return caught.value.problems


def event(author: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """An event of a turn."""
    return {"author": author, "content": {"parts": list(parts)}}


def test_a_prompt_is_the_message_of_the_user() -> None:
    """Its reference is the expected reply, and nothing is said of calls."""
    found = cases(
        {
            "eval_case_id": "capital",
            "prompt": said("Which is the capital of France?"),
            "reference": {"response": said("Paris", "model")},
            "difficulty": "easy",
        }
    )
    assert found.kind == "agents-cli dataset"
    assert found.eval_set is not None
    assert found.eval_set.id == "basic-dataset"
    (case,) = found.eval_set.cases
    (invocation,) = case.conversation or ()
    assert (case.id, invocation.query, invocation.steps) == ("capital", "Which is the capital of France?", None)
    assert invocation.final_response is not None
    assert invocation.final_response.text == "Paris"
    assert case.extra == {"difficulty": "easy"}


def test_responses_are_attempts() -> None:
    """Each recorded reply is an attempt at the case, in order."""
    replies = [{"response": said(text, "model")} for text in ("Paris", "Lyon")]
    found = cases({"evalCaseId": "capital", "prompt": said("?"), "responses": replies})
    assert [(one.case_id, one.attempt, one.trace.invocations[0].reply) for one in found.recordings] == [
        ("capital", 1, "Paris"),
        ("capital", 2, "Lyon"),
    ]


CALL = {"function_call": {"name": "search", "args": {"to": "NYC"}}}
RESULT = {"function_response": {"name": "search", "response": {"flights": []}}}


def test_a_conversation_that_ends_with_the_agent_is_a_recording() -> None:
    """Events are cut at the user's, whatever turn they stand in; calls and authors are kept."""
    turns = [
        {"turn_index": 0, "events": [event("user", {"text": "book"}), event("router", {"text": "one moment"})]},
        {"turn_index": 1, "events": [event("bot", CALL), event("bot", RESULT), event("bot", {"text": "nothing"})]},
    ]
    agents = {
        "bot": {"agent_id": "bot", "instruction": "Search.", "tools": [{"function_declarations": [{"name": "search"}]}]}
    }
    found = cases({"eval_case_id": "a", "agent_data": {"agents": agents, "turns": turns}})
    (recording,) = found.recordings
    (invocation,) = recording.trace.invocations
    assert [(step.author, type(step).__name__) for step in invocation.steps or ()] == [
        ("router", "Message"),
        ("bot", "ToolCall"),
        ("bot", "ToolResult"),
    ]
    assert invocation.reply == "nothing"
    assert invocation.about is not None
    assert invocation.about.agents[0].tool_declarations == ({"name": "search"},)
    assert found.eval_set is not None
    (expected,) = found.eval_set.cases[0].conversation or ()
    assert (expected.query, expected.steps, expected.final_response) == ("book", None, None)


def test_a_conversation_that_ends_with_the_user_is_history() -> None:
    """The agent is to answer the last message; nothing was recorded, and nothing earlier is expected."""
    events = [event("user", {"text": "book"}), event("bot", {"text": "when?"}), event("user", {"text": "Monday"})]
    found = cases({"eval_case_id": "a", "agent_data": {"turns": [{"events": events}]}})
    assert found.recordings == ()
    assert found.eval_set is not None
    conversation = found.eval_set.cases[0].conversation or ()
    assert [(one.query, one.final_response) for one in conversation] == [("book", None), ("Monday", None)]


def test_rubrics_context_and_scenarios() -> None:
    """A rubric's group is its type; a context is text or content; a scenario is simulated."""
    rubric = {"rubric_id": "r", "content": {"property": {"description": "Confirms."}}}
    scenario = {"starting_prompt": "hi", "conversation_plan": "buy"}
    found = cases(
        {"prompt": said("?"), "rubric_groups": {"booking": {"rubrics": [rubric]}}, "context": said("Page 1")},
        {"user_scenario": scenario, "context": "Page 2"},
    )
    assert found.eval_set is not None
    first, second = found.eval_set.cases
    assert (first.id, first.rubrics, first.context) == ("case-1", (Rubric("r", "Confirms.", type="booking"),), "Page 1")
    assert (second.id, second.scenario, second.context) == ("case-2", Scenario("hi", "buy"), "Page 2")
    assert [warning for warning in found.warnings if "eval_case_id" in warning] == [
        f"{NAME}: /eval_cases/0: has no 'eval_case_id'; cases without one are named by their place: case-1, case-2, …"
    ]


def test_a_bare_content_is_read_with_the_right_form() -> None:
    """A reference without `response` around it is the most common mistake."""
    found = cases({"eval_case_id": "a", "prompt": said("?"), "reference": said("Paris", "model")})
    assert found.eval_set is not None
    expected = (found.eval_set.cases[0].conversation or ())[0].final_response
    assert expected is not None
    assert expected.text == "Paris"
    (warning,) = found.warnings
    assert warning.endswith("/reference: is a bare content; write {'response': {'role': 'model', 'parts': [...]}}")


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({"prompt": 5}, "/eval_cases/0/prompt: must be an object, got 5"),
        ({"prompt": said("?"), "agent_data": {"turns": []}}, "/eval_cases/0: must not have both 'prompt' and 'agent"),
        ({"eval_case_id": "a"}, "/eval_cases/0: must have one of 'prompt', 'agent_data' with a user's event, and"),
        ({"prompt": said("?"), "reference": {}}, "/eval_cases/0/reference: must have 'response'"),
        (
            {"prompt": said("?"), "rubric_groups": {"g": {"rubrics": [{"rubric_id": "r"}]}}},
            "/eval_cases/0/rubric_groups/g/rubrics/0/content: must be {'property': {'description': '...'}}",
        ),
        ({"agent_data": {"turn": []}}, "/eval_cases/0/agent_data/turn: is not a known key; did you mean 'turns'?"),
    ],
)
def test_a_mistake_is_named_at_its_place(case: dict[str, Any], problem: str) -> None:
    """Each problem has its place and the allowed form."""
    assert any(one.startswith(problem) for one in problems({"eval_cases": [case]}))


CONFIG = {"metrics_to_run": ["final_response_match", "safety"], "thresholds": {"safety": 1}}


def test_a_config_may_have_attempts() -> None:
    """`attempts` is our own key beside `metrics_to_run`, with the options that an EvalConfig has."""
    config = load(CONFIG | {"attempts": {"count": 4, "pass": "any"}}, "eval_config.json").config
    assert config is not None
    assert config.attempts is not None
    assert (config.attempts.value, config.attempts.pointer) == ({"count": 4, "pass": "any"}, "/attempts")


def test_a_config_has_our_criteria_without_thresholds() -> None:
    """Every metric informs, unless `thresholds` says otherwise."""
    config = load(CONFIG, "eval_config.json").config
    assert config is not None
    assert [(part.name, part.value) for part in config.criteria] == [
        ("final_response_match_v2", {"threshold": None}),
        ("safety_v1", 1),
    ]


def test_metrics_with_adaptive_rubrics_are_read() -> None:
    """Three have criteria of their own, and two have the option, also with a threshold."""
    names = ["general_quality", "text_quality", "instruction_following", "final_response_quality", "tool_use_quality"]
    config = load({"metrics_to_run": names, "thresholds": {"tool_use_quality": 0.5}}, "eval_config.json").config
    assert config is not None
    option = {"rubric_group": "*", "adaptive_rubrics": True}
    assert [(part.name, part.value, part.options) for part in config.criteria] == [
        ("general_quality_v1", {"threshold": None}, {}),
        ("text_quality_v1", {"threshold": None}, {}),
        ("instruction_following_v1", {"threshold": None}, {}),
        ("rubric_based_final_response_quality_v1", {"threshold": None, **option}, {}),
        ("rubric_based_tool_use_quality_v1", 0.5, option),
    ]


def test_a_wrong_threshold_of_a_config_is_placed_where_it_stands() -> None:
    """A threshold stands under `thresholds`, not among the metrics."""
    config = load({"metrics_to_run": ["final_response_match", "safety"], "thresholds": {"safety": 7}}, "c.json").config
    assert config is not None
    assert [part.pointer for part in config.criteria] == ["/metrics_to_run/0", "/thresholds/safety"]


def test_grounding_and_hallucination_are_two_criteria() -> None:
    """Both can stand in one list, because they have different evidence."""
    config = load({"metrics_to_run": ["grounding", "hallucination"]}, "c.json").config
    assert config is not None
    assert [part.name for part in config.criteria] == ["grounding_v1", "hallucinations_v1"]


def test_a_key_chooses_a_rubric_group() -> None:
    """Without a key every group is judged. A threshold keeps its own place."""
    chosen = {"name": "final_response_quality", "metric_spec_parameters": {"rubric_group_key": "booking"}}
    names = ["final_response_quality", "tool_use_quality"]
    thresholds = {"tool_use_quality": 0.5}
    config = load({"metrics_to_run": names, "custom_metrics": [chosen], "thresholds": thresholds}, "c.json").config
    assert config is not None
    assert [(part.value, part.options) for part in config.criteria] == [
        ({"threshold": None, "rubric_group": "booking", "adaptive_rubrics": True}, {}),
        (0.5, {"rubric_group": "*", "adaptive_rubrics": True}),
    ]
    assert config.custom_metrics == ()
    alone = load({"custom_metrics": [chosen]}, "c.json").config
    assert alone is not None
    assert alone.criteria[0].name == "rubric_based_final_response_quality_v1"


def test_a_config_in_yaml_is_read_as_the_same_in_json() -> None:
    """Comments and block style included."""
    text = "metrics_to_run:  # two\n  - final_response_match\n  - safety\nthresholds: {safety: 1}\n"
    assert load(text, "eval_config.yaml").config == load(CONFIG, "eval_config.json").config


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"metrics_to_run": ["safty"]}, "/metrics_to_run/0: the metric 'safty' is not read: known are multi_turn_task"),
        ({"metrics_to_run": []}, "/: must name at least one metric in 'metrics_to_run'"),
        (
            {"metrics_to_run": ["safety"], "thresholds": {"saftey": 1}},
            "/thresholds/saftey: names no metric of 'metrics_to_run'; did you mean 'safety'?",
        ),
        (
            {"metrics_to_run": ["final_response_quality", "final_response_reference_free"]},
            "/metrics_to_run/1: 'final_response_reference_free' is computed as rubric_based_final_response_quality_v1",
        ),
        (
            {"custom_metrics": [{"name": "safety", "metric_spec_parameters": {"rubric_group_key": "g"}}]},
            "/custom_metrics/0/metric_spec_parameters: 'safety' has no rubric groups; allowed for final_response_qual",
        ),
        (
            {"custom_metrics": [{"name": "tool_use_quality", "metric_spec_parameters": {"rubric_group": "g"}}]},
            "/custom_metrics/0/metric_spec_parameters/rubric_group: is not a known key; did you mean 'rubric_group_key",
        ),
        (
            {
                "custom_metrics": [
                    {"name": "tool_use_quality", "prompt_template": "{response}", "metric_spec_parameters": {}}
                ]
            },
            "/custom_metrics/0: 'tool_use_quality' is a metric of agents-cli, and cannot have 'prompt_template'",
        ),
        ({"custom_metrics": [{"name": "m", "execution": "remote"}]}, "/custom_metrics/0/execution: 'm' runs in a cl"),
    ],
)
def test_what_a_config_cannot_have_is_named(config: dict[str, Any], problem: str) -> None:
    """Nothing that a config asks for is left out in silence."""
    assert any(one.startswith(problem) for one in problems(config, "eval_config.json"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("metrics_to_run: [safety", "line 1, column 24: is not YAML: "),
        (
            "metrics_to_run: [a]\nmetrics_to_run: [b]\n",
            "line 1, column 1: 'metrics_to_run' stands there twice; keep one",
        ),
        ("a: &x [1]\nb: *x\n", "line 1, column 4: is repeated by an alias (*name); write it out"),
        ("a: 2026-01-01\n", "line 1, column 4: must be a value that JSON has, got '2026-01-01'; quote it"),
        ("- " * 2000 + "x", "is nested too deeply"),
    ],
)
def test_yaml_that_cannot_be_read_names_its_place(text: str, problem: str) -> None:
    """Line and column, as for JSON."""
    (found,) = problems(text, "eval_config.yaml")
    assert found.startswith(problem)


def test_losses_are_named() -> None:
    """Expected calls have no place in a dataset."""
    turn = {
        "user_content": said("hi"),
        "final_response": said("x"),
        "intermediate_data": {"tool_uses": [{"name": "f"}]},
    }
    document = {"eval_cases": [{"eval_id": "a", "conversation": [turn, turn], "session_input": {"app_name": "x"}}]}
    eval_set = load(document).eval_set
    assert eval_set is not None
    _, losses = dataset(eval_set)
    assert losses == [
        "/eval_cases/0: the expected calls of invocation 1 (f) have no place in a dataset",
        "/eval_cases/0: the expected reply of invocation 1 becomes history: only the last reply has a reference",
        "/eval_cases/0: the expected calls of invocation 2 (f) have no place in a dataset",
        "/eval_cases/0: the session input has no place in a dataset",
    ]


def again(found: Loaded) -> Loaded:
    """A dataset that was written and read."""
    assert found.eval_set is not None
    content, losses = dataset(found.eval_set, found.recordings)
    assert losses == []
    return read(content, found.path)


@pytest.mark.shared
def test_every_sample_is_read_and_written_as_the_same(shared: Path) -> None:
    """All datasets of the folder survive a round trip, also through an eval set of ADK; the config is read."""
    files = sorted((shared / "data" / "agents-cli").glob("*-dataset.json"))
    assert len(files) == 9
    for file in files:
        found = read(file.read_bytes(), file.name)
        assert found.eval_set is not None
        written = again(found)
        assert written.eval_set == found.eval_set, file
        assert [one.trace for one in written.recordings] == [one.trace for one in found.recordings], file
        assert read(dumps(found.eval_set), file.name).eval_set == found.eval_set, file
    text = (shared / "data" / "agents-cli" / "eval_config.yaml").read_bytes()
    loaded = read(text, "evals/eval_config.yaml")
    assert loaded.config is not None
    (metric,) = loaded.config.custom_metrics
    assert metric.value == {"custom_function_file": "evals/response_quality.py"}
    (warning,) = loaded.warnings
    assert "'agent_turn_count' is not in 'metrics_to_run', so it is not used" in warning


def test_a_recorded_conversation_is_written_as_the_same() -> None:
    """Two turns with calls: the events keep their authors and their order."""
    events = [event("user", {"text": "a"}), event("bot", CALL), event("bot", RESULT), event("bot", {"text": "b"})]
    found = cases({"eval_case_id": "x", "agent_data": {"turns": [{"events": [*events, *events]}]}})
    (before,), (after,) = found.recordings, again(found).recordings
    assert after.trace == before.trace
    assert isinstance((after.trace.invocations[1].steps or ())[0], ToolCall)


def test_responses_without_a_prompt_are_a_problem_and_no_crash() -> None:
    """Nobody can know which message they answer."""
    (found,) = problems(
        {"eval_cases": [{"eval_case_id": "a", "responses": [{"response": {"parts": [{"text": "x"}]}}]}]}
    )
    assert "must have one of 'prompt'" in found
