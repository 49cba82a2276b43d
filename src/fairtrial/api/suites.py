"""Run cases for test frameworks: list cases, run some of them, and merge the parts of a run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents import find_agent
from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.conversations import conversations
from fairtrial.api.execution import execute
from fairtrial.api.plan_options import ReadOptions, RunOptions
from fairtrial.api.planning import Plan, new_run_id
from fairtrial.api.score_planning import plan_score
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import open_store
from fairtrial.api.temporary_store import temporary_store
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.metrics.signature import add_signature
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.attempt_rule import AttemptRule, AttemptRules
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.result import Criterion, Verdict
from fairtrial.records.run import RunInfo, now
from fairtrial.records.summary import Summary
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace
from fairtrial.system.event_loop import blocking
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.store import Store

KIND = "pytest"
_PART = "test"
"""The key in the manifest of a part that names the tests that it belongs to."""
_ALL_PARTS = ("paths", "eval_sets", "criteria", "recordings")


def is_eval_set_name(path: Path) -> bool:
    """Whether a file has the name of an eval set, such as shop.evalset.json."""
    return loading.is_eval_set_name(path)


def list_cases(
    paths: Sequence[str | Path], recorded: Sequence[str | Path] = (), *, only: Sequence[str] = ()
) -> dict[int, str]:
    """Return the names of cases by their positions, before an agent or a criterion is known.

    With `recorded`, they are the cases that files have recordings of. Raises UsageError if a file cannot be read.
    """
    if recorded:
        criteria = [Criterion("listed", _nothing)]
        plan = plan_score(list(recorded), list(paths) or None, criteria, ReadOptions(only=only))
        return {case.position: case.name for case, _ in plan.recorded or ()}
    sets = [
        loading.LoadedSet(file.loaded.eval_set or EvalSet(""), (), file.only) for file in loading.sources(list(paths))
    ]
    return {case.position: case.name for case in loading.select_cases(loading.plan_cases(sets), sets, only)}


def _nothing(trace: Trace, case: EvalCase) -> float:
    """Stand for the criteria, which are not known yet."""
    del trace, case
    return 0.0


def find_part(plan: Plan, test: str, positions: Collection[int]) -> Plan:
    """Return the part of a plan that runs the cases at some positions. `test` names the tests that it belongs to."""
    cases = tuple(case for case in plan.cases if case.position in positions)
    recorded = None if plan.recorded is None else [pair for pair in plan.recorded if pair[0].position in positions]
    config = {**plan.info.config, _PART: test, "warnings": list(plan.warnings)}
    return dataclasses.replace(plan, info=replace(plan.info, config=config), cases=cases, recorded=recorded)


def hold_conversation(agent: Any, messages: Sequence[str], *, reply_timeout: float | None = None) -> Recording:
    """Return a conversation with an agent, in which the user says some messages."""
    case = EvalCase("conversation", tuple(Invocation(Message(message)) for message in messages))
    planned = PlannedCase(0, case.id, case, ())
    info = RunInfo(new_run_id(), now(), __version__, KIND)
    plan = Plan(info, (planned,), agent=find_agent(agent), reply_timeout=reply_timeout)
    recordings: list[Recording] = blocking(_recordings(plan))
    return recordings[0]


async def _recordings(plan: Plan) -> list[Recording]:
    return [recording async for _, recording in conversations(plan, plan.cases)]


def check_trace(
    trace: Trace,
    name: str,
    *,
    tools: Iterable[ToolCall | tuple[str, Mapping[str, Json]] | str] | None = None,
    reply: str | None = None,
    threshold: float = 0.8,
    match: str = "EXACT",
    criteria: Any = None,
    judges: Judges | None = None,
    store: str,
    test: str,
) -> Run:
    """Return the run of one trace against expectations that stand in a test.

    `tools` are the expected calls in their order, and `match` says how strictly they are compared. `reply` is a
    reference for the last reply, and `threshold` belongs to it. `criteria` are a config file or its content.
    """
    content = _collect_criteria(criteria)
    if tools is not None:
        content["tool_trajectory_avg_score"] = {"threshold": 1.0, "match_type": match, "scope": "conversation"}
    if reply is not None:
        content["response_match_score"] = {"threshold": threshold}
    if not content:
        raise UsageError("check: needs tools, reply or criteria; otherwise nothing would be checked")
    case = _make_expected(trace, name, tools, reply)
    recording = Recording(name, trace, eval_set=test)
    plan = plan_score([recording], EvalSet(test, (case,)), content, run=RunOptions(judges=judges or Judges()))
    return execute(find_part(plan, f"{test} {name}", {0}), store=store)


def _collect_criteria(criteria: Any) -> dict[str, Any]:
    """Return criteria of a test by their names."""
    if isinstance(criteria, Mapping):
        inner = criteria.get("criteria", criteria)
        return dict(inner)
    if criteria is None:
        return {}
    raise UsageError(f"check: criteria must be a mapping such as {{'safety_v1': 0.8}}, got {type(criteria).__name__}")


def _make_expected(trace: Trace, name: str, tools: Any, reply: str | None) -> EvalCase:
    """Return the case that expects tools of the whole conversation, and a reply at its end."""
    invocations = [Invocation(invocation.user) for invocation in trace.invocations]
    if not invocations:
        raise UsageError("check: the trace has no invocation", code="too-little-data")
    if reply is not None:
        invocations[-1] = replace(invocations[-1], final_response=Message(reply))
    calls = None if tools is None else tuple(map(_call, tools))
    return EvalCase(name, tuple(invocations), expected_calls=calls)


def _call(tool: Any) -> ToolCall:
    if isinstance(tool, ToolCall):
        return tool
    if isinstance(tool, str):
        return ToolCall(tool)
    if isinstance(tool, tuple) and len(tool) == 2 and isinstance(tool[0], str) and isinstance(tool[1], Mapping):
        return ToolCall(tool[0], dict(tool[1]))
    raise UsageError(f"check: tools must hold (name, arguments), a name or a ToolCall, got {tool!r:.80}")


def merge_parts(urls: Iterable[str], store: str | None) -> Run | None:
    """Return one run of all parts in some stores, which is kept in a store, or in a temporary one if it is None.

    The parts come in the order of their tests, and the cases of a test in file order. None if there is no part.
    """
    parts = [Run(info, Summary(Verdict.UNSCORED), source) for source in map(open_store, urls) for info in source.runs()]
    if not parts:
        return None
    try:
        target = open_store(store) if store is not None else temporary_store()
        return _Merging(sorted(parts, key=lambda part: str(part.info.config[_PART])), target).run()
    finally:
        for part in parts:
            part._store.close()  # noqa: SLF001  (the run and this module are one: api)


class _Merging:
    """The copying of parts into one run."""

    def __init__(self, parts: Sequence[Run], target: Store) -> None:
        self._parts, self._target = parts, target
        self._places = self._number_items()
        names = Counter(name for _, name in self._places.values())
        self._find_repeated = {name for name, times in names.items() if times > 1}

    def run(self) -> Run:
        """Copy everything, and return the run with its numbers."""
        info, target = self._info(), self._target
        target.begin(replace(info, finished=None))
        for part in self._parts:
            self._copy(part, info.id)
        summary = aggregate(
            target.results(info.id),
            target.ballots(info.id).values(),
            informs=info.informs,
            defaults=info.defaults,
            rules=info.attempt_rules,
        )
        info = replace(info, verdict=None if info.finished is None else summary.verdict)
        target.finish(info, summary)
        return Run(info, summary, target)

    def _number_items(self) -> dict[tuple[str, int], tuple[int, str]]:
        """Return the position and the name of each case in the whole run, by its test and its own position."""
        places = {
            (_test(part), case.position): case.name
            for part in self._parts
            for case in sorted(part.expected, key=lambda case: case.position)
        }
        in_order = sorted(places.items())
        return {place: (number, name) for number, (place, name) in enumerate(in_order)}

    def _copy(self, part: Run, run_id: str) -> None:
        test, target = _test(part), self._target
        names: dict[int, str] = {}
        for case in part.expected:
            number, name = self._places[test, case.position]
            # The same case may be in several tests, for example with several agents.
            names[number] = f"{name} in {test}" if name in self._find_repeated else name
            target.add_cases(run_id, [replace(case, position=number, name=names[number])])
        for position, recording in part.recordings:
            target.add_recording(run_id, self._places[test, position][0], recording, may_wait=True)
        for result in part.cases:
            number = self._places[test, result.position][0]
            target.add_result(run_id, replace(result, position=number, name=names[number]))
        target.replies(run_id).update(part.replies)
        target.ballots(run_id).update(part.ballots)

    def _info(self) -> RunInfo:
        infos = [part.info for part in self._parts]
        signatures: dict[str, Json] = {}
        for part in self._parts:
            for name, entry in part.info.signatures.items():
                add_signature(signatures, name, entry, eval_set_id=_test(part))
        config: dict[str, Json] = {"tests": list(dict.fromkeys(map(_test, self._parts)))}
        for key in _ALL_PARTS:
            values = [value for info in infos for value in info.config.get(key) or ()]
            config[key] = [value for number, value in enumerate(values) if value not in values[:number]]
        warnings = dict.fromkeys(warning for info in infos for warning in info.config.get("warnings", ()))
        config |= {"warnings": list(warnings), "informs": all(info.informs for info in infos)}
        asked_names = {name for info in infos for name in info.signatures if name not in info.defaults}
        defaults = dict.fromkeys(name for info in infos for name in info.defaults if name not in asked_names)
        config["defaults"] = list(defaults)
        config["attempt_rules"] = _rules(infos).to_json()
        ends = [info.finished for info in infos]
        return RunInfo(
            new_run_id(),
            min(info.started for info in infos),
            __version__,
            KIND,
            config,
            signatures,
            None if None in ends else max(end for end in ends if end is not None),
            sum(info.seconds or 0.0 for info in infos),
        )


def _rules(infos: Iterable[RunInfo]) -> AttemptRules:
    """Return the rules of parts. If two tests have different rules for an eval set, the first test counts."""
    eval_sets: dict[str, AttemptRule] = {}
    cases: dict[str, dict[str, AttemptRule]] = {}
    for rules in (info.attempt_rules for info in infos):
        eval_sets = {**rules.eval_sets, **eval_sets}
        for set_id, by_case in rules.cases.items():
            cases[set_id] = {**by_case, **cases.get(set_id, {})}
    return AttemptRules(eval_sets, cases)


def _test(part: Run) -> str:
    return str(part.info.config[_PART])
