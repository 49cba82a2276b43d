"""Checks of a workspace and the use of skills are scored from a recording alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders import trace, turn, unknown_turn
from fairtrial.metrics.skill_use import SkillTrigger, WorkspaceChecks, used_skills
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.state_delta import CheckResult, StateDelta
from fairtrial.records.trace import Durations, Invocation, Message, Step, ToolCall, ToolResult, Trace, Usage
from fairtrial.records.workspace import Workspace, WorkspaceCheck

DONE = Invocation(
    Message("Go"),
    (ToolCall("read"), ToolCall("edit"), ToolCall("read")),
    Message("High tide is at 12:30."),
    usages=(Usage(90, 10),),
    durations=Durations(4.0),
)


def score(*checks: WorkspaceCheck, of: Trace | None = None) -> list[float | None]:
    """The values of checks."""
    case = EvalCase("c", workspace=Workspace(checks=checks))
    return [part.value for part in WorkspaceChecks()(of or trace(DONE), case).parts]


def test_tokens_are_not_decided_if_a_call_does_not_report_them() -> None:
    """The sum of the others would be too low."""
    some = msgspec.structs.replace(DONE, usages=(Usage(90, 10), Usage()))
    assert score(WorkspaceCheck("tokens", at_most=100), of=trace(some)) == [None]


def test_tokens_above_the_limit_fail_even_if_a_call_does_not_report_its_own() -> None:
    """What is not reported can only add to the sum."""
    some = msgspec.structs.replace(DONE, usages=(Usage(90, 10), Usage()))
    assert score(WorkspaceCheck("tokens", at_most=99), of=trace(some)) == [0]
    assert score(WorkspaceCheck("tokens", at_least=101, at_most=200), of=trace(some)) == [None]


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (WorkspaceCheck("seconds", at_most=9), None),
        (WorkspaceCheck("seconds", at_most=2), 0),
        (WorkspaceCheck("seconds", at_least=3), 1),
        (WorkspaceCheck("seconds", at_least=4), None),
        (WorkspaceCheck("seconds", at_least=2, at_most=9), None),
    ],
)
def test_a_turn_without_a_time_leaves_only_a_limit_that_the_others_pass(
    check: WorkspaceCheck, value: float | None
) -> None:
    """The turn may have taken any time, and can only add to the three seconds of the other."""
    timed = msgspec.structs.replace(DONE, durations=Durations(3.0))
    untimed = msgspec.structs.replace(DONE, durations=None)
    assert score(check, of=trace(timed, untimed)) == [value]


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (WorkspaceCheck("contains", texts=("12:30", "tide")), 1),
        (WorkspaceCheck("contains", texts=("12:30", "low")), 0),
        (WorkspaceCheck("not_contains", texts=("LOW",)), 1),
        (WorkspaceCheck("not_contains", texts=("TIDE",), ignore_case=True), 0),
        (WorkspaceCheck("matches", pattern=r"\d\d:\d\d"), 1),
        (WorkspaceCheck("not_matches", pattern=r"\d"), 0),
        (WorkspaceCheck("json"), 0),
        (WorkspaceCheck("calls", at_most=3), 1),
        (WorkspaceCheck("calls", at_most=1, tools=("read",)), 0),
        (WorkspaceCheck("tokens", at_most=100), 1),
        (WorkspaceCheck("tokens", at_most=99), 0),
        (WorkspaceCheck("seconds", at_least=5), 0),
        (WorkspaceCheck("uses_tools", tools=("edit", "read")), 1),
        (WorkspaceCheck("uses_tools", tools=("edit", "read"), order="in_order"), 1),
        (WorkspaceCheck("uses_tools", tools=("edit", "edit")), 0),
        (WorkspaceCheck("uses_tools", tools=("edit", "read"), order="exact"), 0),
        (WorkspaceCheck("uses_tools", tools=("edit", "read", "edit"), order="in_order"), 0),
        (WorkspaceCheck("avoids_tools", tools=("bash",)), 1),
        (WorkspaceCheck("avoids_tools", tools=("bash", "edit")), 0),
        (WorkspaceCheck("uses_skills", tools=("tides",)), 0),
    ],
)
def test_checks_of_replies_and_steps_are_decided(check: WorkspaceCheck, value: float) -> None:
    """A check without a path is about the reply, or about the steps."""
    assert score(check) == [value]


def test_checks_of_files_come_from_the_recording() -> None:
    """The result that was found in the workspace counts, and a check that was not decided there has no value."""
    held = WorkspaceCheck("exists", path="a.md")
    state = StateDelta(checks=(CheckResult(held, True, "the file is there"),), sandbox="none").state
    recording = Trace((DONE,), final_state=state)
    assert score(held, WorkspaceCheck("exists", path="b.md"), of=recording) == [1, None]


def test_a_reply_that_was_not_recorded_decides_nothing() -> None:
    """A withheld text is not an empty text."""
    withheld = Invocation(Message("Go"), (), Message("", withheld="not captured"))
    assert score(WorkspaceCheck("not_contains", texts=("x",)), of=trace(withheld)) == [None]


@pytest.mark.parametrize("kind", ["calls", "avoids_tools", "uses_tools", "uses_skills"])
def test_texts_alone_decide_no_check_of_calls(kind: Any) -> None:
    """Nobody knows which tools and skills were used."""
    check = WorkspaceCheck(kind, tools=("search",), at_most=3 if kind == "calls" else None)
    assert score(check, of=trace(unknown_turn(reply="ok"))) == [None]
    used = EvalCase("c", workspace=Workspace(skill="tides", triggers=False, variant="with"))
    assert SkillTrigger()(trace(unknown_turn(reply="ok")), used).value is None


def test_a_case_without_checks_does_not_apply() -> None:
    """Nothing is scored where nothing was asked."""
    assert not WorkspaceChecks()(trace(DONE), EvalCase("c")).applicable


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ((ToolCall("Skill", {"skill": "tides"}),), ["tides"]),
        ((ToolCall("Skill", {"command": "/plugin:tides now"}),), ["tides"]),
        ((ToolCall("activate_skill", {"name": "tides"}),), ["tides"]),
        ((ToolCall("Read", {"file_path": ".claude/skills/tides/SKILL.md"}),), ["tides"]),
        ((ToolCall("command_execution", {"command": "cat .agents/skills/tides/SKILL.md"}),), ["tides"]),
        ((ToolCall("shell", {"command": ["sed", "-n", "1p", "skills/tides/SKILL.md"]}),), ["tides"]),
        ((ToolCall("Read", {"file_path": "SKILL.md.bak"}),), []),
        ((ToolCall("Write", {"file_path": "a", "content": "see tides/SKILL.md"}),), []),
        ((ToolCall("Skill", {"skill": "tides"}, "t"), ToolResult("Skill", "no", "t", is_error=True)), []),
        ((ToolCall("Skill", {"skill": 3}),), []),
    ],
)
def test_the_use_of_a_skill_is_seen_in_calls(steps: tuple[Step, ...], names: list[str]) -> None:
    """The tool of the program, or a read of SKILL.md, is a use. A failed call and a mention are not."""
    assert list(used_skills(trace(turn(*steps, reply="ok")))) == names


@pytest.mark.parametrize(
    ("used", "triggers", "variant", "value"),
    [
        ("tides", True, "with", 1),
        ("tides", False, "with", 0),
        ("other", True, "with", 0),
        ("other", False, "with", 1),
        ("tides", True, "without", None),
        ("tides", None, "with", None),
    ],
)
def test_a_skill_has_to_fire_exactly_when_it_should(
    used: str, triggers: Json, variant: str, value: float | None
) -> None:
    """Both mistakes count, and without the skill there is nothing to see."""
    case = EvalCase("c", workspace=Workspace(skill="tides", triggers=triggers, variant=variant))
    assert SkillTrigger()(trace(turn(ToolCall("Skill", {"skill": used}), reply="ok")), case).value == value
