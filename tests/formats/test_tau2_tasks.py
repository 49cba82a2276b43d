"""The tasks of tau2-bench are read as cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial import api
from fairtrial.errors import FormatError
from fairtrial.formats.loaded import Loaded
from fairtrial.records.case import EvalCase, Persona, Scenario
from fairtrial.records.trace import ToolCall

INSTRUCTIONS = {
    "domain": "garden",
    "reason_for_call": "You want to swap two rose bushes for ferns.",
    "known_info": "You are Ada Moss.",
    "unknown_info": None,
    "task_instructions": "Refuse a voucher.",
}
ACTIONS = [
    {"action_id": "0", "name": "find_order", "arguments": {"name": "Ada Moss"}, "info": None},
    {"action_id": "1", "requestor": "user", "name": "open_gate", "arguments": {}},
    {"action_id": "2", "requestor": "assistant", "name": "swap", "arguments": {"to": "fern"}, "compare_args": ["to"]},
]


def task(**criteria: Any) -> dict[str, Any]:
    """A task with evaluation criteria."""
    return {
        "id": "[swap]two",
        "description": {"purpose": "A swap", "relevant_policies": None, "notes": None},
        "user_scenario": {"persona": "Speaks slowly.\n", "instructions": INSTRUCTIONS},
        "ticket": "Swap the bushes.",
        "initial_state": None,
        "evaluation_criteria": criteria or None,
        "annotations": None,
    }


def loaded(*tasks: Any) -> Loaded:
    """The content of a file of tasks."""
    return load(json.dumps(tasks), "garden.json")


def resolve_case(one: dict[str, Any]) -> EvalCase:
    """The case of a task."""
    eval_set = loaded(one).eval_set
    assert eval_set is not None
    return eval_set.cases[0]


def test_a_task_is_a_scenario() -> None:
    """The instructions are the plan, under headings; the persona describes the user."""
    content = loaded(task())
    assert content.kind == "tau2-bench tasks"
    assert content.eval_set is not None
    assert content.eval_set.cases == (
        EvalCase(
            "[swap]two",
            scenario=Scenario(
                "Hello, I need help.",
                "Why you call:\nYou want to swap two rose bushes for ferns.\n\nWhat you know:\nYou are Ada Moss.\n\n"
                "How you act:\nRefuse a voucher.",
                Persona("tau2-bench", "Speaks slowly."),
            ),
        ),
    )


def test_instructions_may_be_a_text() -> None:
    """Then the text is the plan."""
    one = {"id": 7, "user_scenario": {"instructions": "Ask for ferns."}}
    assert resolve_case(one) == EvalCase("7", scenario=Scenario("Hello, I need help.", "Ask for ferns."))


def test_gold_actions_of_the_agent_are_expected() -> None:
    """Those of the user are left out, and notes say so."""
    content = loaded(task(actions=ACTIONS))
    assert content.eval_set is not None
    assert content.eval_set.cases[0].expected_calls == (
        ToolCall("find_order", {"name": "Ada Moss"}),
        ToolCall("swap", {"to": "fern"}),
    )
    assert [note.partition(":")[0] for note in content.notes] == [
        "1 task with gold actions of the user",
        "1 task with compare_args",
    ]


@pytest.mark.parametrize(
    ("criteria", "state"),
    [
        ({"actions": []}, {"tau2_db_match": True}),
        (
            {"actions": [], "reward_basis": ["DB", "ENV_ASSERTION"]},
            {"tau2_db_match": True, "tau2_env_assertions": True},
        ),
        ({"env_assertions": [], "reward_basis": ["ENV_ASSERTION"]}, {"tau2_env_assertions": True}),
        ({"actions": [], "reward_basis": ["COMMUNICATE"]}, None),
        ({"nl_assertions": ["The agent is kind."]}, None),
        ({}, None),
    ],
)
def test_the_reward_asks_for_a_state(criteria: dict[str, Any], state: dict[str, bool] | None) -> None:
    """DB and ENV_ASSERTION become a final state, if there is anything to compare. The default basis has DB."""
    assert resolve_case(task(**criteria)).final_session_state == state


def test_texts_and_assertions_are_rubrics() -> None:
    """Each says whether the reward counts it: by default what the agent must say, not the assertions."""
    case = resolve_case(task(communicate_info=["12 ferns"], nl_assertions=["The agent is kind."]))
    assert [(one.id, one.text, one.description, one.type) for one in case.rubrics] == [
        (
            "communicate_info_1",
            "The agent tells the user this: 12 ferns",
            "COMMUNICATE, part of the reward",
            "TRAJECTORY_QUALITY",
        ),
        ("nl_assertions_1", "The agent is kind.", "NL_ASSERTION, not part of the reward", "TRAJECTORY_QUALITY"),
    ]


def test_a_task_in_the_middle_of_a_conversation_is_left_out() -> None:
    """A scenario cannot begin after messages, and a warning says so."""
    late = task() | {"id": "late", "initial_state": {"message_history": [{"role": "user", "content": "Hi"}]}}
    content = loaded(task(), late)
    assert content.eval_set is not None
    assert [case.id for case in content.eval_set.cases] == ["[swap]two"]
    assert content.warnings == ("garden.json: /1: begins in the middle of a conversation, and is left out",)


def test_a_value_of_a_wrong_type_is_named() -> None:
    """The message shows the place."""
    with pytest.raises(FormatError, match=r"/1: must be a task .*, got 7"):
        loaded(task(), 7)
    with pytest.raises(FormatError, match="/0/evaluation_criteria/actions/0: must be an action"):
        loaded(task(actions=[{"name": 1}]))
    with pytest.raises(FormatError, match="/0/evaluation_criteria/nl_assertions/0: must be a text"):
        loaded(task(nl_assertions=[7]))


def test_tasks_are_converted(tmp_path: Path) -> None:
    """The eval set of ADK holds the same cases."""
    path = tmp_path / "garden.json"
    path.write_text(json.dumps([task(actions=ACTIONS, nl_assertions=["The agent is kind."])]))
    converted = api.convert(path)
    assert converted.format == "adk"
    again = load(converted.content.decode(), "garden.evalset.json").eval_set
    assert again is not None
    assert again.cases[0] == resolve_case(task(actions=ACTIONS, nl_assertions=["The agent is kind."]))
