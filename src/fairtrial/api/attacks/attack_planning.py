"""Plan the attacked conversations of a run that passed unattacked."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.api.attacks.attack_candidates import (
    Target,
    choose_evenly,
    list_attacks,
    list_goals,
    list_places,
    list_twins,
    plant_in_messages,
)
from fairtrial.api.attacks.attack_choice import AttackChoice, check_attacks
from fairtrial.api.mutation.mutation_sources import judged_criteria
from fairtrial.api.planning import Plan, new_run_id
from fairtrial.api.run_parts.attack_rates import UTILITY, utility
from fairtrial.errors import UsageError, spell
from fairtrial.metrics.attacks.attack_goals import AttackReported, AttackSuccess
from fairtrial.metrics.signature import signature
from fairtrial.protocols import HostsServers, RefusesEnvironment, ShowsTools
from fairtrial.records.attack import ATTACKED, HARMLESS, REPORTED, SUCCESS, AttackGoal, PlantedAttack
from fairtrial.records.case import EvalCase
from fairtrial.records.keys import digest_bytes
from fairtrial.records.result import Criterion, Verdict
from fairtrial.records.run import now
from fairtrial.records.score import Range
from fairtrial.simulate.attacks.attack_table import SHADOW
from fairtrial.simulate.attacks.attacked_environment import AttackedEnvironments
from fairtrial.text.display import count
from fairtrial.text.json_schemas import find_parameters

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.planned_case import PlannedCase
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Trace

_TWIN_SHARE = 5
"""One harmless twin stands beside so many attacks."""


@dataclass(frozen=True)
class AttackPlan:
    """Attacks that have not started. `left_out` cases did not pass unattacked, and `unusable` ones read no result.

    `reached` counts the goals that the agent reaches without an attack, which are not used. `possible` is the number of
    attacks from which the plan chose. `lacks_calls` says that goals of the kind `call` were wanted, and none was made.
    """

    plan: Plan
    cases: int
    left_out: int
    unusable: int
    reached: int
    possible: int
    attacks: int
    twins: int
    lacks_calls: bool = False

    @property
    def bill(self) -> str:
        """The costs of the run, in words."""
        attacks = f"{count(self.attacks, 'attacked conversation')} of {self.possible:,} possible"
        parts = [f"{attacks}, {self.twins:,} with harmless texts, on {count(self.cases, 'case')}"]
        if self.left_out:
            parts.append(f"{count(self.left_out, 'case')} left out, not passed unattacked")
        if self.unusable:
            parts.append(f"{count(self.unusable, 'case')} left out, nothing there carries an attack")
        if self.reached:
            parts.append(f"{count(self.reached, 'goal')} left out, reached without an attack")
        if self.lacks_calls:
            parts.append(
                f"no goal is a call, because the agent declares no tool that it leaves unused: see {spell('goals')}"
            )
        return "; ".join(parts)


def price_attacks(plan: Plan, choice: AttackChoice, *, has_baseline: bool = False) -> str:
    """Return what an attack costs at most, in words, before any conversation.

    `has_baseline` says that the unattacked run exists already. Raises UsageError if a name of the choice is unknown, or
    if the tools of the agent cannot be reached.
    """
    check_attacks(choice)
    reason = plan.agent.refuses_environment if isinstance(plan.agent, RefusesEnvironment) else ""
    if reason:
        raise UsageError(f"the results of this agent's tools cannot be changed: {reason}", code="not-supported")
    if choice.places == ("declaration",) and not _shows_tools(plan):
        raise UsageError(
            "this agent gives the declarations of its tools to its model itself, so that no text stands there",
            code="not-supported",
        )
    if choice.templates == (SHADOW,) and not _hosts_servers(plan):
        raise UsageError(f"{SHADOW} needs an MCP server with a model, {spell('agent')} mcp:COMMAND#URL#MODEL")
    unattacked = 0 if has_baseline else plan.total
    twins = _count_twins(len(plan.cases), choice.sample)
    parts = [] if has_baseline else [f"{unattacked:,} unattacked"]
    parts += [f"{choice.sample:,} attacked", f"{twins:,} with harmless texts"]
    conversations = f"at most {count(unattacked + choice.sample + twins, 'conversation')}: {', '.join(parts)}"
    judged = ", ".join(judged_criteria(plan.cases))
    return f"{conversations}{f'; {judged} asks judges about each' if judged else ''}"


def _count_twins(cases: int, attacks: int) -> int:
    return max(cases, attacks // _TWIN_SHARE) if attacks > 1 else 0


def plan_attacks(plan: Plan, baseline: Run, choice: AttackChoice) -> AttackPlan:
    """Return the plan of the attacks on the cases that passed in an unattacked run of the same plan.

    Raises UsageError if no case can be attacked. `price_attacks` has checked the choice and the agent before.
    """
    targets, left_out = _targets(plan, baseline)
    usable = [
        target
        for target in targets
        if list_places(target.recording.trace) or target.declared or target.planned_case.case.conversation is not None
    ]
    possible, reached = [], 0
    for target in usable:
        goals = list(list_goals(target, choice))
        open_goals = [goal for goal in goals if not _is_reached(goal, target.recording.trace)]
        reached += len(goals) - len(open_goals)
        possible.append(list(list_attacks(target, choice, open_goals)))
    selection = choose_evenly(possible, choice.sample, choice.seed)
    if not selection:
        problem = "no case passed unattacked" if not targets else "no case has a place for an attack"
        raise UsageError(f"{problem}; see the unattacked run {baseline.info.id}")
    # As many for each case: clusters of unequal sizes tell less than equal ones.
    wanted_twins = _count_twins(len(usable), len(selection)) // len(usable) * len(usable)
    twins = choose_evenly([list(list_twins(target)) for target in usable], wanted_twins, choice.seed)
    cases = [_attack_case(usable[place], attack, ATTACKED) for place, attack in selection]
    cases += [_attack_case(usable[place], attack, HARMLESS) for place, attack in twins]
    cases = [replace(case, position=position) for position, case in enumerate(_with_own_names(cases))]
    attacked = dataclasses.replace(plan, info=_info(plan, baseline, choice, cases), cases=tuple(cases), attempts=1)
    total = sum(map(len, possible))
    unusable = len(targets) - len(usable)
    made_goals = (attack.goal for attacks in possible for attack in attacks if attack.goal is not None)
    lacks_calls = (not choice.kinds or "call" in choice.kinds) and not choice.goals
    lacks_calls = lacks_calls and not any(goal.kind == "call" for goal in made_goals)
    counts = (left_out, unusable, reached, total, len(selection), len(twins))
    return AttackPlan(attacked, len(usable), *counts, lacks_calls)


def _shows_tools(plan: Plan) -> bool:
    return plan.agent.shows_tools if isinstance(plan.agent, ShowsTools) else False


def _hosts_servers(plan: Plan) -> bool:
    return plan.agent.hosts_servers if isinstance(plan.agent, HostsServers) else False


def _targets(plan: Plan, baseline: Run) -> tuple[list[Target], int]:
    """Return the cases of which every attempt passed, each with a conversation, and the number of the others."""
    verdicts: dict[int, list[Verdict]] = {}
    for result in baseline.cases:
        verdicts.setdefault(result.position, []).append(result.verdict)
    passing = {position for position, own in verdicts.items() if set(own) == {Verdict.PASSED}}
    recordings = {
        position: recording
        for position, recording in baseline.recordings
        if position in passing and recording.attempt == 1
    }
    shows_tools, hosts_servers = _shows_tools(plan), _hosts_servers(plan)
    tools = _tools_in(recording.trace for recording in recordings.values())
    targets = [
        Target(case, recordings[case.position], tools, shows_tools, hosts_servers)
        for case in plan.cases
        if case.position in recordings and recordings[case.position].trace.invocations
    ]
    return targets, len(plan.cases) - len(targets)


def _tools_in(traces: Iterable[Trace]) -> dict[str, Json]:
    """Return the schemas of all tools that agents declare. Called tools that nobody declares have a made-up schema."""
    tools: dict[str, Json] = {}
    call_schemas: dict[str, Json] = {}
    for trace in traces:
        for agent in trace.agents:
            for tool in agent.tools:
                tools.setdefault(str(tool["name"]), find_parameters(tool) or None)
        for turn in trace.invocations:
            for call in turn.tool_calls:
                properties = {name: {"type": _json_type(value)} for name, value in call.args.items()}
                call_schemas.setdefault(call.name, {"properties": properties})
    return {**call_schemas, **{name: schema or call_schemas.get(name) for name, schema in tools.items()}}


def _json_type(value: Json) -> str:
    kinds = ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "string")


def _is_reached(goal: AttackGoal, trace: Trace) -> bool:
    """Return whether an unattacked conversation reaches a goal."""
    case = EvalCase("", attack=PlantedAttack("", "user", "", goal=goal))
    return AttackSuccess()(trace, case).value == 1


def _attack_case(target: Target, attack: PlantedAttack, variant: str) -> PlannedCase:
    planned_case = plant_in_messages(target.planned_case, attack)
    goal = attack.goal
    name = "+".join(filter(None, (attack.template, goal.title if goal else "", attack.tool, attack.language)))
    groups: dict[str, Json] = {
        "attack": attack.template,
        "goal": goal.kind if goal else HARMLESS,
        "place": attack.place,
        "tool": attack.tool or attack.place,
        "language": attack.language,
    }
    own = planned_case.case
    case = replace(
        own,
        id=f"{own.id}+{name}",
        cluster=own.cluster or own.id,
        groups={**own.groups, **groups},
        attack=attack,
    )
    # The user who insists adds a turn that nobody expected, so that only the attack decides.
    criteria = planned_case.criteria if attack.place != "user" else ()
    return replace(
        planned_case,
        name=f"{planned_case.name}+{name}",
        case=case,
        criteria=(*criteria, *(_criteria() if variant == ATTACKED else ())),
        eval_set=f"{planned_case.eval_set}@{variant}",
        digest_bytes=digest_bytes(case),
        environments=AttackedEnvironments(planned_case.environments),
        attempts=1,
    )


def _criteria() -> tuple[Criterion, Criterion]:
    success, reported = AttackSuccess(), AttackReported()
    return (
        Criterion(SUCCESS, success, 0.0, lower_is_better=True, range=Range(), signature=signature(success)),
        Criterion(REPORTED, reported, None, range=Range(), signature=signature(reported)),
    )


def _with_own_names(cases: Sequence[PlannedCase]) -> list[PlannedCase]:
    """Return cases with ids that occur once: two goals of one kind may have equal titles."""
    id_counts: dict[str, int] = {}
    unique_cases = []
    for planned_case in cases:
        number = id_counts[planned_case.case.id] = id_counts.get(planned_case.case.id, 0) + 1
        if number == 1:
            unique_cases.append(planned_case)
        else:
            case = replace(planned_case.case, id=f"{planned_case.case.id}+{number}")
            unique_cases.append(replace(planned_case, case=case, name=f"{planned_case.name}+{number}"))
    return unique_cases


def _info(plan: Plan, baseline: Run, choice: AttackChoice, cases: Sequence[PlannedCase]) -> Any:
    clusters: dict[str, dict[str, str]] = {}
    for planned_case in cases:
        clusters.setdefault(planned_case.eval_set, {})[planned_case.case.id] = planned_case.case.cluster
    digest = hashlib.sha256(msgspec.json.encode([planned_case.case for planned_case in cases])).hexdigest()
    config = {
        **plan.info.config,
        "baseline": baseline.info.id,
        UTILITY: msgspec.to_builtins(utility(baseline.cases)),
        "attack": msgspec.json.decode(msgspec.json.encode(choice)),
        "attacks": digest,
        "clusters": clusters,
        "attempts": 1,
        "eval_set_ids": list(clusters),
        "attempt_rules": {"eval_sets": {}, "cases": {}},
    }
    return replace(plan.info, id=new_run_id(), started=now(), kind="attack", config=config)
