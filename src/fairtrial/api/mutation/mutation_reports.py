"""Build mutation reports from the stored mutants of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.analysis.mutant_scores import MutantScores
from fairtrial.api.mutation.fixes import FixTrials
from fairtrial.api.mutation.mutation_sources import list_tools
from fairtrial.api.stores import open_store
from fairtrial.mutations.coverage import cover
from fairtrial.records.decoding import convert
from fairtrial.records.mutation import Mutation, MutationReport, ParaphraseCount
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.trace import Message, ToolCall, Trace
from fairtrial.store import DEFAULT_URL, Store

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.run import RunInfo


@dataclass(frozen=True)
class MutationRun:
    """The result of mutation testing. The mutants and their scores are the attempts of a stored run."""

    info: RunInfo
    report: MutationReport


def find_reason(result: CaseResult) -> str:
    """Return why a baseline does not count: the criteria that it does not pass."""
    failed = [o.criterion for o in result.outcomes if o.verdict in (Verdict.FAILED, Verdict.UNSCORED)]
    return f"{result.title!r}: the baseline {result.verdict}: {', '.join(failed) or 'no criterion has a threshold'}"


def mutation_report(run_id: str, store: str = DEFAULT_URL) -> MutationReport:
    """Return the report of a stored run of mutation testing, from the store alone."""
    with closing(open_store(store, create=False)) as run_store:
        return make_report(run_store, run_store.run(run_id))


def make_report(
    store: Store,
    info: RunInfo,
    recordings: Iterable[tuple[int, Recording]] | None = None,
    results: Mapping[tuple[int, int], CaseResult] | None = None,
) -> MutationReport:
    """Return the report of a run that planted changes, or that degraded the environment of an agent.

    `recordings` in file order and `results` by position and attempt are read from the store, unless they are given.
    """
    scores = MutantScores(tuple(info.config.get("judged", ())))
    expected = {case.position: case for case in store.cases(info.id)}
    traces: dict[int, Recording] = {}
    passing: set[int] = set()
    exclusions: list[str] = []
    trials = FixTrials()
    inert = 0
    if results is None:
        results = {(result.position, result.attempt): result for result in store.results(info.id)}
    for position, recording in store.recordings(info.id) if recordings is None else recordings:
        result = results.get((position, recording.attempt))
        if recording.mutation is None:
            traces[position] = recording
            if result is not None and result.verdict is Verdict.PASSED:
                passing.add(position)
                scores.add_baseline(result)
                trials.add(result, recording)
            elif result is not None:
                exclusions.append(find_reason(result))
        elif result is not None and _is_of_agent(recording.mutation) and _is_inert(traces[position].trace, recording):
            inert += 1
        elif result is not None:
            scores.add(result, traces[position].trace, recording)
            trials.add(result, recording)
    paraphrases = info.config.get("paraphrases")
    cases = [case.case for case in expected.values()]
    rows = scores.operators
    row_names = {row.operator for row in rows}
    names: list[str] = info.config.get("operators", [])
    return MutationReport(
        info.id,
        info.started,
        int(info.config.get("seed", 0)),
        len(passing),
        (*info.config.get("exclusions", ()), *exclusions),
        scores.overall("harmful"),
        scores.overall("harmless"),
        rows,
        scores.criteria,
        scores.findings("harmful"),
        scores.findings("harmless"),
        cover(cases, list_tools(cases, traces.values()), info.config.get("personas", ())),
        unused_operators=tuple(name for name in names if name not in row_names),
        inert=inert,
        families=scores.families,
        thresholds=scores.thresholds,
        redundant=scores.redundant,
        paraphrases=None if paraphrases is None else convert(paraphrases, ParaphraseCount),
        fixes=trials.fixes({position: case.case for position, case in expected.items()}),
    )


def _is_of_agent(mutation: Mutation) -> bool:
    """Return whether the agent itself ran again, with a degraded tool."""
    return bool(mutation.tool)


def _is_inert(baseline: Trace, mutant: Recording) -> bool:
    """Return whether an agent behaved as in the baseline, although the answers of a tool were degraded."""
    return mutant.failure is None and list(_behaviour(baseline)) == list(_behaviour(mutant.trace))


def _behaviour(trace: Trace) -> Iterator[tuple[object, ...]]:
    """Yield everything that the agent did: its calls and its messages. Thoughts and results are not among them."""
    for number, invocation in enumerate(trace.invocations):
        for step in invocation.steps or ():
            if isinstance(step, ToolCall):
                yield number, step.name, step.args
            elif isinstance(step, Message):
                yield number, step.text
        yield number, "reply", invocation.reply
