"""Convert human labels to rows, and rows to labels."""

from __future__ import annotations

from typing import Any

import msgspec

from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.score import find_part, part_text
from fairtrial.store.bodies import UnreadableBodyError
from fairtrial.store.statements import Row, storable


def label_row(label: Label, run: int) -> Row:
    """Return the row of a label."""
    return {
        "run": run,
        "eval_set": storable(label.case.eval_set),
        "case_id": storable(label.case.case),
        "digest": label.case.digest,
        "attempt": label.attempt,
        "criterion": storable(label.criterion),
        "part": storable(part_text(label.part)),
        "value": label.value,
        "author": storable(label.author),
        "at": label.at,
        "note": storable(label.note),
        "key": label.key,
        "weight": label.weight,
        "seconds": label.seconds,
        "blind": label.blind,
        "probability": label.probability,
        "source": storable(label.source),
        "side": label.side,
        "reference": storable(label.reference),
    }


def make_label(row: Any) -> Label:
    """Return the label that a row holds. Raises UnreadableBodyError."""
    numbers = (row.value, row.seconds, row.probability)
    try:
        part = find_part(row.part)
    except (ValueError, msgspec.ValidationError, AttributeError) as error:
        raise UnreadableBodyError(f"a label of the store cannot be read: {error}") from error
    if not all(number is None or isinstance(number, int | float) for number in numbers):
        raise UnreadableBodyError("a label of the store cannot be read: a number is a text")
    return Label(
        CaseKey(row.eval_set, row.case_id, row.digest),
        row.attempt,
        row.criterion,
        part,
        row.value,
        row.author,
        row.at,
        row.note,
        row.key,
        row.weight,
        row.seconds,
        row.blind,
        row.probability,
        row.source,
        row.side,
        row.reference,
    )
