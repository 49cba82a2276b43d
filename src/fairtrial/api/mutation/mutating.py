"""Plan and execute mutation testing: plant changes in passing conversations, and score the mutants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from fairtrial.api.criterion_thresholds import NO_THRESHOLDS, Thresholds
from fairtrial.api.eval_sets.eval_set_arguments import EvalSets, resolve_eval_set
from fairtrial.api.execution import RunEvents, run_plan
from fairtrial.api.mutation.degrading import DegradationPlan, Places, plan_degradation
from fairtrial.api.mutation.mutation_reports import MutationRun, find_reason, make_report
from fairtrial.api.mutation.mutation_sources import (
    MUTATION,
    Baselines,
    MutationOptions,
    baselines_in,
    baselines_of_run,
    check_bill,
    configured_rules,
    derive_rules,
    judged_criteria,
)
from fairtrial.api.mutation.paraphrasing import write_paraphrases
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Plan, resume, run_info
from fairtrial.api.stored_runs import resume_command
from fairtrial.api.stores import open_store
from fairtrial.api.temporary_store import temporary_store
from fairtrial.errors import ConfigError, UsageError, spell
from fairtrial.judge.judges import Judges
from fairtrial.llm.address import address
from fairtrial.llm.model_pool import find_models
from fairtrial.llm.token_counts import price
from fairtrial.metrics.signature import signature
from fairtrial.metrics.tool_rules.rule_breaks import idle_rules, rule_operators
from fairtrial.mutations.operator import Operator
from fairtrial.mutations.paraphrases import PARAPHRASED
from fairtrial.mutations.planting import Planting, sample
from fairtrial.mutations.table import OPERATORS, operators_named
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.store import DEFAULT_URL
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.eval_sets.set_loading import Criteria
    from fairtrial.planned_case import Pair, PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.mutation import MutationReport
    from fairtrial.records.run import RunInfo
    from fairtrial.text.language import Language

OnResult = Callable[[CaseResult], None]


@dataclass(frozen=True)
class MutationPlan:
    """Mutation testing that has not started. All inputs are read and checked.

    `calls` is the largest number of questions to judges, before votes. It is 0 if no criterion asks a model.
    """

    plan: Plan
    baselines: Baselines
    planting: Planting
    sample: int | None = None
    judged: tuple[str, ...] = ()

    @cached_property
    def mutants(self) -> list[Pair]:
        """The mutants of all baselines, each beside its case."""
        return [pair for case, recording in self.baselines.pairs for pair in self._mutants(case, recording)]

    def selection(self, positions: Collection[int]) -> list[Pair]:
        """Return the mutants of the baselines at some positions. A sample has about equally many of each operator."""
        mutants = [pair for pair in self.mutants if pair[0].position in positions]
        return mutants if self.sample is None else sample(mutants, self.sample, self.planting.seed)

    def _mutants(self, case: PlannedCase, recording: Recording) -> Iterator[Pair]:
        # A few other cases suffice as a source of values, and all of them would take quadratic time.
        cases = self.baselines.cases
        start = self.baselines.places[case.position] + 1
        neighbours = [cases[(start + i) % len(cases)] for i in range(min(len(cases) - 1, _NEIGHBOURS))]
        rules = derive_rules(case.criteria)
        for mutant in self.planting.mutants(case.case, recording, rules, self.baselines.tools, neighbours):
            yield case, mutant

    def baseline_stage(self, places_to_skip: Places) -> Plan:
        """Return the plan that scores the baselines."""
        pairs = _unfinished(self.baselines.pairs, places_to_skip)
        return replace(self.plan, cases=tuple(case for case, _ in self.baselines.pairs), recorded=pairs)

    def mutant_stage(self, passing: Mapping[int, Recording], places_to_skip: Places) -> Plan:
        """Return the plan that scores the mutants of the baselines that pass."""
        cases = tuple(case for case, _ in self.baselines.pairs if case.position in passing)
        return replace(self.plan, cases=cases, recorded=_unfinished(self.selection(passing), places_to_skip))

    @property
    def size(self) -> int:
        """The number of mutants, if every baseline passes."""
        return len(self.mutants) if self.sample is None else min(self.sample, len(self.mutants))

    @property
    def questions(self) -> int:
        """The largest number of questions to judges: one for each invocation, mutant and judged criterion."""
        if not self.judged:
            return 0
        recordings = [recording for _, recording in (*self.baselines.pairs, *self.selection(self.baselines.places))]
        return len(self.judged) * sum(len(recording.trace.invocations) for recording in recordings)

    @property
    def bill(self) -> str:
        """The largest number of questions to judges, and about their price, in words."""
        price = "" if self.price is None else f", about ${self.price:.2f} for one vote each"
        return f"up to {self.questions} questions to judges, each with its votes{price}"

    @property
    def price(self) -> float | None:
        """About the price of one vote on every question in US dollars, or None if a price is not known.

        A question holds the conversation and about 1,000 tokens of instructions. The answer has about 200 tokens.
        """
        if not self.questions:
            return None
        models = {  # by name: settings do not change a price
            model.name
            for case, _ in self.baselines.pairs
            for criterion in case.criteria
            for judge in find_models(criterion.metric).values()
            for model in getattr(judge, "panel", ())
        }
        characters = sum(len(encode(recording.trace)) for _, recording in self.baselines.pairs)
        tokens = 1000 + characters // _CHARACTERS // len(self.baselines.pairs)
        prices = [_compute_price(name, tokens * self.questions, _ANSWER * self.questions) for name in models]
        amounts = [amount for amount in prices if amount is not None]
        return sum(amounts) if amounts and len(amounts) == len(prices) else None


def _unfinished(pairs: Iterable[Pair], places_to_skip: Places) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if (pair[0].position, pair[1].attempt) not in places_to_skip)


_NEIGHBOURS = 20
"""The number of other cases that lend values and replies."""
_CHARACTERS, _ANSWER = 4, 200
"""The characters of a token, and the tokens of an answer, in an estimate of the price."""


def _compute_price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    try:
        return price(address(model), tokens_in, tokens_out)
    except ConfigError:  # a name that only its own server knows
        return None


def plan_mutation(
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    options: MutationOptions = MUTATION,
    reading: ReadOptions = READ,
    run: RunOptions = RUN,
) -> MutationPlan:
    """Read and check everything that `mutate` needs. Raises UsageError."""
    from_run, languages, judges = options.from_run, options.languages, run.judges
    names = options.names
    listed = [name for name in names if name != PARAPHRASED.name]
    own = tuple(operator for operator in options.operators if isinstance(operator, Operator))
    selected_operators = (*(operators_named(listed, languages) if listed or not (own or names) else ()), *own)
    if (from_run is None) == (eval_set is None):
        raise UsageError(
            f"mutate needs either eval sets or a stored run ({spell('from_run')} RUN), and not both",
            code="options-conflict",
        )
    if from_run is not None:
        with closing(open_store(options.store, create=False)) as run_store:
            from_run = run_store.run(from_run).id
            baselines = baselines_of_run(run_store, from_run, criteria, reading, judges)
    else:
        baselines = baselines_in(resolve_eval_set(eval_set), criteria, reading, judges)
    rules = configured_rules(baselines.pairs) if not names else ()
    selected_operators = (*selected_operators, *rule_operators(rules))
    judged = judged_criteria(case for case, _ in baselines.pairs)
    paraphrases = None
    if PARAPHRASED.name in names:
        paraphrases = write_paraphrases((recording for _, recording in baselines.pairs), judges)
        selected_operators = (*selected_operators, paraphrases.operator)
        judges = _keeping_cassette(judges)
    arguments = {
        "paths": [str(path) for path in baselines.paths],
        "from_run": from_run,
        "only": reading.case_ids,
        **reading.manifest(criteria),
        "named_operators": names,
        "operators": [operator.name for operator in selected_operators],
        "languages": list(languages),
        "seed": options.seed,
        "sample": options.sample,
        "judge": judges.arguments,
        "judged": list(judged),
        "exclusions": list(baselines.exclusions),
        "personas": list(baselines.personas),
        **(paraphrases.manifest if paraphrases else {}),
    }
    # The number of a mutant depends on the operators, so that a changed operator of a user must be noticed.
    signatures = {
        f"operator {operator.name}": signature(operator.plant)
        for operator in selected_operators
        if operator.name not in {*OPERATORS, PARAPHRASED.name}
    }
    info = run_info("mutate", arguments, baselines.notes, list(baselines.loaded_sets), signatures)
    plan = Plan(
        info,
        (),
        concurrency=run.concurrency,
        judges=judges,
        warnings=(*baselines.notes.warnings, *idle_rules(rules, baselines.pairs)),
    )
    planting = Planting(selected_operators, tuple(languages), options.seed)
    planned = MutationPlan(plan, baselines, planting, options.sample, judged)
    _check_applies(planned)
    check_bill(judged, judges, f"up to {planned.questions} questions" if judged else "")
    return planned


def _check_applies(plan: MutationPlan) -> None:
    if not plan.baselines.pairs:
        raise UsageError(
            "no case has a fixed conversation with a reply or calls that could be changed; "
            f"run the agent first, and use the stored run: {spell('from_run')} RUN",
            code="too-little-data",
        )
    if not plan.mutants:
        raise UsageError(
            f"no operator applies to these conversations; leave out {spell('operators')} and {spell('languages')}, "
            "or use eval sets whose cases expect replies or calls",
            code="options-conflict",
        )


def mutate(
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    *,
    from_run: str | None = None,
    agent: str | Callable[..., Any] | None = None,
    operators: Sequence[str | Operator] = (),
    languages: Sequence[Language] = (),
    seed: int = 0,
    sample: int | None = None,
    only: Sequence[str] = (),
    thresholds: Thresholds = NO_THRESHOLDS,
    allow_code: bool = False,
    concurrency: int = 8,
    judges: Judges | None = None,
    store: str | None = None,
) -> MutationReport:
    """Plant changes in conversations of eval sets or of a stored run, and report which changes the criteria catch.

    With `agent`, the agent itself makes the conversations: once as it is, and once for each degradation of each tool
    that it calls. The operators are then names of degradations.

    `operators` are names, import paths or objects of the class Operator; without operators, all are used. `languages`
    restrict operators on replies. `sample` limits the number of mutants. Equal seeds make equal mutants.
    `thresholds` holds thresholds by the names of criteria, in place of those of the configuration. `allow_code` lets
    code run that stands in a configuration. Raises UsageError before anything is mutated, for example if no baseline
    passes.
    """
    options = MutationOptions(from_run, operators, languages, seed, sample, store or DEFAULT_URL)
    reading = ReadOptions(only=only, thresholds=thresholds, allow_code=allow_code)
    run = RunOptions(concurrency=concurrency, judges=judges or Judges())
    if agent is not None:
        if from_run is not None or languages or eval_set is None or len(options.names) < len(operators):
            raise UsageError(
                "with an agent, mutate needs eval sets and takes names of degradations only: "
                "leave out from_run, languages, and operators that are objects",
                code="options-conflict",
            )
        degradation_plan = plan_degradation(eval_set, agent, criteria, options, reading, run)
        return execute_mutation(degradation_plan, store=store).report
    plan = plan_mutation(eval_set, criteria, options, reading, run)
    return execute_mutation(plan, store=store).report


def execute_mutation(
    plan: MutationPlan | DegradationPlan,
    *,
    store: str | None = None,
    on_result: OnResult | None = None,
    reuse: str | None = None,
    resumed: bool = False,
) -> MutationRun:
    """Score the baselines, then the mutants of the baselines that pass. Raises UsageError if no baseline passes.

    `reuse` is the id of a stored run. Equal questions get its judges' replies. With `resumed`, the plan continues its
    own stored run, and attempts that have a verdict are neither made nor scored again.
    """
    run: MutationRun = blocking(_execute(plan, store, on_result or (lambda _: None), reuse, resumed=resumed))
    return run


def resume_mutation(plan: MutationPlan | DegradationPlan, earlier: RunInfo) -> MutationPlan | DegradationPlan:
    """Return the plan as a continuation of an earlier run. Raises UsageError with each difference between the two."""
    return replace(plan, plan=resume(plan.plan, earlier))


async def _execute(
    plan: MutationPlan | DegradationPlan, store: str | None, on_result: OnResult, reuse: str | None, *, resumed: bool
) -> MutationRun:
    run_store = open_store(store) if store is not None else temporary_store()
    run_id = plan.plan.info.id
    advice = "start it again" if store is None else f"go on with `{resume_command(plan.plan.info, store)}`"
    with closing(run_store):
        places_to_skip: set[tuple[int, int]] = set()
        for result in filter(_is_final, run_store.results(run_id) if resumed else ()):
            places_to_skip.add((result.position, result.attempt))
            if result.attempt > 1:
                on_result(result)
        baselines = plan.baseline_stage(places_to_skip)
        if baselines.total:
            await run_plan(baselines, run_store, RunEvents(), reuse=reuse, advice=advice)
        results = [result for result in run_store.results(run_id) if result.attempt == 1]
        passed = {result.position for result in results if result.verdict is Verdict.PASSED}
        if not passed:
            run_store.remove(run_id)
            exclusions = plan.plan.info.config["exclusions"]
            first_reasons = "\n".join([*exclusions, *map(find_reason, results)][:5])
            raise UsageError(
                f"no baseline passes, so that nothing was mutated:\n{first_reasons}\nMake the criteria accept the "
                f"conversations, for example with {spell('criteria')}, or mutate a run that "
                f"passed with {spell('from_run')} RUN",
                code="too-little-data",
            )
        passing = {
            position: recording
            for position, recording in run_store.recordings(run_id)
            if position in passed and recording.mutation is None
        }
        mutants = _adding_to_cassette(plan.mutant_stage(passing, places_to_skip))
        results_by_place = {(result.position, result.attempt): result for result in results}

        def keep(result: CaseResult, _: Verdict) -> None:
            results_by_place[result.position, result.attempt] = result
            on_result(result)

        earlier = None if resumed else results
        _, info = await run_plan(mutants, run_store, RunEvents(keep), reuse=reuse, advice=advice, earlier=earlier)
        if resumed or mutants.recorded is None:
            return MutationRun(info, make_report(run_store, info))
        # Reading the store would take a seventh of the time of the run.
        pairs = [*(baselines.recorded or ()), *mutants.recorded]
        recordings = sorted(((case.position, recording) for case, recording in pairs), key=_place)
        return MutationRun(info, make_report(run_store, info, recordings, results_by_place))


def _place(recorded: tuple[int, Recording]) -> tuple[int, int]:
    position, recording = recorded
    return position, recording.attempt


def _adding_to_cassette(plan: Plan) -> Plan:
    """Return the plan of the second stage. It keeps the calls of the first stage, which "record" would overwrite."""
    return replace(plan, judges=_keeping_cassette(plan.judges))


def _keeping_cassette(judges: Judges) -> Judges:
    """Return judges that add to a cassette instead of writing it again."""
    models = judges.models
    return replace(judges, models=replace(models, cassette_mode="auto")) if models.cassette_mode == "record" else judges


def _is_final(result: CaseResult) -> bool:
    """Return whether an attempt has a verdict, or the agent broke it."""
    if result.failure is not None:
        return result.failure.side == "agent"
    return result.verdict is not Verdict.UNSCORED
