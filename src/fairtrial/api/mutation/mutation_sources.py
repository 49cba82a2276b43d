"""Choose the conversations to mutate, with the differences that their criteria allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.api.eval_sets.set_loading import Criteria, Notes, load_sets
from fairtrial.errors import UsageError, spell
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.reading import Diagnostics
from fairtrial.llm.model_pool import find_models
from fairtrial.metrics.facts_match import FactsMatch
from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.mutations.coverage import collect_personas
from fairtrial.mutations.operator import Operator, Rules
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import ComparesCalls
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.equality import equal_json
from fairtrial.records.result import Criterion, Verdict
from fairtrial.records.trace import ToolCall, Trace
from fairtrial.system.paths import DEFAULT_URL
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.api.plan_options import ReadOptions
    from fairtrial.judge.judges import Judges
    from fairtrial.metrics.tool_rules.rule_options import ToolRule
    from fairtrial.store import Store
    from fairtrial.text.language import Language


@dataclass(frozen=True)
class MutationOptions:
    """Which changes are planted, and in which conversations.

    `from_run` is the id of a run in `store` whose conversations are changed. `operators` are names, import paths or
    objects. `languages` restrict operators on replies. `sample` limits the number of mutants. Equal seeds make equal
    mutants.
    """

    from_run: str | None = None
    operators: Sequence[str | Operator] = ()
    languages: Sequence[Language] = ()
    seed: int = 0
    sample: int | None = None
    store: str = DEFAULT_URL

    @property
    def names(self) -> list[str]:
        """The operators that are given by their name."""
        return [operator for operator in self.operators if isinstance(operator, str)]


MUTATION = MutationOptions()


_PRIVACY = regex.compile(
    r"safety_v1|priva|personal data|confidential|개인정보|個人情報|プライバシー|隐私|隱私|個資", regex.I
)
_GROUNDING = ("facts_grounded_v1", "hallucinations_v1")
"""The criteria that compare a reply with the results of tools."""
_ORDERS = ("EXACT", "IN_ORDER", "ANY_ORDER")


@dataclass(frozen=True)
class Baselines:
    """Conversations beside their cases, and the cases without a conversation that could be changed.

    `personas` are those of all cases, also of cases that are left out.
    """

    pairs: tuple[Pair, ...]
    exclusions: tuple[str, ...]
    loaded_sets: tuple[loading.LoadedSet, ...]
    notes: Notes
    paths: tuple[str | Path, ...] = ()
    personas: tuple[str, ...] = ()

    @cached_property
    def cases(self) -> list[EvalCase]:
        """The cases of the conversations."""
        return [case.case for case, _ in self.pairs]

    @cached_property
    def places(self) -> dict[int, int]:
        """The index of each position among the pairs."""
        return {case.position: index for index, (case, _) in enumerate(self.pairs)}

    @cached_property
    def tools(self) -> Mapping[str, Mapping[str, Any]]:
        """The declarations of all tools, by name."""
        return list_tools(self.cases, [recording for _, recording in self.pairs])


def list_tools(cases: Iterable[EvalCase], recordings: Iterable[Recording]) -> dict[str, Mapping[str, Any]]:
    """Return the declarations of the tools that agents declare. A tool that is only called has an empty declaration."""
    tools: dict[str, Mapping[str, Any]] = {}
    traces = [Trace(case.conversation or ()) for case in cases] + [recording.trace for recording in recordings]
    for trace in traces:
        tools |= {call.name: {} for turn in trace.invocations for call in turn.tool_calls if call.name not in tools}
        tools |= {str(tool["name"]): tool for agent in trace.agents for tool in agent.tools}
    return tools


def baselines_in(
    eval_set: EvalSet | list[str | Path],
    criteria: Criteria,
    reading: ReadOptions,
    judges: Judges,
) -> Baselines:
    """Return the reference conversations of eval sets as recordings."""
    loaded_sets, notes = load_sets(eval_set, criteria, reading, judges)
    loaded_sets = [_deciding(loaded) for loaded in loaded_sets]
    cases = loading.select_cases(loading.plan_cases(loaded_sets), loaded_sets, reading.case_ids)
    pairs, warnings = _clean(tuple((case, _reference(case)) for case in cases if _can_change(case.case.conversation)))
    positions = {case.position for case, _ in pairs}
    exclusions = tuple(
        f"{case.name}: it has no fixed conversation with a reply or a call"
        for case in cases
        if case.position not in positions
    )
    paths = () if isinstance(eval_set, EvalSet) else tuple(eval_set)
    personas = tuple(sorted(collect_personas(case.case for case in cases)))
    notes = dataclasses.replace(notes, warnings=(*notes.warnings, *warnings))
    return Baselines(pairs, exclusions, tuple(loaded_sets), notes, paths, personas)


def _clean(pairs: Iterable[Pair]) -> tuple[tuple[Pair, ...], list[str]]:
    """Return conversations and their references without secrets, and warnings that count the secrets.

    A change may cut a secret, or move a part of it, and no search finds that part in a report.
    """
    clean_pairs: list[Pair] = []
    reading = Diagnostics("mutation")
    for case, recording in pairs:
        clean = without_secrets(recording, reading)
        count = len(reading.warnings)
        reference = without_secrets(_reference(case), reading)
        if clean is not recording:
            del reading.warnings[count:]  # a reference of an eval set is the conversation itself
        conversation = reference.trace.invocations if case.case.conversation else case.case.conversation
        clean_pairs.append((replace(case, case=replace(case.case, conversation=conversation)), clean))
    return tuple(clean_pairs), reading.warnings


def _deciding(loaded: loading.LoadedSet) -> loading.LoadedSet:
    """Return a set with the criteria that have a threshold. The others cannot catch a change."""
    return replace(loaded, criteria=deciding_criteria(loaded.criteria))


def deciding_criteria(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria that have a threshold."""
    return tuple(criterion for criterion in criteria if criterion.threshold is not None)


