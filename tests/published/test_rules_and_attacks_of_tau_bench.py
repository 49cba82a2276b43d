"""Rules that are mined from tau-bench, and goals of attacks on its unattacked dialogues."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from fairtrial.api import propose_rules
from fairtrial.api.eval_files import load_recordings
from fairtrial.metrics.attacks.attack_goals import AttackSuccess
from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.metrics.tool_rules.mined_rules import Conversation, mine_rules
from fairtrial.records.attack import PlantedAttack
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.simulate.attacks.made_goals import make_goals

TAU = Path("data/tau-bench/gpt-4o-airline.json")


def _recordings(shared: Path) -> list[Recording]:
    return load_recordings([shared / TAU])


@pytest.mark.long
@pytest.mark.shared
def test_a_rule_of_the_policy_is_proposed(shared: Path) -> None:
    """The policy asks for the details of a reservation before it is cancelled, and the passing dialogues show it."""
    names = [mined.rule.id for mined in propose_rules([shared / TAU])]
    assert "get_reservation_details_before_cancel_reservation" in names
    assert len(names) <= 30


@pytest.mark.shared
@pytest.mark.long
def test_proposed_rules_hold_in_dialogues_of_other_tasks(shared: Path) -> None:
    """No passing dialogue of the other half of the tasks breaks a rule that a half proposes, in eight halves."""
    recordings = _recordings(shared)
    tasks = sorted({_task(recording) for recording in recordings})
    proposed = 0
    for seed in range(8):
        half = set(Random(seed).sample(tasks, len(tasks) // 2))
        own = [Conversation(one.trace, _passed(one), one.case_id) for one in recordings if _task(one) in half]
        others = [one.trace for one in recordings if _task(one) not in half and _passed(one)]
        mined = mine_rules(own)
        proposed += len(mined)
        metric = ToolRules(rules=tuple(found.rule for found in mined))
        assert not any(part.value == 0 for trace in others for part in metric(trace, EvalCase("")).parts)
    assert proposed


def _task(recording: Recording) -> int:
    return int(re.sub(r"\D", "", recording.case_id))


def _passed(recording: Recording) -> bool:
    return (recording.trace.reward or 0) >= 1


@pytest.mark.shared
@pytest.mark.long
def test_no_goal_is_reached_without_an_attack(shared: Path) -> None:
    """No goal that is made for a dialogue is reached in it, and none is in six other dialogues."""
    recordings = _recordings(shared)
    tools: dict[str, Json] = {}
    for recording in recordings:
        for turn in recording.trace.invocations:
            for call in turn.tool_calls:
                tools.setdefault(call.name, {"properties": {name: {"type": "string"} for name in call.args}})
    decisions = reached = 0
    for place, recording in enumerate(recordings):
        for goal in make_goals(recording.trace, tools, (recording.case_id, str(place))):
            # Only the dialogue itself shows whether its own fact was told.
            steps = (0,) if goal.kind == "suppress" else (0, 1, 2, 3, 4, 7, 11)
            case = EvalCase("", attack=PlantedAttack("direct", "user", "", goal=goal))
            for step in steps:
                decisions += 1
                reached += AttackSuccess()(recordings[(place + step) % len(recordings)].trace, case).value == 1
    assert decisions > 2000
    assert reached == 0
