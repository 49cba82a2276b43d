"""Run an agent again in degraded environments, and measure whether the evaluation notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.api.mutation.mutation_sources import (
    MUTATION,
    MutationOptions,
    check_bill,
    deciding_criteria,
    judged_criteria,
)
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Plan, plan_run
from fairtrial.errors import UsageError
from fairtrial.mutations.planting import sample as sampled
from fairtrial.protocols import RefusesEnvironment
from fairtrial.records.mutation import Mutation
from fairtrial.records.trace import ToolResult
from fairtrial.simulate.degradation import Degradation, degradations_named

if TYPE_CHECKING:
    from fairtrial.api.eval_sets.eval_set_arguments import EvalSets
    from fairtrial.api.eval_sets.set_loading import Criteria
    from fairtrial.planned_case import Environments, Pair, PlannedCase
    from fairtrial.records.attempt import Recording

Places = Collection[tuple[int, int]]
"""The attempts of a stored run, by position and attempt, that are neither made nor scored again."""


@dataclass(frozen=True)
class DegradationPlan:
    """Runs of an agent in degraded environments that have not started. All inputs are read and checked."""

    plan: Plan
    degradations: tuple[Degradation, ...]
    seed: int = 0
    sample: int | None = None
    judged: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of mutants, if the agent calls the tools that the cases expect."""
        tools = sum(len(_tools_in(case.case.conversation or ())) for case in self.plan.cases)
        mutants = tools * len(self.degradations)
        return mutants if self.sample is None else min(mutants, self.sample)

    @property
    def bill(self) -> str:
        """About the number of questions to judges, in words. The real number depends on the calls of the agent."""
        return f"{self.amount} for {', '.join(self.judged)}, each question with its votes"

    @property
    def amount(self) -> str:
        """About the number of conversations, with the baselines, in words."""
        return f"about {len(self.plan.cases) + self.size} conversations"

    def baseline_stage(self, places_to_skip: Places) -> Plan:
        """Return the plan in which the agent runs as it is."""
        cases = tuple(case for case in self.plan.cases if (case.position, 1) not in places_to_skip)
        return dataclasses.replace(self.plan, cases=cases)

    def mutant_stage(self, passing: Mapping[int, Recording], places_to_skip: Places) -> Plan:
        """Return the plan in which the agent runs again, once for each degradation of each tool that it called."""
        cases = {case.position: case for case in self.plan.cases}
        pairs = [
            pair for position, baseline in sorted(passing.items()) for pair in self._mutants(cases[position], baseline)
        ]
        selection = pairs if self.sample is None else sampled(pairs, self.sample, self.seed)
        mutants = tuple(case for case, _ in selection if (case.position, case.first_attempt) not in places_to_skip)
        return dataclasses.replace(self.plan, cases=mutants)

    def _mutants(self, case: PlannedCase, baseline: Recording) -> Iterator[Pair]:
        """Yield the case in each degraded environment, beside a recording that holds the number of the attempt."""
        for attempt, (environments, mutation) in enumerate(self._degrade_case(case, baseline), 2):
            degraded = replace(case, environments=environments, first_attempt=attempt, mutation=mutation)
            yield degraded, replace(baseline, attempt=attempt, mutation=mutation)

    def _degrade_case(self, case: PlannedCase, baseline: Recording) -> Iterator[tuple[Environments, Mutation]]:
        configured = case.environments
        steps = [step for turn in baseline.trace.invocations for step in turn.steps or ()]
        for tool, invocation in _tools_in(baseline.trace.invocations).items():
            answers = [step.response for step in steps if isinstance(step, ToolResult) and step.name == tool]
            for degradation in self.degradations:
                if not degradation.changes(answers):
                    continue
                mutation = Mutation(degradation.name, "harmful", invocation, weight=degradation.weight, tool=tool)
                yield degradation.environments(configured, tool, self.seed), mutation


def _tools_in(invocations: Sequence[Any]) -> dict[str, int]:
    """Return the tools that a conversation calls, each with the first invocation that calls it, counted from 1."""
    tools: dict[str, int] = {}
    for number, invocation in enumerate(invocations, 1):
        for call in invocation.tool_calls:
            tools.setdefault(call.name, number)
    return tools


def plan_degradation(
    eval_set: EvalSets,
    agent: str | Callable[..., Any],
    criteria: Criteria = None,
    options: MutationOptions = MUTATION,
    reading: ReadOptions = READ,
    run: RunOptions = RUN,
) -> DegradationPlan:
    """Read and check everything that `mutate` needs for an agent. Raises UsageError."""
    selection = degradations_named(options.names)
    plan = plan_run(eval_set, agent, criteria, reading, run)
    reason = plan.agent.refuses_environment if isinstance(plan.agent, RefusesEnvironment) else ""
    if reason:
        raise UsageError(f"the tools of this agent cannot be degraded: {reason}", code="not-supported")
    # A criterion without a threshold cannot catch a mutant.
    cases = tuple(replace(case, criteria=deciding_criteria(case.criteria)) for case in plan.cases)
    judged = judged_criteria(cases)
    config = {
        **plan.info.config,
        "named_operators": options.names,
        "operators": [degradation.name for degradation in selection],
        "seed": options.seed,
        "sample": options.sample,
        "judged": list(judged),
        "exclusions": [],
    }
    info = replace(plan.info, kind="mutate", config=config)
    plan = dataclasses.replace(plan, info=info, cases=cases)
    planned = DegradationPlan(plan, selection, options.seed, options.sample, judged)
    check_bill(judged, run.judges, planned.amount if judged else "")
    return planned
