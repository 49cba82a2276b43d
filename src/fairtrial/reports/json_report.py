"""A run as JSON, which other programs read. `python -m fairtrial.reports.json_report` prints its JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from typing import Any, BinaryIO, Literal

import msgspec

from fairtrial.judge.ballot_costs import ballots_of
from fairtrial.records.attempt_rule import AttemptRule
from fairtrial.records.calibration import Calibration
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import Fault, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import PartKey, Score
from fairtrial.records.summary import CriterionSummary, Estimate, Valid
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult
from fairtrial.reports.attempts import CaseAttempts
from fairtrial.reports.judges.judge_states import describe
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.transcript import Transcript, transcripts
from fairtrial.reports.views import report_shapes as shapes
from fairtrial.reports.views.ballot_shapes import ballot_shape

_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the report."""
    # msgspec describes an empty tuple as a tuple, and not as a list of JSON.
    described = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(shapes.ReportShape)))
    for shape in described["$defs"].values():
        shape["description"] = inspect.cleandoc(shape["description"])  # from 3.13 on Python does so itself
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:  # noqa: ARG001
    """Write the report, one case a line, without holding the cases in memory.

    A run that was interrupted has not passed. `options` change nothing here; every report has them.
    """
    info, summary = run.info, run.summary
    so_far = summary.verdict
    verdict = Verdict.UNSCORED if info.finished is None and so_far in _GREEN else so_far
    about = shapes.RunShape(info.id, info.started, info.version, info.config, info.signatures)
    stream.write(b'{"run": %s,\n "verdict": %s,\n "cases": [' % (_json(about), _json(verdict)))
    stream.writelines((b",\n  " if i else b"\n  ") + _json(shape) for i, shape in enumerate(_cases(run)))
    calibrations = {calibration.criterion: calibration for calibration in run.calibrations}
    rows = b",\n  ".join(
        _json(_summary(criterion, calibrations.get(criterion.criterion))) for criterion in summary.criteria
    )
    usage = summary.spending
    spending = shapes.SpendingShape(*map(_usage, (usage.agent, usage.judge, usage.simulator, usage.environment)))
    end = (rows, _json(spending), _json(info.finished is not None), _json(summary.pass_k), _json(summary.decision))
    stream.write(
        b'],\n "summary": [\n  %s],\n "spending": %s,\n "finished": %s,\n "pass_k": %s,\n "decision": %s' % end
    )
    stream.write(b',\n "notes": %s,\n "ballots": [' % _json(summary.notes))
    replies = run.replies
    ballots = (ballot_shape(ballot, replies) for ballot in run.ballots.values())
    stream.writelines((b",\n  " if i else b"\n  ") + _json(shape) for i, shape in enumerate(ballots))
    stream.write(b"]}\n")


_json = msgspec.json.Encoder().encode


def _cases(run: ReportedRun) -> Iterator[shapes.CaseShape]:
    """Yield the attempts. The attempts of one case are held at once, because they make the verdict of the case."""
    rules = run.info.attempt_rules
    for _, group in groupby(transcripts(run), key=lambda transcript: transcript.result.position):
        of_case = list(group)
        first = of_case[0].result
        rule = rules.of(first.eval_set, first.case_id)
        verdict = CaseAttempts(tuple(transcript.result for transcript in of_case), rule).verdict
        for transcript in of_case:
            yield _case(transcript, verdict, rule)


def _case(transcript: Transcript, case_verdict: Verdict, rule: AttemptRule) -> shapes.CaseShape:
    result = transcript.result
    failure, fault, invalidations = result.failure, result.fault, result.invalidations
    return shapes.CaseShape(
        result.case_id,
        result.attempt,
        result.verdict.value,  # type: ignore[arg-type]
        shapes.ErrorShape(failure.side, failure.cause, failure.traceback) if failure else None,
        _fault(fault) if fault else None,
        None if invalidations is None else [_fault(invalidation) for invalidation in invalidations],
        result.ended_by,
        result.usage,
        [_outcome(outcome) for outcome in result.outcomes],
        _usage(result.judge),
        _usage(result.simulator),
        _usage(result.environment),
        [_injected(entry) for entry in result.injections],
        result.eval_set,
        result.digest,
        None if transcript.recording is None else _turns(transcript),
        [shapes.TurnShape(own.query, None, None, _expected_turn(own)) for own in transcript.missing],
        case_verdict.value,  # type: ignore[arg-type]
        str(rule),
    )


