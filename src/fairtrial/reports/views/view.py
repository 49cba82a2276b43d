"""View models of a run: numbers, cases, and the comparison with another run."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from typing import NamedTuple

from msgspec.structs import asdict, replace

from fairtrial.judge.ballot_costs import collect_ballot_ids, pick
from fairtrial.records.attacks.attack_report import AttackReport
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.failure_mode import FailedAttempt
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.record import Json
from fairtrial.records.result import Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.run_comparison import Comparison
from fairtrial.records.summary import CriterionSummary, Summary
from fairtrial.reports.judges.judge_states import describe
from fairtrial.reports.numbers import find_unit
from fairtrial.reports.report_table import ReportedRun
from fairtrial.reports.shown_criteria import has_data
from fairtrial.reports.views import view_shapes as shapes
from fairtrial.reports.views.attempt_shapes import AttemptView
from fairtrial.reports.views.mode_shapes import ModesView
from fairtrial.reports.views.view_attempts import AgentIndex, AttemptParts, attempt_view
from fairtrial.reports.views.view_modes import decisive_view, failed_places, run_modes
from fairtrial.reports.views.view_rows import RowBuilder

_ROUNDING = 1e-9
_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)
_FLAGS = {"lenient": "--lenient", "allow_code": "--allow-code"}
_VALUES = {"agent": "--agent", "config": "--config", "match": "--match", "reply_timeout": "--reply-timeout"}


@dataclass
class RunReader:
    """Reads the attempts of a run once, in file order, and gathers the agents and tools of the whole run.

    `take` gets the row of each case when all its attempts were read. The failure modes are compared with those of
    `base`.
    """

    run: ReportedRun
    take: Callable[[shapes.CaseRow], object]
    traces: shapes.Traces = "all"
    base: ReportedRun | None = None
    agents: AgentIndex = field(default_factory=AgentIndex)
    builder: RowBuilder = field(init=False)
    failed: Mapping[tuple[int, int], FailedAttempt] = field(init=False)

    def __post_init__(self) -> None:
        self.failed = failed_places(self.run.failure_modes)
        modes = {place: own.mode for place, own in self.failed.items() if own.mode is not None}
        criteria = {summary.criterion: i for i, summary in enumerate(self.run.summary.criteria)}
        self.builder = RowBuilder(criteria, self.run.info.attempt_rules, self.run.ballots, self.take, modes)

    def attempts(self) -> Iterator[AttemptView]:
        """Yield the view of each attempt."""
        replies, signatures = self.run.replies, self.run.info.signatures
        for parts in attempt_parts(self.run):
            own = (name for outcome in parts.result.outcomes for name in collect_ballot_ids(outcome.score))
            ballots = pick(self.run.ballots, own)
            self.builder.add(parts, ballots)
            passed = parts.result.verdict in _GREEN
            if self.traces == "none" or (passed and self.traces == "failed"):
                parts = AttemptParts(parts.place, parts.result, None, None, parts.labels)  # noqa: PLW2901
            view = attempt_view(parts, ballots, replies, signatures, self.agents)
            failure = self.failed.get((view.position, view.attempt))
            yield view if failure is None else replace(view, decisive=decisive_view(failure))
        self.builder.finish()

    def view(self) -> shapes.RunView:
        """Return the view of the run, after all attempts were read."""
        return run_view(
            self.run.info,
            self.run.summary,
            self.run.calibrations,
            cases=self.builder.cases,
            traces=self.traces,
            agents=self.agents.views,
            tools=list(self.builder.tools),
            labelled=self.builder.labelled,
            groups=list(self.builder.groups),
            failures=run_modes(self.run, self.base),
            attacks=self.run.attacks,
        )


def attempt_parts(run: ReportedRun) -> Iterator[AttemptParts]:
    """Yield everything that is stored about each attempt, in file order.

    Results, cases and recordings are read side by side, so that memory does not grow with the run.
    """
    labels: defaultdict[tuple[CaseKey, int], list[Label]] = defaultdict(list)
    for label in run.labels:
        labels[label.case, label.attempt].append(label)
    expected, recordings = iter(run.expected), iter(run.recordings)
    case: ExpectedCase | None = next(expected, None)
    recorded = next(recordings, None)
    for place, result in enumerate(run.cases):
        while case is not None and case.position < result.position:
            case = next(expected, None)
        here = (result.position, result.attempt)
        while recorded is not None and (recorded[0], recorded[1].attempt) < here:
            recorded = next(recordings, None)
        is_recorded = recorded is not None and (recorded[0], recorded[1].attempt) == here
        yield AttemptParts(
            place,
            result,
            case.case if case is not None and case.position == result.position else None,
            recorded[1] if recorded is not None and is_recorded else None,
            labels.get((result.key, result.attempt), ()),
        )


def run_view(
    info: RunInfo,
    summary: Summary,
    calibrations: Sequence[Calibration],
    *,
    cases: int,
    traces: shapes.Traces = "all",
    agents: Sequence[shapes.AgentView] = (),
    tools: Sequence[str] = (),
    labelled: int = 0,
    progress: shapes.ProgressView | None = None,
    failures: ModesView | None = None,
    attacks: AttackReport | None = None,
    groups: Sequence[str] = (),
) -> shapes.RunView:
    """Return the view of a whole run. A run that was interrupted has not passed."""
    verdict = Verdict.UNSCORED if info.finished is None and summary.verdict in _GREEN else summary.verdict
    by_name = {calibration.criterion: calibration for calibration in calibrations}
    attempts = sum(summary.cases.values())
    return shapes.RunView(
        view=shapes.VERSION,
        id=info.id,
        started=info.started,
        version=info.version,
        kind=info.kind,
        verdict=verdict.value,  # type: ignore[arg-type]
        counts=dict(summary.cases),
        invalid=dict(summary.invalid),
        criteria=[_criterion(criterion, by_name.get(criterion.criterion)) for criterion in summary.criteria],
        spending=summary.spending,
        config=info.config,
        signatures=info.signatures,
        command=repeat_command(info),
        cases=cases,
        attempts=attempts,
        traces=traces,
        finished=info.finished,
        seconds=info.seconds,
        reasons=list(summary.reasons),
        notes=list(summary.notes),
        pass_k=list(summary.pass_k),
        decision=summary.decision,
        agents=list(agents),
        tools=list(tools),
        clustered=attempts > cases,
        labelled=labelled,
        name=info.name,
        progress=progress,
        failures=failures,
        attacks=attacks,
        groups=list(groups),
        skill_uses=list(summary.skill_uses),
    )


def run_row(info: RunInfo, summary: Summary, *, is_alive: bool) -> shapes.RunRow:
    """Return a run in the list of runs."""
    config: Mapping[str, Json] = info.config
    paths = ", ".join(map(str, config.get("paths") or ()))
    verdict = Verdict.UNSCORED if info.finished is None else info.verdict or summary.verdict
    return shapes.RunRow(
        id=info.id,
        started=info.started,
        kind=info.kind,
        verdict=verdict.value,  # type: ignore[arg-type]
        counts=dict(summary.cases),
        finished=info.finished,
        is_alive=is_alive,
        name=info.name,
        tags=list(info.tags),
        target=str(config.get("agent") or paths),
        suite=", ".join(map(str, config.get("against") or ())) or paths,
        case_verdicts=dict(summary.case_verdicts),
        criteria=[
            shapes.RunCriterion(
                own.criterion,
                own.mean,
                own.pass_rate,
                own.range,
                find_unit(own.criterion),
                own.threshold,
            )
            for own in summary.criteria
            if own.mean.value is not None
        ],
    )


def repeat_command(info: RunInfo) -> str:
    """Return the command that repeats a run. It is empty for a run of Python objects, which no command can name."""
    config: Mapping[str, Json] = info.config
    ids, files = config.get("eval_set_ids") or (), config.get("eval_sets") or ()
    are_objects = any(path == set_id for set_id, (path, _) in zip(ids, files, strict=False))
    if are_objects or list(config.get("paths") or ()) == ["memory"]:
        return ""
    words = ["fairtrial", info.kind, *map(str, config.get("paths") or ())]
    for name, option in _VALUES.items():
        if config.get(name) not in (None, "", "id"):
            words += [option, str(config[name])]
    for path in config.get("against") or ():
        words += ["--against", str(path)]
    if (config.get("attempts") or 1) > 1:
        words += ["--attempts", str(config["attempts"])]
    for pattern in config.get("only") or ():
        words += ["--only", str(pattern)]
    for name, value in (config.get("thresholds") or {}).items():
        words += ["--threshold", f"{name}={value:g}"]
    words += [option for name, option in _FLAGS.items() if config.get(name)]
    return shlex.join(words)


def _criterion(summary: CriterionSummary, calibration: Calibration | None) -> shapes.CriterionView:
    return shapes.CriterionView(
        **asdict(summary),
        unit=find_unit(summary.criterion),
        judge=calibration,
        judge_message="" if calibration is None else describe(calibration),
        has_data=has_data(summary),
    )


class ComparedRow(NamedTuple):
    """A case of one run, as far as a comparison shows it. `passed` attempts passed or only inform.

    `values` are the means of criteria over its attempts.
    """

    position: int
    name: str
    eval_set: str
    passed: int
    attempts: int
    values: Mapping[str, float] = {}


def compared_row(
    position: int, name: str, eval_set: str, verdicts: Collection[str], values: Mapping[str, float]
) -> ComparedRow:
    """Return a case with the verdicts of its attempts, and the means of its criteria, for a comparison."""
    return ComparedRow(position, name, eval_set, sum(verdict in _GREEN for verdict in verdicts), len(verdicts), values)


def comparison_view(comparison: Comparison, *rows: Sequence[ComparedRow]) -> shapes.ComparisonView:
    """Return the view of a comparison. `rows` are the cases of the base and of the candidate, or of the candidate."""
    first, second = comparison.runs
    cases = _join_cases(comparison, *rows) if len(rows) == 2 else _moved_cases(comparison, rows[0])
    return shapes.ComparisonView(
        base=first.id,
        candidate=second.id,
        level=comparison.level,
        about=comparison.about,
        rows=list(comparison.rows),
        setup=list(comparison.setup),
        warnings=list(comparison.warnings),
        cases=list(cases),
        margin=comparison.margin,
        units={row.measure: unit for row in comparison.rows if (unit := find_unit(row.measure))},
    )


def _join_cases(
    comparison: Comparison, base: Sequence[ComparedRow], candidate: Sequence[ComparedRow]
) -> Iterator[shapes.ComparedCase]:
    """Yield each case of the base, then the cases that only the candidate has. Cases are joined by their names."""
    ours = {(row.eval_set, row.name): row for row in candidate}
    changed = {*comparison.pairs.changed, *comparison.pairs.ambiguous}
    flips = {move.case: move.flipped for move in comparison.moved}
    for row in base:
        partner = ours.pop((row.eval_set, row.name), None)
        if partner is None:
            change: shapes.CaseChange = "only_base"
        elif row.name in changed:
            change = "expectation_changed"
        else:
            change = flips.get(row.name) or _change(row, partner)
        yield _compared_case(change, row, partner)
    for row in ours.values():
        yield _compared_case("only_candidate", None, row)


def _moved_cases(comparison: Comparison, candidate: Sequence[ComparedRow]) -> Iterator[shapes.ComparedCase]:
    """Yield each case of the candidate. The attempts of the base are known only if the pass rate changed."""
    moves = {move.case: move for move in comparison.moved}
    pairs = comparison.pairs
    for row in candidate:
        after = _count_passed(row)
        if row.name in moves:
            move = moves[row.name]
            yield shapes.ComparedCase(row.name, move.flipped or "flaky", move.base, after, candidate=row.position)
        elif row.name in pairs.only_candidate:
            yield shapes.ComparedCase(row.name, "only_candidate", (0, 0), after, candidate=row.position)
        elif row.name in pairs.changed or row.name in pairs.ambiguous:
            yield shapes.ComparedCase(row.name, "expectation_changed", (0, 0), after, candidate=row.position)
        else:
            yield shapes.ComparedCase(row.name, "same", after, after, candidate=row.position)
    for name in pairs.only_base:
        yield shapes.ComparedCase(name, "only_base", (0, 0), (0, 0))


def _compared_case(
    change: shapes.CaseChange, base: ComparedRow | None, candidate: ComparedRow | None
) -> shapes.ComparedCase:
    return shapes.ComparedCase(
        name=(base or candidate).name,  # type: ignore[union-attr]
        change=change,
        base=None if base is None else base.position,
        candidate=None if candidate is None else candidate.position,
        base_passed=_count_passed(base),
        candidate_passed=_count_passed(candidate),
        moved={} if base is None or candidate is None else _moved_criteria(base.values, candidate.values),
    )


def _moved_criteria(
    base: Mapping[str, float], candidate: Mapping[str, float]
) -> dict[str, tuple[float | None, float | None]]:
    """Return the criteria whose means differ, by more than the rounding of a mean."""
    pairs = {name: (base.get(name), candidate.get(name)) for name in dict.fromkeys((*base, *candidate))}
    return {
        name: (before, after)
        for name, (before, after) in pairs.items()
        if before is None or after is None or not isclose(before, after, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    }


def _count_passed(row: ComparedRow | None) -> tuple[int, int]:
    """Return how many attempts of a case passed, of how many."""
    return (0, 0) if row is None else (row.passed, row.attempts)


def _change(base: ComparedRow, candidate: ComparedRow) -> shapes.CaseChange:
    """Return whether a case whose verdict did not change is the same or flaky, with attempts that differ."""
    before, after = _count_passed(base), _count_passed(candidate)
    is_uniform = before[0] in (0, before[1]) and after[0] in (0, after[1])
    return "same" if is_uniform and bool(before[0]) == bool(after[0]) else "flaky"
