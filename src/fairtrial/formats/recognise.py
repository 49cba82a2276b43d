"""Which kind of file is this, and what does it hold?"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from fairtrial.config.eval_config import EvalConfig
from fairtrial.errors import FormatError
from fairtrial.formats import messages, nearest_format, yaml_text
from fairtrial.formats.adk import config_file, evalset, evalset_result, legacy, session
from fairtrial.formats.adk.write import scenario_json
from fairtrial.formats.agents_cli import config as agents_cli_config
from fairtrial.formats.agents_cli import dataset
from fairtrial.formats.items import CHATS, ItemFormat, is_chat, own_or_reasoning, stem_of
from fairtrial.formats.jsontext import (
    decode,
    decode_lines,
    key_count,
    key_count_of,
    members,
    repaired,
    said_twice,
    strict_utf8,
)
from fairtrial.formats.reading import MOST_PROBLEMS, Diagnostics, Place
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record

_EVAL_SET = "eval set"
_DATASET = "agents-cli dataset"
_BY_HAND = (_EVAL_SET, _DATASET, "test file (old list form)", "eval set (old list form)", "scenarios", "EvalConfig")
"""Kinds of files that people write, in which a key that stands there twice is a mistake."""
_REFUSED = {
    "resourceSpans": "OpenTelemetry spans (OTLP)",
    "batches": "OpenTelemetry spans (a Tempo export)",
    "data": "traces (a Jaeger export)",
}


class Loaded(Record, frozen=True):
    """What one file holds. An eval set alone is an expectation, recordings alone are what happened; some hold both."""

    path: str
    kind: str
    eval_set: EvalSet | None = None
    recordings: tuple[Recording, ...] = ()
    config: EvalConfig | None = None
    warnings: tuple[str, ...] = ()


def read(data: bytes, path: str, *, lenient: bool = False) -> Loaded:
    """Return what the bytes of a file hold.

    Raises FormatError with every problem found, each with its line and column or its JSON pointer. `lenient` makes
    misspelt keys a warning.
    """
    data, warnings = strict_utf8(data, path)
    reading = Diagnostics(path, lenient=lenient)
    reading.warnings += warnings
    is_yaml, strict = path.endswith(yaml_text.SUFFIXES), True
    try:
        loaded = _document(yaml_text.decode(data, path) if is_yaml else members(data), reading)
    except ValueError:
        strict = False
        reading = Diagnostics(path, lenient=lenient)
        lines = decode_lines(data, path)
        if lines is not None:
            loaded = _document(lines, reading)
        else:
            value, repairs = repaired(data, path)
            reading.warnings += warnings + repairs
            loaded = _document(value, reading)
    # Most eval sets are large and have no key twice, which a count of keys shows without decoding them again.
    counted = strict and loaded.kind in (_EVAL_SET, _DATASET)
    if not is_yaml and loaded.kind in _BY_HAND and not (counted and reading.keys == key_count(data)):
        for place in said_twice(data, path)[:MOST_PROBLEMS]:
            reading.errors.append(f"{place}: stands there twice; keep one")
    reading.finish()
    return msgspec.structs.replace(loaded, warnings=tuple(reading.warnings))


def _value(item: Any) -> Any:
    return decode(memoryview(item)) if isinstance(item, msgspec.Raw) else item


def _document(top: Any, reading: Diagnostics) -> Loaded:
    stem = stem_of(reading.path)
    if isinstance(top, dict):
        item_format = own_or_reasoning(top)
        return _items([top], item_format, reading, alone=True) if item_format else _object(top, reading, stem)
    if isinstance(top, list):
        item_format = own_or_reasoning(_value(top[0])) if top else None
        return _items(top, item_format, reading) if item_format else _array(top, reading, stem)
    if isinstance(top, str) and top.lstrip().startswith("{"):
        # ADK used to write its results as a string of JSON.
        inner = read(top.encode(), reading.path, lenient=reading.lenient)
        reading.warnings += inner.warnings
        return inner
    raise FormatError(reading.path, [f"/: {nearest_format.problem(top)}"])


def _items(values: list[Any], item_format: ItemFormat, reading: Diagnostics, *, alone: bool = False) -> Loaded:
    """Return the recordings of a list, or of a document that is one recording (`alone`)."""
    recordings = (item_format.read(_whole(value), () if alone else ((), i), reading) for i, value in enumerate(values))
    return Loaded(reading.path, item_format.kind, recordings=tuple(filter(None, recordings)))


def _whole(item: Any) -> Any:
    """Return a value with its members decoded."""
    value = _value(item)
    return {key: _value(member) for key, member in value.items()} if isinstance(value, dict) else value


def _object(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    keys = top.keys()
    if keys & {"eval_cases", "evalCases"}:
        return _eval_set(top, reading, stem)
    whole = {key: _value(value) for key, value in top.items()}
    if keys & {"eval_case_results", "evalCaseResults"}:
        known, _ = reading.fields(whole, evalset_result.RESULT, (), open_ended=True)
        expected, recordings = evalset_result.results(known, reading)
        return Loaded(reading.path, "eval set result", expected, recordings)
    if agents_cli_config.is_config(keys, whole.get("custom_metrics", whole.get("customMetrics"))):
        return Loaded(reading.path, "EvalConfig", config=agents_cli_config.config(whole, reading))
    if keys & {"criteria", "custom_metrics", "customMetrics"}:
        return Loaded(reading.path, "EvalConfig", config=config_file.config(whole, reading))
    for key, read_list in (("scenarios", _scenarios), ("events", _session), ("messages", _chat)):
        if isinstance(whole.get(key), list):
            return read_list(whole, reading, stem)
    if messages.is_tau(whole):
        return _array([whole], reading, stem)
    for key, what in _REFUSED.items():
        if isinstance(whole.get(key), list):
            raise FormatError(reading.path, [f"/{key}: holds {what}, which are not read here yet"])
    raise FormatError(reading.path, [f"/: {nearest_format.problem(whole)}"])


def _session(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    return Loaded(reading.path, "session", recordings=(session.recording(top, reading, stem=stem),))


def _chat(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    return Loaded(reading.path, "chat messages", recordings=(messages.conversation(top, (), reading, name=stem),))


def _eval_set(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    given = {key: value for key, value in top.items() if not _is_null(value)}
    known, extra = reading.fields(given, evalset.SET, (), open_ended=True)
    raw_cases = known.pop("eval_cases", None)
    at: Place = ((), "eval_cases")
    if isinstance(raw_cases, msgspec.Raw):
        raw_cases = _split(raw_cases)
    if type(raw_cases) is not list:
        reading.wrong_type(at, "an array of cases", _value(raw_cases))
        raw_cases = []
    reading.keys += len(top)
    first = _value(raw_cases[0]) if raw_cases else None
    is_dataset = (
        isinstance(first, dict) and not first.keys() & evalset.CASE_MARKS and bool(first.keys() & dataset.CASE_MARKS)
    )
    if isinstance(first, dict) and not is_dataset and not first.keys() & evalset.CASE_MARKS:
        # The keys are an eval set's, but the cases are not: a problem for each of them would help nobody.
        raise FormatError(reading.path, [f"/eval_cases/0: {nearest_format.case_problem(first)}"])
    cases: list[EvalCase] = []
    recordings: list[Recording] = []
    raw_cases.reverse()  # so that what was read can be let go of, case by case
    while raw_cases:
        i = len(cases)
        raw = _value(raw_cases.pop())
        reading.keys += key_count_of(raw)
        if is_dataset:
            found = dataset.case(raw, i, (at, i), reading)
            cases.append(found.case)
            recordings += found.recordings
            continue
        one = evalset.case(raw, (at, i), reading)
        cases.append(one)
        recorded = evalset.recorded(one, (at, i), reading)
        if recorded is not None:
            recordings.append(recorded)
    _no_twins(cases, at, "eval_case_id" if is_dataset else "eval_id", reading)
    whole = {key: _value(value) for key, value in known.items()}
    whole_extra = {key: _value(value) for key, value in (extra or {}).items()}
    reading.keys += key_count_of([*whole.values(), *whole_extra.values()])
    eval_set = evalset.eval_set(whole, whole_extra, tuple(cases), stem)
    return Loaded(reading.path, _DATASET if is_dataset else _EVAL_SET, eval_set, tuple(recordings))


def _is_null(value: Any) -> bool:
    return bytes(memoryview(value)[:5]) == b"null" if isinstance(value, msgspec.Raw) else value is None


def _scenarios(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    """A scenario's case is named like google-adk's: the first 8 digits of the SHA-256 of its sorted JSON."""
    at: Place = ((), "scenarios")
    cases: list[EvalCase] = []
    for i, raw in enumerate(top["scenarios"]):
        one = evalset.scenario(raw, (at, i), reading)
        text = json.dumps({"user_persona": None, **scenario_json(one)}, sort_keys=True)
        cases.append(EvalCase(hashlib.sha256(text.encode()).hexdigest()[:8], scenario=one))
    _no_twins(cases, at, "starting_prompt", reading)
    return Loaded(reading.path, "scenarios", EvalSet(stem, tuple(cases)))


def _split(raw: msgspec.Raw) -> Any:
    inner = memoryview(raw)
    return members(inner) if bytes(inner[:1]) == b"[" else decode(inner)


def _no_twins(cases: list[EvalCase], at: Place, key: str, reading: Diagnostics) -> None:
    if len({case.id for case in cases}) == len(cases):
        return
    seen: dict[str, int] = {}
    for i, case in enumerate(cases):
        if case.id and case.id in seen:  # a case without an id has its problem already
            reading.error(((at, i), key), f"must be unique, got {case.id!r} as in case {seen[case.id]}")
        seen.setdefault(case.id, i)


def _array(top: list[Any], reading: Diagnostics, stem: str) -> Loaded:
    items = [_value(item) for item in top]
    first = items[0] if items else None
    path = reading.path
    if messages.is_tau(first):
        tasks, recordings = messages.tau_bench(items, reading)
        return Loaded(path, "tau-bench results", tasks, recordings)
    if is_chat(first):
        return _items(items, CHATS, reading)
    if isinstance(first, dict):
        if "query" in first:
            case = EvalCase(stem, legacy.conversation(items, (), reading))
            return Loaded(path, "test file (old list form)", EvalSet(stem, (case,)))
        if "data" in first and "name" in first:
            cases = [legacy.case(item, ((), i), reading) for i, item in enumerate(items)]
            _no_twins(cases, (), "name", reading)
            return Loaded(path, "eval set (old list form)", EvalSet(stem, tuple(cases)))
        if messages.is_message(first):
            return Loaded(path, "chat messages", recordings=(messages.conversation(items, (), reading, name=stem),))
        if first.keys() & {"metricName", "metric_name"}:
            raise FormatError(
                path, ["/: holds tRPC-Agent-Go metrics; write them as an EvalConfig: {'criteria': {NAME: THRESHOLD}}"]
            )
    raise FormatError(path, [f"/: {nearest_format.problem(items)}"])
