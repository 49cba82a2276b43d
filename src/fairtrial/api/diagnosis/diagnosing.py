"""Repeat failed cases with and without a suspect, and name the side at fault with a probability."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.diagnosis.suspects import FailedCase, Suspect, collect_answers, find_suspects
from fairtrial.protocols import RefusesEnvironment
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.stats.beta import probability_larger
from fairtrial.text.display import count, shorten

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.planned_case import PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.summary import Summary
    from fairtrial.store import Store

CERTAIN = 0.975
"""The probability from which on a side is named."""
_PASSED = (Verdict.PASSED, Verdict.INFORMATIONAL)
RunPlan = Callable[["Plan"], Awaitable[Sequence[CaseResult]]]
"""Runs a plan that is stored nowhere, and returns its results."""


async def diagnose(
    plan: Plan, store: Store, summary: Summary, run_plan: RunPlan, on_price: Callable[[str], None]
) -> list[str]:
    """Return a sentence about each failed case with a suspect: the side that its removal names.

    Each failed case is repeated `plan.diagnose` times as it is, and as often without each suspect. The attempts that
    failed do not count, because they were chosen for their failure. `on_price` receives the price before that.
    """
    failed = _failed_cases(plan, store)
    suspects = [(own, _removable(plan, find_suspects(own))) for own in failed]
    notes = [
        f"diagnose: {_name(own)}: not decided: {suspect.removal}"
        for own, several in suspects
        for suspect in several
        if suspect.case is None
    ]
    tests = [(own, [suspect for suspect in several if suspect.case is not None]) for own, several in suspects]
    tests = [(own, several) for own, several in tests if several]
    if not tests:
        return notes or ([] if not failed else ["diagnose: no failed attempt has a suspect beside the agent"])
    on_price(_price(plan, summary, [len(several) for _, several in tests]))
    for own, several in tests:
        control = await _count_passes(plan, own.planned_case, run_plan)
        counts = [await _count_passes(plan, suspect.case, run_plan) for suspect in several if suspect.case is not None]
        notes.append(f"diagnose: {_name(own)}: {_conclude(several, control, counts)}")
    return notes


def _failed_cases(plan: Plan, store: Store) -> list[FailedCase]:
    """Return the cases with a failed attempt that counts against the agent: for each the first such attempt."""
    first: dict[int, CaseResult] = {}
    passing: dict[int, int] = {}
    for result in store.results(plan.info.id):
        if result.verdict in _PASSED:
            passing.setdefault(result.position, result.attempt)
        elif result.fault is not None and result.fault.side == "agent":
            first.setdefault(result.position, result)
    if not first:
        return []
    places = {(position, result.attempt) for position, result in first.items()}
    places |= {(position, attempt) for position, attempt in passing.items() if position in first}
    recordings: dict[tuple[int, int], Recording] = {}
    for position, recording in store.recordings(plan.info.id):
        if (position, recording.attempt) in places:
            recordings[position, recording.attempt] = recording
    answers = collect_answers(store.recordings(plan.info.id), tuple(plan.cases))
    return [
        FailedCase(
            case,
            first[case.position],
            recordings[case.position, first[case.position].attempt],
            answers,
            recordings.get((case.position, passing.get(case.position, 0))),
        )
        for case in plan.cases
        if case.position in first
    ]


def _removable(plan: Plan, suspects: Sequence[Suspect]) -> list[Suspect]:
    """Return the suspects. One that needs an environment cannot be removed if the agent takes none."""
    reason = plan.agent.refuses_environment if isinstance(plan.agent, RefusesEnvironment) else ""
    return [
        Suspect(suspect.side, f"{suspect.removal}: {reason}", None)
        if reason and suspect.case is not None and suspect.case.environments is not None
        else suspect
        for suspect in suspects
    ]


async def _count_passes(plan: Plan, case: PlannedCase, run_plan: RunPlan) -> tuple[int, int]:
    """Return how many of the repetitions of a case passed, and how many of them count."""
    repeated = replace(case, attempts=plan.diagnose, first_attempt=1)
    info = replace(plan.info, id=f"{plan.info.id}-diagnosis")
    results = await run_plan(
        dataclasses.replace(plan, info=info, cases=(repeated,), attempts=plan.diagnose, diagnose=0, gate=None)
    )
    # An attempt that an outage or a judge broke says nothing, and neither does one that was not scored.
    verdicts = [result.verdict for result in results if not result.invalidations]
    verdicts = [verdict for verdict in verdicts if verdict in (*_PASSED, Verdict.FAILED, Verdict.ERROR)]
    return sum(verdict in _PASSED for verdict in verdicts), len(verdicts)


def _conclude(suspects: Sequence[Suspect], control: tuple[int, int], counts: Sequence[tuple[int, int]]) -> str:
    """Return the conclusion in words: the side of the suspect whose removal most probably helps, or the agent."""
    probabilities = [probability_larger(*own, *control) for own in counts]
    best = max(range(len(suspects)), key=lambda index: probabilities[index])
    suspect, probability = suspects[best], probabilities[best]
    if probability >= CERTAIN:
        side = f"the side is the {suspect.side} and not the agent"
    elif counts[best][1] and control[1] and counts[best][0] == 0:
        side = f"the side is the agent and not the {suspect.side}"
    else:
        side = f"not decided between the {suspect.side} and the agent"
    return (
        f"{side}: {counts[best][0]} of {counts[best][1]} attempts pass {suspect.removal}, and {control[0]} of "
        f"{control[1]} pass as the case is; the probability is {_percent(probability)} that this change makes the case "
        "pass more often"
    )


def _percent(probability: float) -> str:
    return f"{min(probability, 0.999):.1%}"


def _price(plan: Plan, summary: Summary, suspects: Sequence[int]) -> str:
    """Return the price of the repetitions in words, from the usage of the run."""
    conversations = plan.diagnose * sum(number + 1 for number in suspects)
    spending = summary.spending
    usages = [spending.agent, spending.judge, spending.simulator, spending.environment]
    calls = sum(usage.calls for usage in usages if usage is not None)
    costs = [usage.cost for usage in usages if usage is not None and usage.cost is not None]
    attempts = sum(summary.cases.values()) or 1
    price = f", about {count(round(calls / attempts * conversations), 'call')} of models" if calls else ""
    price += f" and ${sum(costs) / attempts * conversations:.2f}" if costs and sum(costs) else ""
    cases = count(len(suspects), "failed case")
    return f"diagnose: {count(conversations, 'conversation')} more with {cases}{price}"


def _name(failed: FailedCase) -> str:
    return repr(shorten(failed.planned_case.name, 60))
