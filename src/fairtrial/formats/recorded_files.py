"""Recognise the files that hold recordings, tables or the tasks of benchmarks, and read each with its reader.

`recognise` imports this module for such files only, because it enters every reader. An eval set needs none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from fairtrial.errors import FormatError, OtherContentError
from fairtrial.formats import agent_logs, columnar_rows, mapping, nearest_format, packed
from fairtrial.formats.adk import config_file, evalset_result, legacy, session
from fairtrial.formats.benchmarks import tau2_tasks, tau_bench
from fairtrial.formats.chats import dialects, response_objects
from fairtrial.formats.chats.responses_items import is_response
from fairtrial.formats.datasets import case_tables, delimited_rows, message_rows
from fairtrial.formats.datasets.column_roles import is_mapping
from fairtrial.formats.eval_set_files import CONFIG_KEYS, OWN_KEYS, check_unique, decode_member, read_scenarios
from fairtrial.formats.items import CHATS, OWN, ItemFormat, is_chat, is_old_turn, is_table_row, own_or_reasoning
from fairtrial.formats.jsontext import decode_documents, decode_lines
from fairtrial.formats.loaded import TABLE, Loaded
from fairtrial.formats.reading import strip_suffixes
from fairtrial.formats.skills import skill_files
from fairtrial.formats.spans import node_console, otlp_protobuf, readers
from fairtrial.formats.spans.otlp_batch import decode_batch
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.system.paused_collector import paused_collector

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import SpanItem


def read_lines(data: bytes, reading: Diagnostics) -> Loaded | None:
    """Return the content of JSON lines, or of documents one after the other. Returns None for anything else."""
    with suppress(UnicodeDecodeError):
        lines = decode_lines(data, reading.path)
        first = None if lines is None else next(lines)
        with paused_collector():
            if lines is not None and readers.find_reader(first) is not None:
                # One line is decoded at a time: spans need less memory than their JSON.
                return _spans(decode_lines(data, reading.path, decode_batch) or (), reading)
            documents = decode_documents(data) if lines is None else [first, *lines]
            return None if documents is None else read_document(documents, reading, are_lines=True)
    return None


def read_results(whole: dict[str, Any], reading: Diagnostics) -> Loaded:
    """Return the results of an eval set: what was expected, and what was recorded."""
    fields, _ = reading.fields(whole, evalset_result.RESULT, (), open_ended=True)
    expected, recordings = evalset_result.results(fields, reading)
    return Loaded(reading.path, "eval set result", expected, recordings)


def read_text(data: bytes, reading: Diagnostics) -> Loaded | None:
    """Return the content of a text that resembles no JSON, or None."""
    if (spans := node_console.read_printed_spans(data)) is not None and readers.find_reader(spans[0]) is not None:
        return _spans(spans, reading)
    log = agent_logs.log_in_text(data, reading, strip_suffixes(reading.path) or "chat")
    return None if log is None else _log(log, reading)


def read_binary(data: bytes, reading: Diagnostics) -> Loaded:
    """Return the content of an archive, or of the rows of a file of columns."""
    if packed.is_archive(data):
        return _log(agent_logs.log_in_archive(data, reading), reading)
    return read_document(list(columnar_rows.iter_rows(data, reading.path)), reading, are_lines=True)


def read_protobuf(data: bytes, path: str) -> Loaded | None:
    """Return the spans in bodies of OTLP, or None for anything else."""
    bodies = otlp_protobuf.bodies(data)
    if bodies is None:
        return None
    return Loaded(
        path, "OTLP spans (protobuf)", spans=tuple(each for body in bodies for each in otlp_protobuf.items(body, path))
    )


def read_delimited(data: bytes, reading: Diagnostics) -> Loaded:
    """Return the content of a table in CSV or TSV."""
    return _table(delimited_rows.yield_rows(delimited_rows.yield_blocks(data), reading), reading)


def _table(rows: Iterable[delimited_rows.Row], reading: Diagnostics) -> Loaded:
    rows = iter(rows)
    first = next(rows, None)
    if first is not None:
        rows = chain([first], rows)
        if not reading.columns and message_rows.is_row(first[1]):
            items = [row for _, row in rows]
            return Loaded(reading.path, message_rows.KIND, recordings=message_rows.read_rows(items, reading))
    table = case_tables.read_table(rows, reading, strip_suffixes(reading.path))
    return Loaded(reading.path, TABLE, table.eval_set, table.recordings, columns=dict(reading.columns))


def _log(log: agent_logs.AgentLog, reading: Diagnostics) -> Loaded:
    return Loaded(reading.path, log.kind, log.eval_set, log.recordings, branches=log.branches)


def read_document(top: Any, reading: Diagnostics, *, are_lines: bool = False) -> Loaded:
    """Return the content of a document that is no eval set. `are_lines` says that a list was written as JSON lines."""
    stem = strip_suffixes(reading.path)
    if is_mapping(reading.columns) and not _has_own_format(top):
        return _map_document(top, reading, stem)
    if isinstance(top, dict):
        item_format = own_or_reasoning(top)
        return _items([top], item_format, reading, alone=True) if item_format else read_object(top, reading)
    if isinstance(top, list):
        item_format = own_or_reasoning(decode_member(top[0])) if top else None
        return _items(top, item_format, reading) if item_format else _array(top, reading, stem, are_lines=are_lines)
    raise OtherContentError(reading.path, [nearest_format.problem(top)])


def _has_own_format(top: Any) -> bool:
    """Whether a document is written by this package or for it, so that the paths of a log do not apply to it."""
    if isinstance(top, list):
        return bool(top) and own_or_reasoning(decode_member(top[0])) is OWN
    return isinstance(top, dict) and (not OWN_KEYS.isdisjoint(top) or own_or_reasoning(top) is OWN)


def _map_document(top: Any, reading: Diagnostics, stem: str) -> Loaded:
    """Return the conversations at the paths of `--map`."""
    values = [_whole(item) for item in top] if isinstance(top, list) else [_whole(top)]
    return Loaded(
        reading.path, mapping.KIND, recordings=mapping.read_mapped(values, reading, stem), columns=dict(reading.columns)
    )


def _items(values: list[Any], item_format: ItemFormat, reading: Diagnostics, *, alone: bool = False) -> Loaded:
    """Return the recordings of a list, or of a document that is one recording (`alone`)."""
    recordings = (item_format.read(_whole(value), () if alone else ((), i), reading) for i, value in enumerate(values))
    return Loaded(reading.path, item_format.kind, recordings=tuple(filter(None, recordings)))


def _whole(item: Any) -> Any:
    """Return a value with its members decoded."""
    value = decode_member(item)
    return {key: decode_member(member) for key, member in value.items()} if isinstance(value, dict) else value


def read_object(whole: dict[str, Any], reading: Diagnostics) -> Loaded:
    """Return the content of an object that has the keys of no eval set, and others than those of a configuration."""
    stem = strip_suffixes(reading.path)
    if (of_skill := skill_files.read_document(whole, reading, stem)) is not None:
        return Loaded(reading.path, *of_skill)
    if whole.keys() & CONFIG_KEYS:
        return Loaded(reading.path, "EvalConfig", config=config_file.config(whole, reading))
    if readers.find_reader(whole) is not None:
        return _spans([whole], reading)
    return _recorded_object(whole, reading, stem)


def _recorded_object(whole: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    if (log := agent_logs.log_in_document(whole, reading, stem)) is not None:
        return _log(log, reading)
    if isinstance(whole.get("scenarios"), list):
        return Loaded(reading.path, "scenarios", read_scenarios(whole, reading, stem))
    if isinstance(whole.get("events"), list):
        return _session(whole, reading, stem)
    if is_table_row(whole, reading):
        return _table(case_tables.rows_of_json([whole], reading), reading)
    return _request_or_response(whole, reading, stem)


def _request_or_response(whole: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    if dialects.is_request(whole):
        return _messages(whole, reading, stem)
    if tau_bench.is_result(whole) or is_response(whole):
        return _array([whole], reading, stem)
    raise OtherContentError(reading.path, [nearest_format.problem(whole)])


def _traces(lines: list[Any], reading: Diagnostics, stem: str) -> Loaded | None:
    """Return the spans, the responses of a model, or the log of an agent, in lines or items. None for anything else."""
    if lines and readers.find_reader(lines[0]) is not None:
        return _spans(lines, reading)
    if lines and is_response(lines[0]):
        recordings = response_objects.read_responses(lines, reading, stem)
        return Loaded(reading.path, response_objects.KIND, recordings=recordings)
    log = agent_logs.log_in_lines(lines, reading, stem)
    return None if log is None else _log(log, reading)


def _spans(documents: Iterable[Any], reading: Diagnostics) -> Loaded:
    """Return the spans of documents, of lines, or of the items of an array."""
    items: list[SpanItem] = []
    kinds: list[str] = []
    for i, document in enumerate(documents):
        reader = readers.find_reader(document)
        if reader is None:
            reading.error(((), i), f"must be {kinds[0]}, as the first is, got {nearest_format.described(document)}")
            continue
        kinds.append(reader.name)
        items += reader.items(document)
    if not items:
        reading.error((), f"holds {kinds[0]}, but not one span")
    return Loaded(reading.path, kinds[0], spans=tuple(items))


def _session(top: dict[str, Any], reading: Diagnostics, stem: str) -> Loaded:
    return Loaded(reading.path, "session", recordings=(session.recording(top, reading, stem=stem),))


def _messages(raw: Any, reading: Diagnostics, stem: str) -> Loaded:
    """Return the conversation in a list of messages, or in a request."""
    kind = dialects.read_name(raw)
    return Loaded(reading.path, kind, recordings=(dialects.conversation(raw, (), reading, name=stem),))


def _array(top: list[Any], reading: Diagnostics, stem: str, *, are_lines: bool = False) -> Loaded:
    items = [decode_member(item) for item in top]
    first = items[0] if items else None
    if (traces := _traces(items, reading, stem)) is not None:
        return traces
    if (of_list := _cases_of_list(items, first, reading, stem)) is not None:
        return of_list
    if tau_bench.is_result(first):
        tasks, recordings = tau_bench.read_results(items, reading)
        return Loaded(reading.path, "tau-bench results", tasks, recordings)
    # ADK's old test files are one array, with few keys. JSON lines of queries are a table.
    is_old_test = not are_lines and is_old_turn(first)
    if is_table_row(first, reading) and (not is_old_test or reading.columns):
        return _table(case_tables.rows_of_json(items, reading), reading)
    if is_chat(first):
        return _items(items, CHATS, reading)
    return _by_hand(items, first, reading, stem)


def _cases_of_list(items: list[Any], first: Any, reading: Diagnostics, stem: str) -> Loaded | None:
    """Return the cases in a list of trigger queries, of prompts for a skill or of tasks of tau2-bench, or None."""
    if skill_files.is_query(first) or skill_files.is_eval(first):
        return Loaded(reading.path, *skill_files.read_list(items, reading, stem))
    if tau2_tasks.is_task(first):
        return Loaded(reading.path, tau2_tasks.KIND, tau2_tasks.read_tasks(items, reading, stem))
    return None


def _by_hand(items: list[Any], first: Any, reading: Diagnostics, stem: str) -> Loaded:
    """Return the cases or the messages in an array that is none of the lists of tools. Raises FormatError."""
    path = reading.path
    if isinstance(first, dict):
        if "query" in first:
            case = EvalCase(stem, legacy.conversation(items, (), reading))
            return Loaded(path, "test file (old list form)", EvalSet(stem, (case,)))
        if "data" in first and "name" in first:
            cases = [legacy.case(item, ((), i), reading) for i, item in enumerate(items)]
            check_unique(cases, (), "name", reading)
            return Loaded(path, "eval set (old list form)", EvalSet(stem, tuple(cases)))
        if message_rows.are_rows(items):
            return Loaded(path, message_rows.KIND, recordings=message_rows.read_rows(items, reading))
        if dialects.is_message(first):
            return _messages(items, reading, stem)
        if session.is_event(first):
            return _session({"events": items}, reading, stem)
        if first.keys() & {"metricName", "metric_name"}:
            raise FormatError(
                path, ["/: holds tRPC-Agent-Go metrics; write them as an EvalConfig: {'criteria': {NAME: THRESHOLD}}"]
            )
    raise OtherContentError(path, [nearest_format.problem(items)])