def _turns(transcript: Transcript) -> list[shapes.TurnShape]:
    turns = []
    for index, invocation in enumerate(transcript.invocations):
        steps = None if invocation.steps is None else list(map(_step, invocation.steps))
        reply = None if invocation.final_response is None else invocation.reply
        turns.append(shapes.TurnShape(invocation.query, steps, reply, _expected_turn(transcript.expected(index))))
    return turns


def _expected_turn(expected: Invocation | None) -> shapes.ExpectedTurnShape | None:
    if expected is None:
        return None
    calls = None if expected.steps is None else list(map(_step, expected.tool_calls))
    return shapes.ExpectedTurnShape(calls, None if expected.final_response is None else expected.reply)


def _step(step: Step) -> shapes.StepShape:
    if isinstance(step, ToolCall):
        return shapes.StepShape("tool_call", step.author, None, step.name, step.args, None, None)
    if isinstance(step, ToolResult):
        return shapes.StepShape("tool_result", step.author, None, step.name, None, step.response, step.is_error)
    kind: Literal["message", "thought"] = "message" if isinstance(step, Message) else "thought"
    return shapes.StepShape(kind, step.author, step.text, None, None, None, None)


def _fault(fault: Fault) -> shapes.FaultShape:
    return shapes.FaultShape(fault.side, list(fault.evidence))


def _usage(usage: ModelUsage | None) -> shapes.SpentShape | None:
    return None if usage is None else shapes.SpentShape(*msgspec.structs.astuple(usage))


def _injected(entry: InvocationInjection) -> shapes.InjectedShape:
    injected = entry.injected
    return shapes.InjectedShape(entry.invocation, entry.tool, injected.effect, injected.detail, injected.invalidates)


def _outcome(outcome: Outcome) -> shapes.OutcomeShape:
    judge_stats, score = outcome.judge_stats, outcome.score
    return shapes.OutcomeShape(
        outcome.criterion,
        score.value,
        outcome.threshold,
        outcome.verdict.value,  # type: ignore[arg-type]
        score.reason,
        judge_stats.calls if judge_stats else None,
        judge_stats.calls_saved if judge_stats else None,
        judge_stats.abstentions if judge_stats else None,
        judge_stats.cost if judge_stats else None,
        judge_stats.self_agreement if judge_stats else None,
        judge_stats.panel_agreement if judge_stats else None,
        [_part(part) for part in score.parts],
        judge_stats.input_tokens if judge_stats else None,
        judge_stats.output_tokens if judge_stats else None,
        judge_stats.unpriced_calls if judge_stats else None,
        list(ballots_of(score)),
    )


def _part(score: Score) -> shapes.PartShape:
    quotes = [shapes.QuoteShape(quote.text, quote.source) for quote in score.quotes]
    parts = [_part(part) for part in score.parts]
    return shapes.PartShape(score.title, _key(score.key), score.value, score.applicable, score.reason, quotes, parts)


def _key(key: PartKey | None) -> shapes.KeyShape | None:
    return None if key is None else shapes.KeyShape(key.kind, key.index, key.id)


def _summary(summary: CriterionSummary, calibration: Calibration | None) -> shapes.SummaryShape:
    return shapes.SummaryShape(
        summary.criterion,
        summary.mean.value,
        summary.mean.low,
        summary.mean.high,
        summary.mean.method,
        _rate(summary.pass_rate),
        summary.passed,
        summary.failed,
        summary.unscored,
        summary.not_applicable,
        summary.informational,
        summary.errors,
        summary.self_agreement,
        summary.panel_agreement,
        _valid(summary.valid) if summary.valid else None,
        summary.threshold,
        summary.lower_is_better,
        shapes.RangeShape(summary.range.low, summary.range.high),
        _judge_state(calibration) if calibration else None,
        _rate(calibration.corrected) if calibration else None,
        summary.cost,
        summary.unpriced_calls,
        list(summary.pair_agreements),
        summary.self_agreement_interval,
        summary.panel_agreement_interval,
    )


def _judge_state(calibration: Calibration) -> shapes.JudgeStateShape:
    return shapes.JudgeStateShape(
        calibration.state.value,
        calibration.judge,
        describe(calibration),
        calibration.labels,
    )


def _valid(summary: Valid) -> shapes.ValidShape:
    return shapes.ValidShape(
        summary.n, summary.mean.value, summary.mean.low, summary.mean.high, _rate(summary.pass_rate)
    )


def _rate(rate: Estimate) -> shapes.RateShape:
    return shapes.RateShape(rate.value, rate.low, rate.high, rate.method)


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())  # noqa: T201