def _reference(case: PlannedCase) -> Recording:
    session_id = case.case.session_input.session_id if case.case.session_input else ""
    return Recording(case.case.id, Trace(case.case.conversation or (), session_id), eval_set=case.eval_set)


def _can_change(invocations: Sequence[Any] | None) -> bool:
    return any(invocation.reply.strip() or invocation.tool_calls for invocation in invocations or ())


def baselines_of_run(
    store: Store,
    run_id: str,
    criteria: Criteria,
    reading: ReadOptions,
    judges: Judges,
) -> Baselines:
    """Return the first attempt of each case of a stored run that passed. Its criteria are read again.

    Raises UsageError if the criteria of the run did not come from one file, and none are given.
    """
    info = store.run(run_id)
    criteria = criteria if criteria is not None else _collect_criteria(info.config.get("criteria", []))
    expected = {case.position: case for case in store.cases(info.id)}
    sets = EvalSet("run", tuple(case.case for case in expected.values()))
    loaded_sets, notes = load_sets(sets, criteria, reading, judges)
    loaded_sets = [_deciding(loaded) for loaded in loaded_sets]
    passed: dict[int, int] = {}
    for result in store.results(info.id, verdicts=[Verdict.PASSED]):
        passed.setdefault(result.position, result.attempt)
    pairs: list[Pair] = []
    for position, recording in store.recordings(info.id):
        if passed.get(position) == recording.attempt and _can_change(recording.trace.invocations):
            case = expected[position]
            criteria, case_digest = loaded_sets[0].criteria, bytes.fromhex(case.digest)
            planned = PlannedCase(position, case.name, case.case, criteria, case.eval_set, case_digest)
            pairs.append((planned, replace(recording, attempt=1, mutation=None)))
    positions = {case.position for case, _ in pairs}
    exclusions = tuple(
        f"{case.name}: no attempt passed" for case in expected.values() if case.position not in positions
    )
    personas = tuple(sorted(collect_personas(case.case for case in expected.values())))
    clean_pairs, warnings = _clean(pairs)
    notes = dataclasses.replace(notes, warnings=(*notes.warnings, *warnings))
    return Baselines(clean_pairs, exclusions, tuple(loaded_sets), notes, personas=personas)


def _collect_criteria(origins: Sequence[Sequence[Any]]) -> Criteria:
    names = [str(origin[0]) for origin in origins]
    if names == ["defaults"]:
        return {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    if len(names) == 1 and Path(names[0]).is_file():
        return Path(names[0])
    raise UsageError(
        f"the criteria of the run came from {', '.join(names) or 'nowhere'}, which cannot be read again; "
        f"name a configuration with {spell('criteria')}",
        code="unreadable-file",
    )


def derive_rules(criteria: Sequence[Criterion]) -> Rules:
    """Return the differences that the options of criteria allow. The strictest criterion on calls counts."""
    own_metrics: list[object] = [criterion.metric for criterion in criteria]
    rules = Rules(
        _equal_calls,
        privacy=any(map(_is_on_privacy, criteria)),
        grounding=any(criterion.name in _GROUNDING for criterion in criteria),
        tolerance=max((metric.tolerance for metric in own_metrics if isinstance(metric, FactsMatch)), default=0.0),
    )
    metrics = [metric for metric in own_metrics if isinstance(metric, ComparesCalls)]
    if not metrics:
        return rules
    strictest = min(metrics, key=lambda metric: _ORDERS.index(metric.match_type))
    return dataclasses.replace(
        rules,
        same_call=strictest.same_call,
        order=strictest.match_type,
        optional_tools=frozenset(strictest.optional_tools),
    )


def _equal_calls(actual: ToolCall, expected: ToolCall) -> bool:
    return actual.name == expected.name and equal_json(actual.args, expected.args)


def _is_on_privacy(criterion: Criterion) -> bool:
    """Return whether the name or the options of a criterion, for example its rubrics, name safety or privacy."""
    return bool(_PRIVACY.search(f"{criterion.name} {compact(criterion.signature)}"))


def judged_criteria(cases: Iterable[PlannedCase]) -> tuple[str, ...]:
    """Return the names of the criteria that ask a model."""
    all_criteria = {id(case.criteria): case.criteria for case in cases}  # most cases share theirs
    names = (
        criterion.name for criteria in all_criteria.values() for criterion in criteria if find_models(criterion.metric)
    )
    return tuple(dict.fromkeys(names))


def configured_rules(pairs: Iterable[Pair]) -> tuple[ToolRule, ...]:
    """Return the rules of all `tool_rules_v1`, each once."""
    metrics = [criterion.metric for case, _ in pairs for criterion in case.criteria]
    rules = (rule for metric in metrics if isinstance(metric, ToolRules) for rule in metric.rules)
    return tuple({rule.id: rule for rule in rules}.values())


def check_bill(judged: Sequence[str], judges: Judges, amount: str) -> None:
    """Raise UsageError if models would be asked, and nothing limits or names them. `amount` says how much is asked."""
    options = judges.models
    budget = options.budget
    limited = budget is not None and (budget.max_calls is not None or budget.max_cost is not None)
    if judged and not limited and options.cassette is None and judges.model is None:
        raise UsageError(
            f"{', '.join(judged)} would ask judges {amount}, each with its votes; limit them "
            f"with {spell('max_calls')} or "
            f"{spell('max_cost')}, name a judge with {spell('judge_model')}, replay a "
            f"{spell('cassette')}, or take a {spell('sample')}"
        )
