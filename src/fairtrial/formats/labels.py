"""Labels of people as a file: a CSV file for spreadsheets, or JSON lines. How is it written, and how is it read?"""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from fairtrial.errors import FormatError
from fairtrial.records.score import FaultSide, Range, find_part
from fairtrial.text.display import shorten, visible

COLUMNS = (
    "key",
    "case",
    "attempt",
    "criterion",
    "question",
    "reply",
    "reference",
    "label",
    "labeler",
    "note",
    "weight",
)
LABEL_COLUMNS = (
    "key",
    "eval_set",
    "case",
    "digest",
    "attempt",
    "criterion",
    "part",
    "label",
    "labeler",
    "at",
    "note",
    "weight",
    "seconds",
    "blind",
    "probability",
    "source",
    "side",
    "better_reference",
)
"""The columns of labels that were given. `COLUMNS` are those of outcomes to label."""
DETAILS = ("part", "at", "seconds", "blind", "probability", "source", "side", "better_reference")
"""The columns of a label that a person who fills in a file need not know."""
WORDS = {"pass": 1.0, "yes": 1.0, "true": 1.0, "valid": 1.0, "fail": 0.0, "no": 0.0, "false": 0.0, "invalid": 0.0}
"""The words of a label of pass or fail."""
UNSURE = "?"
"""The label of a person who cannot tell."""
_LONGEST_CELL = 32_000
"""The characters of a text that are written. A cell of a spreadsheet holds at most 32,767."""
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""A cell that begins so would be computed by a spreadsheet. The replies of agents must not be."""


@dataclass(frozen=True)
class LabelRow:
    """One row of a file with its place in the file. `label` and the `details` are as written."""

    place: str
    key: str
    label: Any
    criterion: str = ""
    labeler: str = ""
    note: str = ""
    weight: Any = None
    case: str = ""
    attempt: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def write_rows(rows: Iterable[Mapping[str, Any]], suffix: str, columns: Sequence[str] = COLUMNS) -> bytes:
    """Return rows with some columns as a file: JSON lines for `.jsonl`, otherwise CSV with a BOM.

    The BOM tells spreadsheets that the file is UTF-8.
    """
    if suffix == ".jsonl":
        return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows).encode()
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, columns)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return stream.getvalue().encode("utf-8-sig")


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = shorten(visible(value), _LONGEST_CELL)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r")) else text


def read_rows(path: Path) -> list[LabelRow]:
    """Return the labelled rows of a file, without the rows whose label is empty. Raises FormatError."""
    problems: list[str] = []
    rows = [
        LabelRow(
            f"{path}: line {number}",
            str(row.get("key") or "").strip(),
            row.get("label"),
            str(row.get("criterion") or "").strip(),
            str(row.get("labeler") or "").strip(),
            str(row.get("note") or ""),
            row.get("weight"),
            str(row.get("case") or "").strip(),
            str(row.get("attempt") or "").strip(),
            {name: row[name] for name in DETAILS if name in row},
        )
        for number, row in table_rows(path, ("key", "label"), problems)
        if str("" if row.get("label") is None else row["label"]).strip()
    ]
    if problems:
        raise FormatError(str(path), problems)
    return rows


def table_rows(path: Path, required: Sequence[str], problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a CSV file or of JSON lines, each with the number of its line. Problems are appended.

    CSV is UTF-8 with or without a BOM, with commas, semicolons or tabs.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problems.append(f"is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}; save it as CSV UTF-8")
        return
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from _json_rows(text, required, problems)
    else:
        yield from _csv_rows(text, required, problems)


def _json_rows(text: str, required: Sequence[str], problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"line {number}: is not JSON: {error}")
            continue
        if not isinstance(row, dict):
            problems.append(f"line {number}: must be an object, got {shorten(line, 40)}")
        elif lacking := [_lacks(name, row) for name in required if name not in row]:
            problems += [f"line {number}: {problem}" for problem in lacking]
        else:
            yield number, row


def _csv_rows(text: str, required: Sequence[str], problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        lacking = [_lacks(name, names) for name in required if name not in names]
        if lacking:
            problems += [f"line 1: {problem}" for problem in lacking]
            return
        start = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(names):
                problems.append(f"line {start}: has {len(cells)} cells, and the first line has {len(names)} names")
            elif any(cells):
                yield start, dict(zip(names, cells, strict=False))
            start = reader.line_num + 1
    except csv.Error as error:
        problems.append(f"line {reader.line_num}: is not CSV: {error}")


def _lacks(name: str, names: Iterable[str]) -> str:
    present = [str(other) for other in names]
    close = difflib.get_close_matches(name, present, n=1)
    hint = f"the nearest is {close[0]!r}" if close else f"got {', '.join(map(repr, present[:20])) or 'none'}"
    return f"lacks the column {name!r}; {hint}"


def read_label(label: Any, scale: Range) -> float | None:
    """Return a label as a number, or None for `?`. Pass and fail are 1 and 0. Raises ValueError for other text."""
    text = str(label).strip().lower()
    if text == UNSURE:
        return None
    is_share = scale.bounds == (0.0, 1.0)
    if is_share and text in WORDS:
        return WORDS[text]
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = None
    if value is None or value not in scale:
        words = "pass or fail (yes/no, true/false, valid/invalid, 1/0), " if is_share else ""
        raise ValueError(
            f"label: must be {words}a number {scale}, or ? for cannot tell, got {shorten(repr(label), 60)}"
        )
    return value


def read_weight(weight: Any) -> float:
    """Return the weight of a row, 1 if it is empty. Raises ValueError if it is not a number above 0."""
    text = str("" if weight is None else weight).strip()
    if not text:
        return 1.0
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError(f"weight: must be a number above 0, got {shorten(repr(weight), 60)}")
    return value


def read_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a label that stand in the columns of `DETAILS`. Raises ValueError for other values."""
    texts = {name: str("" if details.get(name) is None else details[name]).strip() for name in DETAILS}
    side, part, at = texts["side"], texts["part"], texts["at"]
    if side and side not in get_args(FaultSide):
        raise ValueError(f"side: must be of {', '.join(get_args(FaultSide))}, or empty, got {shorten(repr(side), 60)}")
    if texts["blind"].lower() not in _BLIND:
        raise ValueError(f"blind: must be true, false or empty, got {shorten(repr(texts['blind']), 60)}")
    try:
        key = find_part(part)
    except ValueError:
        example = "rubric//polite or invocation/1/"
        raise ValueError(f"part: must be KIND/INDEX/ID, such as {example}, got {shorten(repr(part), 60)}") from None
    return {
        "part": key,
        "at": _time(at),
        "seconds": _number(texts["seconds"], "seconds", float("inf")),
        "blind": _BLIND[texts["blind"].lower()],
        "probability": _number(texts["probability"], "probability", 1.0),
        "source": texts["source"],
        "side": side,
        "reference": str(details.get("better_reference") or ""),
    }


_BLIND = {"": None, "true": True, "false": False}


def _time(text: str) -> str:
    try:
        return text and datetime.fromisoformat(text).isoformat(timespec="milliseconds")
    except ValueError:
        raise ValueError(f"at: must be a time in ISO 8601, or empty, got {shorten(repr(text), 60)}") from None


def _number(text: str, name: str, highest: float) -> float | None:
    if not text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= highest:
        end = "" if highest == float("inf") else f" to {highest:g}"
        raise ValueError(f"{name}: must be a number from 0{end}, or empty, got {shorten(repr(text), 60)}")
    return value
