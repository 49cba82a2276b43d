"""Recorded verdicts of judges beside labels, as CSV or JSON lines with columns of any name."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial.errors import FormatError
from fairtrial.formats.labels import WORDS, table_rows
from fairtrial.text.display import shorten

COLUMNS = ("item", "label", "verdict", "verdict_swapped", "judge", "group", "cost")
_REQUIRED = ("item", "label", "verdict")
_MOST_KINDS = 20
_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class RecordedVerdict:
    """One item: its label, and the verdict of a judge. An empty verdict could not be read.

    `swapped` is the verdict after the replies changed places, turned back, so that it has the meaning of `verdict`. It
    is None if the file does not have it. `cost` is in US dollars, and None if the file does not have it.
    """

    item: str
    label: str
    verdict: str
    swapped: str | None = None
    judge: str = ""
    group: str = ""
    cost: float | None = None


def read_verdicts(
    path: Path, columns: Mapping[str, str] | None = None, conditions: Mapping[str, str] | None = None
) -> list[RecordedVerdict]:
    """Return the rows of a file that fulfil the conditions, by the values of their columns.

    `columns` maps our names to those of the file. Words of pass or fail are read in any spelling. Raises FormatError
    with all problems, for example if a verdict is not one of the labels.
    """
    names = {name: (columns or {}).get(name, name) for name in COLUMNS}
    required = [*(names[name] for name in _REQUIRED), *(conditions or {})]
    required += [names[name] for name in COLUMNS if name in (columns or {}) and name not in _REQUIRED]
    problems: list[str] = []
    rows = [
        (number, row)
        for number, row in table_rows(path, required, problems)
        if all(_text(row.get(name)) == value for name, value in (conditions or {}).items())
    ]
    if not rows and not problems:
        wanted = ", ".join(f"{name}={value}" for name, value in (conditions or {}).items())
        problems.append(f"has no row with {wanted}" if wanted else "has no row")
    kinds = {_kind(row.get(names["label"])) for _, row in rows}
    if len(kinds) > _MOST_KINDS:
        problems.append(
            f"{names['label']}: a label must be a category, got {len(kinds)} different ones; choose a column"
        )
    verdicts = [_verdict(row, names) for _, row in rows]
    problems += _problems([number for number, _ in rows], verdicts, names, kinds)
    if problems:
        hidden = len(problems) - _MOST_PROBLEMS
        more = [f"and {hidden} more problems"] if hidden > 0 else []
        raise FormatError(str(path), [*problems[:_MOST_PROBLEMS], *more])
    return verdicts


def _verdict(row: Mapping[str, Any], names: Mapping[str, str]) -> RecordedVerdict:
    values = {name: row.get(column) for name, column in names.items()}
    return RecordedVerdict(
        _text(values["item"]),
        _kind(values["label"]),
        _kind(values["verdict"]),
        None if values["verdict_swapped"] is None else _kind(values["verdict_swapped"]),
        _text(values["judge"]),
        _text(values["group"]),
        _amount(values["cost"]),
    )


def _problems(
    lines: Sequence[int], verdicts: Sequence[RecordedVerdict], names: Mapping[str, str], kinds: Collection[str]
) -> Iterator[str]:
    """Yield a problem for each row without a label, and for each kind of verdict that is not a label."""
    first_line: dict[tuple[str, str], int] = {}
    for number, verdict in zip(lines, verdicts, strict=True):
        if not verdict.label:
            yield f"line {number}: {names['label']}: is empty; every item needs a label"
        for name, kind in (("verdict", verdict.verdict), ("verdict_swapped", verdict.swapped)):
            if kind and kind not in kinds:
                first_line.setdefault((name, kind), number)
    allowed = shorten(", ".join(sorted(kinds)), 200)
    for (name, kind), number in first_line.items():
        got = shorten(repr(kind), 40)
        yield f"line {number}: {names[name]}: a verdict must be one of the labels ({allowed}), got {got}"


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _amount(value: object) -> float | None:
    """Return a cost, or None if a row does not have a number of at least 0."""
    try:
        amount = float(_text(value))
    except ValueError:
        return None
    return amount if 0 <= amount < math.inf else None


def _kind(value: object) -> str:
    """Return a label or a verdict. All words of pass, and all words of fail, are one kind each."""
    text = _text(value)
    number = WORDS.get(text.lower())
    return text if number is None else "pass" if number else "fail"
