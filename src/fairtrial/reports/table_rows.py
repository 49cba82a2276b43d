"""The columns of every table output: of a run's tables, of its data frame, and of a scored data set's folder.

A column has its name, the name of its Arrow type and its value in one place. Every row names its run, so that tables of
several runs can be joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.timestamps import model_beside, time_beside
from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import CaseResult, JudgeStats, Outcome, Verdict
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult
from fairtrial.reports.views.view_attempts import attempt_parts
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import JudgeAnswer, Vote
    from fairtrial.records.run import RunInfo
    from fairtrial.records.score import FaultSide, PartKind, Score
    from fairtrial.reports.report_table import ReportedRun

Row = tuple[Any, ...]


class Column(NamedTuple):
    """A column: its name, the name of its Arrow type (`list` is a list of texts), and its value.

    The value is a function, or the path of an attribute, which is faster if all columns of a table have one.
    """

    name: str
    kind: str
    value: Callable[[Any], Any] | str


class TableAttempt(NamedTuple):
    """An attempt of a run. `verdicts` are those of its outcomes. `recording` is None if it is not at hand."""

    run: RunInfo
    result: CaseResult
    verdicts: Sequence[Verdict]
    verdict: Verdict
    recording: Recording | None = None


class _NoJudge(NamedTuple):
    calls: int | None = None
    cost: float | None = None
    self_agreement: float | None = None


class _Outcome(NamedTuple):
    """An outcome with its verdict, the verdict on its attempt, and the side at fault in the attempt."""

    outcome: Outcome
    verdict: str
    attempt_verdict: str
    fault: FaultSide | None
    judge: JudgeStats | _NoJudge


class _Part(NamedTuple):
    criterion: str
    path: str
    score: Score


class _Answer(NamedTuple):
    """The answer of a vote on an item of a question, or the problem in its place."""

    criterion: str
    ballot: str
    vote: Vote
    item: str
    answer: JudgeAnswer | None
    problem: str | None


class _Step(NamedTuple):
    invocation: int
    number: int
    kind: str
    step: Step


RUN = (
    Column("run", "string", "id"),
    Column("series", "string", lambda run: run.name or None),
    Column("run_started", "string", "started"),
)
PLACE = (
    Column("position", "int64", lambda result: None if result.position < 0 else result.position),
    Column("attempt", "int64", "attempt"),
    Column("eval_set", "string", "eval_set"),
    Column("case_id", "string", "case_id"),
    Column("digest", "string", "digest"),
)
ATTEMPT = (
    Column("case", "string", "result.title"),
    Column("tags", "list", "run.tags"),
    Column("model", "string", lambda own: _models(own.recording)),
    Column("created", "double", lambda own: _read_created(own.recording)),
    Column("verdict", "string", "verdict.value"),
    Column("valid", "bool", lambda own: None if own.result.invalidations is None else not own.result.invalidations),
    Column(
        "invalid_side", "string", lambda own: own.result.invalidations[0].side if own.result.invalidations else None
    ),
    Column("fault", "string", lambda own: own.result.find_fault_side(own.verdict)),
    Column("failure_side", "string", lambda own: None if own.result.failure is None else own.result.failure.side),
    Column("failure_cause", "string", lambda own: None if own.result.failure is None else own.result.failure.cause),
    Column("ended_by", "string", "result.ended_by"),
    Column("inference_calls", "int64", lambda own: (own.result.usage or {}).get("inference_calls")),
    Column("input_tokens", "int64", lambda own: _tokens(own.result, "input_tokens")),
    Column("output_tokens", "int64", lambda own: _tokens(own.result, "output_tokens")),
    Column("judge_calls", "int64", lambda own: None if (judge := own.result.judge) is None else judge.calls),
    Column("judge_cost", "double", lambda own: None if (judge := own.result.judge) is None else judge.cost),
    Column("warnings", "list", "result.warnings"),
    Column("probability", "double", "result.probability"),
)
OUTCOME = (
    Column("criterion", "string", "outcome.criterion"),
    Column("value", "double", "outcome.score.value"),
    Column("threshold", "double", "outcome.threshold"),
    Column("lower_is_better", "bool", "outcome.lower_is_better"),
    Column("verdict", "string", "verdict"),
    Column("attempt_verdict", "string", "attempt_verdict"),
    Column("fault", "string", "fault"),
    Column("reason", "string", "outcome.score.reason"),
    Column("judge_calls", "int64", "judge.calls"),
    Column("judge_cost", "double", "judge.cost"),
    Column("self_agreement", "double", "judge.self_agreement"),
)
PART = (
    Column("criterion", "string", "criterion"),
    Column("part", "string", "path"),
    Column("kind", "string", lambda own: None if own.score.key is None else own.score.key.kind),
    Column("index", "int64", lambda own: None if own.score.key is None else own.score.key.index),
    Column("id", "string", lambda own: "" if own.score.key is None else own.score.key.id),
    Column("title", "string", "score.title"),
    Column("value", "double", "score.value"),
    Column("applicable", "bool", "score.applicable"),
    Column("reason", "string", "score.reason"),
    Column("side", "string", "score.side"),
)
_ANSWER = (
    Column("criterion", "string", "criterion"),
    Column("ballot", "string", "ballot"),
    Column("draw", "int64", "vote.draw"),
    Column("wave", "int64", "vote.wave"),
    Column("voter", "string", "vote.voter"),
    Column("item", "string", "item"),
    Column("answer", "string", lambda own: None if own.answer is None else own.answer.answer),
    Column("rationale", "string", lambda own: None if own.answer is None else own.answer.rationale),
    Column("quote", "string", lambda own: None if own.answer is None else own.answer.quote),
    Column("problem", "string", "problem"),
    Column(
        "vote_cost", "double", lambda own: sum(call.cost or 0.0 for call in own.vote.calls) if own.vote.calls else None
    ),
)
_STEP = (
    Column("invocation", "int64", "invocation"),
    Column("step", "int64", "number"),
    Column("kind", "string", "kind"),
    Column("author", "string", "step.author"),
    Column("text", "string", lambda own: own.step.text if isinstance(own.step, Message | Thought) else None),
    Column("tool", "string", lambda own: own.step.name if isinstance(own.step, ToolCall | ToolResult) else None),
    Column("content", "string", lambda own: _content(own.step)),
    Column("is_error", "bool", lambda own: own.step.is_error if isinstance(own.step, ToolResult) else None),
    Column("started", "double", "step.started"),
    Column("seconds", "double", "step.seconds"),
)
_LABEL_TEXTS = ("author", "at", "note", "key", "source", "side", "reference")
_LABEL = (
    Column("eval_set", "string", "case.eval_set"),
    Column("case_id", "string", "case.case"),
    Column("digest", "string", "case.digest"),
    Column("attempt", "int64", "attempt"),
    Column("criterion", "string", "criterion"),
    Column("part", "string", lambda own: None if own.part is None else str(own.part)),
    *(Column(name, "double", name) for name in ("value", "weight", "seconds", "probability")),
    Column("blind", "bool", "blind"),
    *(Column(name, "string", name) for name in _LABEL_TEXTS),
)


def list_types(columns: Iterable[Column]) -> dict[str, str]:
    """Return the names of columns with those of their Arrow types."""
    return {column.name: column.kind for column in columns}


def read_values(columns: Iterable[Column]) -> Callable[[Any], Row]:
    """Return a function from something to its values in columns."""
    values = [column.value for column in columns]
    paths = [value for value in values if isinstance(value, str)]
    if len(paths) == len(values):
        return attrgetter(*paths)
    functions = [attrgetter(value) if isinstance(value, str) else value for value in values]
    return lambda own: tuple([function(own) for function in functions])


_TEXTS = {verdict: verdict.value for verdict in Verdict}
_NO_JUDGE = _NoJudge()
_run_values, _place_values = read_values(RUN), read_values(PLACE)
_outcome_values, _part_values = read_values(OUTCOME), read_values(PART)
attempt_values = read_values(ATTEMPT)


def key_values(run: RunInfo) -> Callable[[CaseResult], Row]:
    """Return a function from an attempt of a run to the values that all of its rows share."""
    own = _run_values(run)
    return lambda result: own + _place_values(result)


def outcome_values(attempt: TableAttempt) -> Iterator[Row]:
    """Yield the values of each outcome of an attempt."""
    verdict, fault = _TEXTS[attempt.verdict], attempt.result.find_fault_side(attempt.verdict)
    for outcome, own in zip(attempt.result.outcomes, attempt.verdicts, strict=True):
        yield _outcome_values(_Outcome(outcome, _TEXTS[own], verdict, fault, outcome.judge_stats or _NO_JUDGE))


def part_values(result: CaseResult, without: Collection[PartKind] = ()) -> Iterator[Row]:
    """Yield the values of each part of the scores of an attempt, at any depth, but not of some kinds."""
    for outcome in result.outcomes:
        for part in outcome.score.parts:
            if part.parts or part.key is None or part.key.kind not in without:
                break
        else:  # most scores have only parts about invocations
            continue
        for path, part in _inner(outcome.score):
            if part.key is None or part.key.kind not in without:
                yield _part_values(_Part(outcome.criterion, path, part))


def table_attempt(run: RunInfo, result: CaseResult, recording: Recording | None = None) -> TableAttempt:
    """Return an attempt with its verdicts."""
    verdicts = result.verdicts
    return TableAttempt(run, result, verdicts, result.combine_verdicts(verdicts), recording)


def _tokens(result: CaseResult, name: str) -> int | None:
    """Return the tokens of one kind, or None if a call does not report them: a sum would be too low."""
    usage = result.usage or {}
    return None if usage.get("unreported_calls") else usage.get(name)


def _inner(score: Score, above: str = "") -> Iterator[tuple[str, Score]]:
    """Yield the parts of a score at any depth, with their places, such as 0 and 0.2."""
    for number, part in enumerate(score.parts):
        path = f"{above}{number}"
        yield path, part
        yield from _inner(part, f"{path}.")


def _models(recording: Recording | None) -> str | None:
    """Return the models of the agent that a recording names, or None if it names none."""
    models = {} if recording is None else dict.fromkeys(recording.trace.models)
    return ", ".join(models) or (None if recording is None else model_beside(recording.trace))


def _read_created(recording: Recording | None) -> float | None:
    """Return the time of the first invocation of a recording, or that beside its messages, in seconds since 1970."""
    if recording is None:
        return None
    invocations = recording.trace.invocations
    own = invocations[0].created if invocations else None
    return time_beside(recording.trace) if own is None else own


def _content(step: Step) -> str | None:
    if isinstance(step, ToolCall):
        return compact(step.args)
    return compact(step.response) if isinstance(step, ToolResult) else None


def _attempts(run: ReportedRun) -> Iterator[Row]:
    key = key_values(run.info)
    for own in attempt_parts(run):
        yield key(own.result) + attempt_values(table_attempt(run.info, own.result, own.recording))


def _outcomes(run: ReportedRun) -> Iterator[Row]:
    key_of_run = key_values(run.info)
    for result in run.cases:
        key = key_of_run(result)
        yield from (key + values for values in outcome_values(table_attempt(run.info, result)))


def _parts(run: ReportedRun) -> Iterator[Row]:
    key_of_run = key_values(run.info)
    for result in run.cases:
        key = key_of_run(result)
        yield from (key + values for values in part_values(result))


def _ballots(run: ReportedRun) -> Iterator[Row]:
    key_of_run, values = key_values(run.info), read_values(_ANSWER)
    for result in run.cases:
        key = key_of_run(result)
        for outcome in result.outcomes:
            yield from (key + values(answer) for answer in _answers(run, outcome))


def _answers(run: ReportedRun, outcome: Outcome) -> Iterator[_Answer]:
    for name in dict.fromkeys(collect_ballot_ids(outcome.score)):
        ballot = run.ballots.get(name)
        for vote in () if ballot is None else ballot.votes:
            for item, answer in vote.opinions.items():
                yield _Answer(outcome.criterion, name, vote, item, answer, None)
            for item, problem in vote.problems.items():
                yield _Answer(outcome.criterion, name, vote, item, None, problem)


def _steps(run: ReportedRun) -> Iterator[Row]:
    key_of_run, values = key_values(run.info), read_values(_STEP)
    cases = {case.position: case.key for case in run.expected}
    for position, recording in run.recordings:
        case = cases.get(position, CaseKey("", recording.case_id, ""))
        place = CaseResult(
            recording.case_id, position, (), recording.attempt, eval_set=case.eval_set, digest=case.digest
        )
        key = key_of_run(place)
        for index, invocation in enumerate(recording.trace.invocations):
            steps = enumerate(_list_steps(invocation))
            yield from (key + values(_Step(index, number, kind, step)) for number, (kind, step) in steps)


def _list_steps(invocation: Invocation) -> Iterator[tuple[str, Step]]:
    yield "user", invocation.user
    yield from ((_KINDS[type(step)], step) for step in invocation.steps or ())
    if invocation.final_response is not None:
        yield "reply", invocation.final_response


_KINDS = {Message: "message", Thought: "thought", ToolCall: "tool_call", ToolResult: "tool_result"}


def _labels(run: ReportedRun) -> Iterator[Row]:
    key, values = _run_values(run.info), read_values(_LABEL)
    yield from (key + values(label) for label in run.labels)


class Table(NamedTuple):
    """A table: its columns, and the rows of a run."""

    columns: tuple[Column, ...]
    rows: Callable[[ReportedRun], Iterator[Row]]


KEY = RUN + PLACE
TABLES = {
    "attempts": Table(KEY + ATTEMPT, _attempts),
    "outcomes": Table(KEY + OUTCOME, _outcomes),
    "parts": Table(KEY + PART, _parts),
    "ballots": Table(KEY + _ANSWER, _ballots),
    "steps": Table(KEY + _STEP, _steps),
    "labels": Table(RUN + _LABEL, _labels),
}
"""Every table of a run. Positions, indices, invocations and steps count from 0, attempts, draws and waves from 1."""
