"""Items with known answers as JSON lines. How are they read?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.errors import FormatError, nearest
from fairtrial.formats.labels import read_label, table_rows
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.canaries import RUBRIC_TYPES, SIMULATED_USERS, make_item

if TYPE_CHECKING:
    from fairtrial.records.judging.gold import GoldItem

_REQUIRED = ("id", "criterion", "question", "reply", "label")
_TEXTS = ("question", "reply", "reference", "context", "rubric", "group")
_MOST_PROBLEMS = 20


def read_gold(path: Path) -> list[GoldItem]:
    """Return the items of a file. Raises FormatError with all problems."""
    problems: list[str] = []
    items: list[GoldItem] = []
    names: Counter[str] = Counter()
    for number, row in table_rows(path, _REQUIRED, problems):
        try:
            items.append(_item(row))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        name = items[-1].case.id
        names[name] += 1
        if names[name] == 2:
            problems.append(f"line {number}: id: {name!r:.60} stands there twice")
    if not items and not problems:
        problems.append("has no item")
    if problems:
        hidden = len(problems) - _MOST_PROBLEMS
        more = [f"and {hidden} more problems"] if hidden > 0 else []
        raise FormatError(str(path), [*problems[:_MOST_PROBLEMS], *more])
    return items


def _item(row: dict[str, Any]) -> GoldItem:
    criterion = str(row["criterion"])
    entry = CATALOG.get(criterion)
    # A simulated user is judged by its conversation and its plan, which a line of the file cannot hold.
    judged = [name for name, each in CATALOG.items() if each.judged and name != SIMULATED_USERS]
    if entry is None or criterion not in judged:
        raise ValueError(
            f"criterion: must be a criterion that asks a judge, got {criterion!r:.60}{nearest(criterion, judged)}"
        )
    texts = {name: row.get(name) or "" for name in _TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"{name}: must be a text, got {type(text).__name__}")  # noqa: TRY004  (a problem of the file)
    if criterion in RUBRIC_TYPES and not texts["rubric"]:
        raise ValueError(f"rubric: {criterion} needs a rubric")
    if "reference" in entry.needs and not texts["reference"]:
        raise ValueError(f"reference: {criterion} needs a reference")
    label = read_label(row["label"], entry.range)
    if label is None:
        raise ValueError("label: must be known, got '?'")
    return make_item(
        criterion,
        str(row["id"]),
        texts["question"],
        texts["reply"],
        label,
        reference=texts["reference"] or None,
        context=texts["context"],
        rubric=texts["rubric"],
        group=texts["group"],
    )
