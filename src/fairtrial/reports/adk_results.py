"""A run as ADK's `.evalset_result.json`, so that a team can keep its viewer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.formats.adk.strict import strict_invocation
from fairtrial.formats.adk.write import invocation_json
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.score import Score, scores_of_invocations
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.transcript import transcripts

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Invocation, Trace

_STATUS = {
    Verdict.PASSED: 1,
    Verdict.FAILED: 2,
    Verdict.ERROR: 2,
    Verdict.UNSCORED: 3,
    Verdict.NOT_APPLICABLE: 3,
    Verdict.INFORMATIONAL: 4,
}
_USER = "test_user_id"
_UNSAFE = re.compile(r"[^\w-]")  # a name from a file never becomes a path
_LONGEST = 80  # in bytes: the name of a file has at most 255 bytes, with the app, the set, the time and the suffix


def write(folder: Path, run: ReportedRun, options: ReportOptions = DEFAULTS) -> list[Path]:  # noqa: ARG001
    """Write one file for each eval set, named and laid out as ADK does, and return the files.

    A case of several attempts is written once for each attempt. `options` change nothing here; every report has them.
    """
    expected = list(run.expected)
    folder.mkdir(parents=True, exist_ok=True)
    by_position = {case.position: case for case in expected}
    pairs = (
        (own.result, own.recording)
        for own in transcripts(run)
        if own.recording is not None and own.result.position in by_position
    )
    created = datetime.fromisoformat(run.info.started).timestamp()
    app = next((case.case.session_input.app_name for case in expected if case.case.session_input), "") or "fairtrial"
    files: list[Path] = []
    used_names: set[str] = set()
    for set_id, group in groupby(pairs, key=lambda pair: by_position[pair[0].position].eval_set):
        name = _unused_name(f"{_file_name_part(app)}_{_file_name_part(set_id)}_{created}", used_names)
        about = {"eval_set_result_id": name, "eval_set_result_name": name, "eval_set_id": set_id}
        files.append(folder / f"{name}.evalset_result.json")
        with files[-1].open("wb") as file:
            file.write(_indent_block(about)[:-2] + b',\n  "eval_case_results": [')
            for i, (result, recording) in enumerate(group):
                case_json = _indent_block(_case(result, by_position[result.position], recording))
                file.write((b",\n    " if i else b"\n    ") + case_json.replace(b"\n", b"\n    "))
            file.write(b'\n  ],\n  "creation_timestamp": %s\n}' % msgspec.json.encode(created))
    return files


def _file_name_part(name: str) -> str:
    """Return a name as a part of the name of a file: short, and without characters that a path could hold."""
    return _UNSAFE.sub("_", name).encode()[:_LONGEST].decode(errors="ignore")


def _indent_block(value: dict[str, Json]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _unused_name(name: str, used_names: set[str]) -> str:
    """Return a name that no other file of this run has, for example `shop_2` if `shop` is used."""
    candidates = (name, *(f"{name}_{i}" for i in range(2, len(used_names) + 3)))
    unused = next(candidate for candidate in candidates if candidate not in used_names)
    used_names.add(unused)
    return unused


def _case(result: CaseResult, expected: ExpectedCase, recording: Recording) -> dict[str, Json]:
    # ADK does not know criteria that do not apply.
    outcomes = [outcome for outcome in result.outcomes if outcome.verdict is not Verdict.NOT_APPLICABLE]
    return {
        "eval_set_id": expected.eval_set,
        "eval_id": expected.case.id,
        "final_eval_status": _STATUS[result.verdict],
        "overall_eval_metric_results": [_metric(outcome, outcome.score, outcome.verdict) for outcome in outcomes],
        "eval_metric_result_per_invocation": _invocations(recording.trace, expected.case.conversation or (), outcomes),
        "session_id": recording.trace.session_id or f"fairtrial-{result.title}-{result.attempt}",
        "user_id": (expected.case.session_input.user_id if expected.case.session_input else "") or _USER,
    }


def _invocations(trace: Trace, expected: Sequence[Invocation], outcomes: Sequence[Outcome]) -> list[Json]:
    """Return each recorded invocation with the results of all criteria for it."""
    with_scores = [(outcome, scores_of_invocations(outcome.score)) for outcome in outcomes]
    last = len(trace.invocations) - 1
    return [
        {
            "actual_invocation": strict_invocation(invocation_json(actual)),
            "expected_invocation": strict_invocation(invocation_json(expected[index]))
            if index < len(expected)
            else None,
            "eval_metric_results": [
                _metric_of_invocation(outcome, scores, index, is_last=index == last) for outcome, scores in with_scores
            ],
        }
        for index, actual in enumerate(trace.invocations)
    ]


def _metric_of_invocation(outcome: Outcome, scores: dict[int, Score], index: int, *, is_last: bool) -> dict[str, Json]:
    """Return the result of a criterion for one invocation.

    If the criterion scores the conversation as a whole, ADK writes its result to the last invocation, and "not
    evaluated" to all others.
    """
    if not scores and is_last:
        return _metric(outcome, outcome.score, outcome.verdict)
    part = scores.get(index)
    if part is None:
        return _metric(outcome, Score(), Verdict.UNSCORED)
    return _metric(outcome, part, replace(outcome, score=part).verdict)


def _metric(outcome: Outcome, score: Score, verdict: Verdict) -> dict[str, Any]:
    threshold = outcome.threshold
    return {
        "metric_name": outcome.criterion,
        "threshold": threshold,
        "criterion": None if threshold is None else {"threshold": threshold},
        "score": score.value,
        "eval_status": _STATUS[verdict],
    }
