"""Recognise file kinds, and read each file with the reader of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats import columnar_rows, nearest_format, packed, toml_text, yaml_text
from fairtrial.formats.adk import config_file, evalset
from fairtrial.formats.agents_cli import config as agents_cli_config
from fairtrial.formats.datasets import delimited_rows
from fairtrial.formats.datasets.column_roles import is_mapping
from fairtrial.formats.eval_set_files import (
    CONFIG_KEYS,
    DATASET,
    EVAL_SET,
    OWN_KEYS,
    RESULT_KEYS,
    decode_member,
    read_eval_set,
)
from fairtrial.formats.jsontext import duplicate_keys, members, quote_count, repaired, strict_utf8
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.reading import MOST_PROBLEMS, NO_COLUMNS, Diagnostics, strip_suffixes
from fairtrial.formats.recordings import has_own_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairtrial.formats.large_text import LargeText

_BY_HAND = (EVAL_SET, DATASET, "test file (old list form)", "eval set (old list form)", "scenarios", "EvalConfig")
"""Kinds of files that people write. A duplicate key is a mistake in them."""
_OBJECT_OR_ARRAY = (b"{", b"[")
"""The beginnings of JSON that no body of OTLP has: the length before a body would be above a gigabyte."""


def read(
    data: bytes,
    path: str,
    *,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
    as_reference: bool = False,
) -> Loaded:
    """Return the content of a file.

    Raises FormatError with every problem found, each with its line and column or its JSON pointer. `lenient` makes
    misspelt keys a warning. `columns` are the columns of a table, by the parts of a case. With `as_reference`, a column
    such as `answer` is the expectation if nothing else says so.
    """
    reading = Diagnostics(path, lenient=lenient, columns=columns, as_reference=as_reference)
    nearest_format.refuse_stand_in(data, path)
    if packed.is_archive(data) or columnar_rows.is_parquet(data) or columnar_rows.is_arrow(path):
        from fairtrial.formats.recorded_files import read_binary

        return _with_diagnostics(read_binary(data, reading), reading)
    if packed.packing_at(data):
        unpacked = packed.unpacked(data, path)
        return read(unpacked, path, lenient=lenient, columns=columns, as_reference=as_reference)
    if delimited_rows.is_named_so(path):
        from fairtrial.formats.recorded_files import read_delimited

        return _with_diagnostics(read_delimited(data, reading), reading)
    if not data.startswith(_OBJECT_OR_ARRAY):
        from fairtrial.formats.recorded_files import read_protobuf

        if (spans := read_protobuf(data, path)) is not None:
            return spans
    data, warnings = strict_utf8(data, path)
    reading.warnings += warnings
    is_json, strict = not path.endswith((*yaml_text.SUFFIXES, toml_text.SUFFIX)), True
    try:
        loaded = _document(evalset.split(data) or members(data) if is_json else _options(data, path), reading)
    except ValueError:
        strict = False
        reading = Diagnostics(path, lenient=lenient, columns=columns, as_reference=as_reference)
        loaded = _not_strict(data, reading, warnings)
    # Most large eval sets have no duplicate key. A count of quotes shows that without decoding the file again.
    has_count = strict and loaded.kind in (EVAL_SET, DATASET)
    if is_json and loaded.kind in _BY_HAND and not (has_count and reading.quotes == quote_count(data)):
        for place in duplicate_keys(data, path)[:MOST_PROBLEMS]:
            reading.errors.append(f"{place}: stands there twice; keep one")
    return _with_diagnostics(loaded, reading)


def _not_strict(data: bytes, reading: Diagnostics, warnings: list[str]) -> Loaded:
    """Return the content of a text that is not one strict JSON document."""
    from fairtrial.formats import recorded_files

    if (of_lines := recorded_files.read_lines(data, reading)) is not None:
        return of_lines
    if (of_text := recorded_files.read_text(data, reading)) is not None:
        return of_text
    if delimited_rows.looks_so(data):
        return recorded_files.read_delimited(data, reading)
    value, repairs = repaired(data, reading.path)
    reading.warnings += warnings + repairs
    return _document(value, reading)


def _options(data: bytes, path: str) -> Any:
    """Return the content of a YAML file, or the configuration in a project file."""
    if not path.endswith(toml_text.SUFFIX):
        return yaml_text.decode(data, path)
    table = toml_text.project_table(data, path) or {}
    return {key: value for key, value in table.items() if key in config_file.TABLES}


def read_large_eval_set(text: LargeText, path: str, *, lenient: bool, columns: Mapping[str, str]) -> Loaded | None:
    """Return the eval set in a large text, whose memory is free piece by piece while its cases are read.

    Raises FormatError as `read` does. Returns None if only `read` can say what the text holds, or what is wrong with
    it: for example if it is not strict JSON, or has a duplicate key.
    """
    reading = Diagnostics(path, lenient=lenient, columns=columns)
    quotes, top = text.quote_count(), evalset.split(memoryview(text.memory))
    if top is None:
        return None
    try:
        loaded = Loaded(path, *read_eval_set(top, reading, strip_suffixes(path), text))
    except ValueError:
        return None
    return _with_diagnostics(loaded, reading) if reading.quotes == quotes else None


def _with_diagnostics(loaded: Loaded, reading: Diagnostics) -> Loaded:
    """Return the content of a file with its warnings and notes. Raises FormatError if the file has a problem."""
    reading.finish()
    return msgspec.structs.replace(loaded, warnings=tuple(reading.warnings), notes=tuple(reading.notes))


def _document(top: Any, reading: Diagnostics) -> Loaded:
    """Return the content of a document. The columns of a mapping say nothing about files of this package."""
    is_own = isinstance(top, dict) and not has_own_marks(top)
    if is_own and not (is_mapping(reading.columns) and OWN_KEYS.isdisjoint(top)):
        return _object(top, reading)
    if isinstance(top, str) and top.lstrip().startswith("{") and not is_mapping(reading.columns):
        # ADK used to write its results as a string of JSON.
        inner = read(top.encode(), reading.path, lenient=reading.lenient, columns=reading.columns)
        reading.warnings += inner.warnings
        return inner
    from fairtrial.formats.recorded_files import read_document

    return read_document(top, reading)


def _object(top: dict[str, Any], reading: Diagnostics) -> Loaded:
    keys = top.keys()
    if keys & {"eval_cases", "evalCases"}:
        return Loaded(reading.path, *read_eval_set(top, reading, strip_suffixes(reading.path)))
    whole = {key: decode_member(value) for key, value in top.items()}
    if keys & RESULT_KEYS:
        from fairtrial.formats.recorded_files import read_results

        return read_results(whole, reading)
    if agents_cli_config.is_config(keys, whole.get("custom_metrics", whole.get("customMetrics"))):
        return Loaded(reading.path, "EvalConfig", config=agents_cli_config.config(whole, reading))
    if keys & CONFIG_KEYS and keys <= config_file.CONFIG.keys():
        return Loaded(reading.path, "EvalConfig", config=config_file.config(whole, reading))
    from fairtrial.formats.recorded_files import read_object

    return read_object(whole, reading)
