"""Detect lists whose items are recordings. Such a file is read item by item, however large it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from fairtrial.errors import nearest
from fairtrial.formats import knowledgepulse
from fairtrial.formats import recordings as own_format
from fairtrial.formats.adk import legacy
from fairtrial.formats.benchmarks import tau_bench
from fairtrial.formats.chats import dialects
from fairtrial.formats.chats.responses_items import is_response
from fairtrial.formats.datasets import case_tables
from fairtrial.formats.datasets.column_roles import find_role, is_mapping
from fairtrial.formats.kinds.kind_table import find_kind
from fairtrial.formats.reading import Diagnostics, Place, pointer, strip_suffixes
from fairtrial.formats.recordings import REASONING_MARKS
from fairtrial.formats.sampling import with_probability
from fairtrial.formats.spans import readers
from fairtrial.formats.values import NotStreamableError, iter_values
from fairtrial.records.attempt import Recording
from fairtrial.records.reasoning import RefusedTrace

_ATTRIBUTES = ("gen_ai.", "openinference.", "llm.")
"""The beginnings of attributes of spans. No column of a table has such a name."""


class ItemFormat(NamedTuple):
    """The kind of the items of a list, and the function that reads an item. A broken item gives an error and None."""

    kind: str
    read: Callable[[Any, Place, Diagnostics], Recording | None]


OWN = ItemFormat("recordings", own_format.recording)


def _read_reasoning(raw: Any, at: Place, reading: Diagnostics) -> Recording | None:
    trace = knowledgepulse.build(raw)
    if isinstance(trace, RefusedTrace):
        place = pointer(at) if at else ""
        reading.errors += [f"{place}{problem.pointer}: {problem.problem}" for problem in trace.problems]
        return None
    return Recording(trace.id.removeprefix("kp:trace:"), knowledgepulse.to_trace(trace))


REASONING = ItemFormat("reasoning traces", _read_reasoning)


def _read_chat(raw: Any, at: Place, reading: Diagnostics) -> Recording:
    """Return a conversation: a list of messages, or an object that holds a list. The first is named `FILE-1`."""
    _, index = at
    recording = dialects.conversation(raw, at, reading, name=f"{strip_suffixes(reading.path)}-{index + 1}")
    return with_probability(recording, raw)


CHATS = ItemFormat("chat messages", _read_chat)
ITEM_FORMATS = {item_format.kind: item_format for item_format in (OWN, REASONING, CHATS)}


def own_or_reasoning(item: Any) -> ItemFormat | None:
    """Return the format of an item that names its format by its keys, else None."""
    if own_format.is_recording(item):
        return OWN
    return REASONING if isinstance(item, dict) and item.keys() & REASONING_MARKS else None


def is_chat(item: Any) -> bool:
    """Whether an item of a list is a whole conversation."""
    if isinstance(item, dict):
        # The other keys belong to tau-bench and to the old list forms of ADK, which also hold what was expected.
        is_other = tau_bench.is_result(item) or "query" in item or item.keys() >= {"data", "name"}
        return not is_other and ("messages" in item or dialects.is_request(item)) and find_kind([item]) is None
    return isinstance(item, list) and bool(item) and dialects.is_message(item[0]) and find_kind(item) is None


def is_table_row(item: Any, reading: Diagnostics) -> bool:
    """Whether an item is a row of a table: its keys say so, or the user named columns.

    A conversation that holds its own reference, or the reply to it, is a row, too.
    """
    if not isinstance(item, dict) or tau_bench.is_result(item) or is_response(item) or own_or_reasoning(item):
        return False
    if is_mapping(reading.columns):
        return False
    if not reading.columns and any(key.startswith(_ATTRIBUTES) for key in item):
        return False
    if reading.columns or case_tables.expects(item):
        return bool(reading.columns) or case_tables.is_row(item)
    return case_tables.is_row(item) and not is_chat(item) and not dialects.is_message(item)


def detect_item_format(item: Any) -> ItemFormat | None:
    """Return the format of an item that is a recording of its own, else None."""
    return own_or_reasoning(item) or (CHATS if is_chat(item) else None)


def iter_recordings(blocks: Iterable[bytes], reading: Diagnostics) -> Iterator[Recording]:
    """Yield the recordings of JSON lines or of a JSON array, and note their errors and warnings in `reading`.

    Raises NotStreamableError if the file must be read as a whole, for example because it also holds an eval set. If a
    later part of the file is broken, the error comes after some recordings.
    """
    return iter_value_recordings(iter_values(blocks), reading)


def is_old_turn(item: Any) -> bool:
    """Whether an item is a turn of ADK's old test files, if it stands in an array and not in JSON lines.

    A misspelt key of a turn is a mistake in the turn. A key that only tables have, such as `response`, decides.
    """
    if not isinstance(item, dict) or "query" not in item:
        return False
    return all(key in legacy.TURN or nearest(key, legacy.TURN) or find_role(key) is None for key in item)


def iter_value_recordings(values: Iterator[Any], reading: Diagnostics) -> Iterator[Recording]:
    """Yield the recordings of decoded values, one after the other, as `iter_recordings` does."""
    if is_mapping(reading.columns):
        raise NotStreamableError
    first = next(values, None)
    if is_table_row(first, reading) and readers.find_reader(first) is None and not is_old_turn(first):
        rows = case_tables.rows_of_json(chain([first], values), reading)
        yield from case_tables.iter_table_recordings(rows, reading, strip_suffixes(reading.path))
        return
    item_format = detect_item_format(first)
    if item_format is None:
        raise NotStreamableError
    for index, value in enumerate(chain([first], values)):
        recording = item_format.read(value, ((), index), reading)
        if recording is not None:
            yield recording
