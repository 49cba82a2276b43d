"""Every criterion of the catalog, held against one small conversation, with judges that answer from a script."""

from __future__ import annotations

import asyncio
from typing import Any

from builders import call
from fairtrial.metrics.entries import CATALOG
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attack import AttackGoal, PlantedAttack
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.reply import Prompt
from fairtrial.records.result import CaseResult, Criterion
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Durations, Invocation, Message, ToolResult, Trace, Usage
from fairtrial.records.workspace import Workspace, WorkspaceCheck
from fairtrial.scoring import score_case
from judged import Bench

RUBRICS = (Rubric("concise", "The reply is short."), Rubric("polite", "The reply is polite."))
SIMULATED = "per_turn_user_simulator_quality_v1"


def _turn(number: int, *, reply: str) -> Invocation:
    steps = (call("look", place=number), ToolResult("look", "found"), Message("One moment.", "agent"))
    usages, durations = (
        (Usage(100 * number, 10, model="gpt-4o"),),
        Durations(total=float(number), first_token=number / 2),
    )
    return Invocation(Message(f"question {number}"), steps, Message(reply, "agent"), usages=usages, durations=durations)


TRACE = Trace(
    (_turn(1, reply="It is sunny, at place 1. Bring water."), _turn(2, reply="It is cold, at place 7.")),
    final_state={"place": 2},
)
EXPECTED = (_turn(1, reply="It is sunny, at place 1. Bring water."), _turn(3, reply="It rains, at place 3."))


WORKSPACE = Workspace(
    skill="tides",
    triggers=False,
    checks=(WorkspaceCheck("contains", texts=("cold",)), WorkspaceCheck("avoids_tools", tools=("look",))),
)

ATTACK = PlantedAttack("persistent_user", "user", "Fly!", goal=AttackGoal("call", "fly"))


def answer(item: str, prompt: Prompt) -> str | dict[str, Any]:
    """The first allowed answer; the last one to the last of several items, so that parts differ."""
    assert prompt.schema is not None
    fields = prompt.schema["properties"]["answers"]["items"]["properties"]
    items, answers = fields["id"]["enum"], fields["answer"]["enum"]
    if answers[0] == "supported":
        return "not_applicable" if item == "s1" else "unsupported"
    return str(answers[1]) if len(items) > 1 and item == items[-1] else str(answers[0])


def criterion(name: str, **options: Any) -> Criterion:
    """A criterion of the catalog with a threshold that 0.7 passes; `options` are fields of its metric."""
    entry = CATALOG[name]
    if entry.judged:
        options["judge"] = Bench(answer, rubrics=("It is short.", "It is polite.")).judge
    if name.startswith("rubric_based"):
        options["rubrics"] = RUBRICS
    if name == "checks_v1":
        options["checks"] = ({"contains": "sunny"}, {"starts_with": "It"})
    if name == "tool_rules_v1":
        options["rules"] = ({"id": "look", "at_least": {"call": "look", "count": 1}}, {"id": "fly", "never": "fly"})
    if name == "trace_value_v1":
        options |= {"confidence": 0.8, "success": True}
    metric = entry.metric(**options)
    return Criterion(name, metric, 0.7, lower_is_better=entry.lower_is_better, range=entry.range, aggregation="parts")


def planned(*criteria: Criterion) -> PlannedCase:
    """The case, which is a scenario if the criterion on simulated users is to score it."""
    scenario = Scenario("question 1", "asks twice") if criteria[0].name == SIMULATED else None
    return PlannedCase(
        0,
        "c",
        EvalCase(
            "c",
            None if scenario else EXPECTED,
            scenario,
            context="Orders are shipped on Mondays.",
            final_session_state={"place": 3},
            workspace=WORKSPACE,
            attack=ATTACK,
        ),
        criteria,
        "set",
    )


def result(*criteria: Criterion) -> CaseResult:
    """The case scored by criteria."""
    return asyncio.run(score_case(planned(*criteria), RECORDING))


RECORDING = Recording("c", TRACE)
