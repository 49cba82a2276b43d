"""Read the files of eval sets that people write: eval sets, data sets of agents-cli, and scenarios."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats import nearest_format
from fairtrial.formats.adk import case_parts, evalset
from fairtrial.formats.adk.write import scenario_json
from fairtrial.formats.agents_cli import dataset
from fairtrial.formats.jsontext import count_quotes, decode, members
from fairtrial.formats.value_shapes import holds_cases
from fairtrial.records.case import EvalCase, EvalSet

if TYPE_CHECKING:
    from fairtrial.formats.large_text import LargeText
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.attempt import Recording

EVAL_SET = "eval set"
DATASET = "agents-cli dataset"
RESULT_KEYS = frozenset(("eval_case_results", "evalCaseResults"))
CONFIG_KEYS = frozenset(("criteria", "custom_metrics", "customMetrics"))
OWN_KEYS = frozenset(("eval_cases", "evalCases", *RESULT_KEYS, *CONFIG_KEYS))
"""The keys of eval sets, of their results and of configurations."""


def read_eval_set(
    top: dict[str, Any], reading: Diagnostics, stem: str, text: LargeText | None = None
) -> tuple[str, EvalSet, tuple[Recording, ...]]:
    """Return the kind of an eval set, its cases, and the conversations that are recorded in them.

    The memory of a large `text` is free piece by piece while its cases are read.
    """
    fields, extra = reading.fields(
        {key: value for key, value in top.items() if not _is_null(value)}, evalset.SET, (), open_ended=True
    )
    at: Place = ((), "eval_cases")
    raw_cases = _raw_cases(fields.pop("eval_cases", None), at, reading)
    reading.quotes += count_quotes(list(top))
    is_dataset = _is_dataset(raw_cases, reading)
    cases: list[EvalCase] = []
    recordings: list[Recording] = []
    raw_cases.reverse()  # each case is popped, so that its memory is free before the next case is read
    end = 0
    while raw_cases:
        raw_case = raw_cases.pop()
        raw, place = decode_member(raw_case), (at, len(cases))
        if text is not None:
            end += len(memoryview(raw_case))
            text.forget(end)
        reading.quotes += count_quotes(raw)
        if is_dataset:
            attempts = dataset.case(raw, len(cases), place, reading)
            cases.append(attempts.case)
            recordings += attempts.recordings
            continue
        cases.append(evalset.case(raw, place, reading))
        recording = evalset.recorded(cases[-1], place, reading)
        if recording is not None:
            recordings.append(recording)
    check_unique(cases, at, "eval_case_id" if is_dataset else "eval_id", reading)
    whole = {key: decode_member(value) for key, value in fields.items()}
    whole_extra = {key: decode_member(value) for key, value in (extra or {}).items()}
    for key, value in whole_extra.items():
        if holds_cases(value):
            reading.error(((), key), "holds cases beside 'eval_cases', which nothing would run; keep one list of cases")
    reading.quotes += count_quotes([*whole.values(), *whole_extra.values()])
    eval_set = evalset.eval_set(whole, whole_extra, tuple(cases), stem)
    return DATASET if is_dataset else EVAL_SET, eval_set, tuple(recordings)


def _raw_cases(raw: Any, at: Place, reading: Diagnostics) -> list[Any]:
    """Return the cases of an eval set, each still undecoded if the file is strict JSON."""
    raw_cases = _split(raw) if isinstance(raw, msgspec.Raw) else raw
    if type(raw_cases) is list:
        return raw_cases
    reading.wrong_type(at, "an array of cases", decode_member(raw_cases))
    return []


def _is_dataset(raw_cases: list[Any], reading: Diagnostics) -> bool:
    """Whether the first case is a case of agents-cli. Raises FormatError if it is a case of no format."""
    first = decode_member(raw_cases[0]) if raw_cases else None
    if not isinstance(first, dict) or first.keys() & evalset.CASE_MARKS:
        return False
    if not first.keys() & dataset.CASE_MARKS:
        # The keys belong to an eval set, but the cases do not. One problem says more than a problem for each case.
        raise FormatError(reading.path, [f"/eval_cases/0: {nearest_format.case_problem(first)}"])
    return True


def _is_null(value: Any) -> bool:
    return bytes(memoryview(value)[:5]) == b"null" if isinstance(value, msgspec.Raw) else value is None


def read_scenarios(top: dict[str, Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the cases of scenarios, named as in google-adk: by 8 digits of the SHA-256 of their sorted JSON."""
    at: Place = ((), "scenarios")
    cases: list[EvalCase] = []
    for i, raw in enumerate(top["scenarios"]):
        scenario = case_parts.scenario(raw, (at, i), reading)
        text = json.dumps({"user_persona": None, **scenario_json(scenario)}, sort_keys=True)
        cases.append(EvalCase(hashlib.sha256(text.encode()).hexdigest()[:8], scenario=scenario))
    check_unique(cases, at, "starting_prompt", reading)
    return EvalSet(stem, tuple(cases))


def _split(raw: msgspec.Raw) -> Any:
    inner = memoryview(raw)
    return members(inner) if bytes(inner[:1]) == b"[" else decode(inner)


def check_unique(cases: list[EvalCase], at: Place, key: str, reading: Diagnostics) -> None:
    """Note each case with the id of an earlier case."""
    if len({case.id for case in cases}) == len(cases):
        return
    indexes: dict[str, int] = {}
    for i, case in enumerate(cases):
        if case.id and case.id in indexes:  # a case without an id has its problem already
            reading.error(((at, i), key), f"must be unique, got {case.id!r} as in case {indexes[case.id]}")
        indexes.setdefault(case.id, i)


def decode_member(item: Any) -> Any:
    """Return a member of a document, decoded if it is still text."""
    return decode(item) if type(item) is msgspec.Raw else item
