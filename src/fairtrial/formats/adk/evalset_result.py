"""Read cases and recordings of an `.evalset_result.json`, from ADK or tRPC-Agent-Go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import spellings
from fairtrial.formats.adk import evalset
from fairtrial.records.attempt import EndedBy, Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Trace

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

RESULT = spellings(
    "eval_set_result_id", "eval_set_result_name", "eval_set_id", "eval_case_results", "creation_timestamp"
)
_CASE = spellings(
    "eval_set_file",
    "eval_set_id",
    "eval_id",
    "final_eval_status",
    "eval_metric_results",
    "overall_eval_metric_results",
    "eval_metric_result_per_invocation",
    "session_id",
    "session_details",
    "user_id",
    "run_id",
)
_PAIR = spellings("actual_invocation", "expected_invocation", "eval_metric_results")
_FAILED = (2, "2", "failed")
_SILENT_CRASH = "the recorded run failed before it scored anything; ADK keeps no message of its agent's failure"


def results(fields: dict[str, Any], reading: Diagnostics) -> tuple[EvalSet, tuple[Recording, ...]]:
    """Return the expectations and the recordings. Several results of one case are its attempts, in their order."""
    cases: dict[str, EvalCase] = {}
    recordings: list[Recording] = []
    attempts: dict[str, int] = {}
    at: Place = ((), "eval_case_results")
    for i, raw in enumerate(reading.array(fields, "eval_case_results", ())):
        case, trace, failure = _case(raw, (at, i), reading)
        attempts[case.id] = attempts.get(case.id, 0) + 1
        cases.setdefault(case.id, case)
        ended_by: EndedBy = "failure" if failure else "script"
        recordings.append(Recording(case.id, trace, attempts[case.id], failure, ended_by))
    return EvalSet(str(fields.get("eval_set_id", "")), tuple(cases.values())), tuple(recordings)


def _case(raw: Any, at: Place, reading: Diagnostics) -> tuple[EvalCase, Trace, Failure | None]:
    fields, _ = reading.fields(raw, _CASE, at, open_ended=True)
    expected, actual = [], []
    place = (at, "eval_metric_result_per_invocation")
    for i, raw_pair in enumerate(reading.array(fields, "eval_metric_result_per_invocation", at)):
        pair, _ = reading.fields(raw_pair, _PAIR, (place, i), open_ended=True)
        if "actual_invocation" in pair:
            actual.append(evalset.invocation(pair["actual_invocation"], ((place, i), "actual_invocation"), reading))
        if "expected_invocation" in pair:
            expected.append(
                evalset.invocation(pair["expected_invocation"], ((place, i), "expected_invocation"), reading)
            )
    scores = fields.get("overall_eval_metric_results")
    # ADK writes a failure of the agent as a failed case without invocations and without scores.
    crashed = not actual and not scores and fields.get("final_eval_status") in _FAILED
    case = EvalCase(reading.required(fields, "eval_id", at), tuple(expected) or None)
    trace = Trace(tuple(actual), reading.text(fields, "session_id", at))
    return case, trace, Failure("agent", _SILENT_CRASH) if crashed else None
