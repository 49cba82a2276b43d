"""Write samples of outcomes for people to label, and add their labels to the store."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.api.calibrations import traces_at
from fairtrial.api.labels.label_sampling import draw_random, draw_strata
from fairtrial.api.stores import open_store
from fairtrial.errors import FormatError, UsageError, nearest, spell
from fairtrial.formats.labels import (
    LABEL_COLUMNS,
    LabelRow,
    read_details,
    read_label,
    read_rows,
    read_weight,
    write_rows,
)
from fairtrial.records.contents import readable
from fairtrial.records.keys import CaseKey, outcome_key
from fairtrial.records.label import Label
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import PartKey, Range

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation
    from fairtrial.store import Store

Place = tuple[int, int]
_MOST_PROBLEMS = 20


def sample_outcomes(
    run_id: str, criterion: str, *, store: str, number: int = 100, balance: bool = False, seed: int = 1
) -> list[dict[str, Any]]:
    """Return rows for people to label: outcomes of a criterion that the judge scored, drawn at random.

    With `balance` half of them passed and half failed, and `weight` is the number of outcomes that a row stands for.
    The rows do not contain the judge's verdict. Raises UsageError if the run has no scored outcome of the criterion.
    """
    with closing(open_store(store, create=False)) as run_store:
        run = run_store.run(run_id).id
        outcomes = [
            ((position, attempt), verdict)
            for position, attempt, value, verdict in run_store.scores(run, criterion)
            if value is not None and verdict is not Verdict.UNSCORED
        ]
        if not outcomes:
            raise UsageError(_no_outcome(run_store, run, criterion))
        sample = _draw(outcomes, number, random.Random(seed), balance=balance)  # noqa: S311  (a sample, not a secret)
        rows = _rows(run_store, run, criterion, sample)
    return [rows[place] for place in sample]


def sample_file(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write rows as JSON lines if the name of the file ends in .jsonl, and as CSV otherwise."""
    path.write_bytes(write_rows(rows, path.suffix.lower()))


def label_file(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write labels as JSON lines if the name of the file ends in .jsonl, and as CSV otherwise."""
    path.write_bytes(write_rows(rows, path.suffix.lower(), LABEL_COLUMNS))


def _no_outcome(store: Store, run: str, criterion: str) -> str:
    names = sorted({outcome.criterion for result in store.results(run, limit=1) for outcome in result.outcomes})
    if criterion in names:
        return f"{spell('criterion')}: run {run} has no scored outcome of {criterion!r}; there is nothing to label"
    hint = nearest(criterion, names) or f"; the run has {', '.join(names) or 'no criteria'}"
    return f"{spell('criterion')}: run {run} has no criterion {criterion!r}{hint}"


def _draw(
    outcomes: Sequence[tuple[Place, Verdict]], number: int, random_source: random.Random, *, balance: bool
) -> dict[Place, float]:
    """Return places in random order, each with the number of outcomes that it stands for."""
    if not balance:
        places = [place for place, _ in outcomes]
        return {place: 1.0 for place, _ in draw_random(places, number, random_source)}
    passed = [place for place, verdict in outcomes if verdict is Verdict.PASSED]
    not_passed = [place for place, verdict in outcomes if verdict is not Verdict.PASSED]
    sample = draw_strata(passed, not_passed, number, random_source)
    return {place: 1 / probability for place, probability in sample}


def _rows(store: Store, run: str, criterion: str, sample: dict[Place, float]) -> dict[Place, dict[str, Any]]:
    """Return a row for each place. Only its case and its recording are read."""
    positions = {position for position, _ in sample}
    cases = {case.position: case for case in store.cases(run) if case.position in positions}
    rows: dict[Place, dict[str, Any]] = {}
    for position, attempt, trace in traces_at(store, run, positions):
        place, case = (position, attempt), cases[position]
        if place in sample:
            rows[place] = {
                "key": outcome_key(criterion, case.digest, trace),
                "case": case.name or case.case.id,
                "attempt": attempt,
                "criterion": criterion,
                "question": _number_items([readable(invocation.user) for invocation in trace.invocations]),
                "reply": _number_items([readable(invocation.final_response) for invocation in trace.invocations]),
                "reference": _number_items([invocation.reply for invocation in _make_expected(case.case)]),
                "label": "",
                "labeler": "",
                "note": "",
                "weight": sample[place],
            }
    return rows


def _make_expected(case: EvalCase) -> tuple[Invocation, ...]:
    return case.conversation or ()


def _number_items(texts: Sequence[str]) -> str:
    """Return the texts of a conversation, numbered if there are several."""
    return texts[0] if len(texts) == 1 else "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def add_labels(run: Run, files: Sequence[str | Path], *, ignore_unknown: bool = False) -> int:
    """Store the labels of files on a run, and return the number of rows whose key is not of this run.

    Every file is checked before anything is stored. Raises UsageError with all problems.
    """
    problems: list[str] = []
    rows: list[LabelRow] = []
    for file in files:
        try:
            rows += read_rows(Path(file))
        except FormatError as error:
            problems += str(error).splitlines()
        except OSError as error:
            problems.append(f"{spell('labels')}: {file}: {error.strerror or error}")
    if not rows and not problems:
        problems.append(f"{spell('labels')}: {', '.join(map(str, files))}: there is no label in any row")
    store, run_id = run._store, run.info.id  # noqa: SLF001  (the run and this module are one: api)
    outcomes = _outcomes_by_key(store, run_id, rows) if rows else {}
    labels, unknown = _ensure_valid(rows, outcomes, problems, ignore_unknown=ignore_unknown)
    if problems:
        hidden = len(problems) - _MOST_PROBLEMS
        raise UsageError("\n".join([*problems[:_MOST_PROBLEMS], *([f"… and {hidden} more"] if hidden > 0 else [])]))
    stored = {_identity(label): label for label in store.labels(run_id) if label.key}
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    for label in labels:
        earlier = stored.get(_identity(label))
        if earlier is None or (earlier.value, earlier.weight) != (label.value, label.weight):
            store.add_label(run_id, replace(label, at=label.at or at))
    return unknown


def _identity(label: Label) -> tuple[object, ...]:
    return label.key, label.case, label.attempt, label.part, label.author


LabelledOutcome = tuple[str, CaseKey, int, Range]
"""The criterion, the case and the attempt of an outcome, and the range of the criterion."""


def _outcomes_by_key(store: Store, run: str, rows: Sequence[LabelRow]) -> dict[str, list[LabelledOutcome]]:
    """Return the outcomes of a run that have the key of a row. Every recording is read once.

    Several attempts have the same key if their recordings are equal.
    """
    keys, names = {row.key for row in rows}, {row.criterion for row in rows}
    outcomes: defaultdict[str, list[LabelledOutcome]] = defaultdict(list)
    scales = {name: scale for name, scale in _scales(store, run).items() if name in names or "" in names}
    cases = {position: key for position, key, _ in store.case_keys(run)}
    for position, recording in store.recordings(run) if scales else ():
        case = cases[position]
        for criterion, scale in scales.items():
            key = outcome_key(criterion, case.digest, recording.trace)
            if key in keys:
                outcomes[key].append((criterion, case, recording.attempt, scale))
    return outcomes


def _choose_outcome(row: LabelRow, outcomes: Sequence[LabelledOutcome]) -> LabelledOutcome:
    """Return the outcome of a row: of several outcomes with its key, the one with its case and its attempt."""
    return max(outcomes, key=lambda own: (row.attempt == str(own[2]), row.case == own[1].case))


def _scales(store: Store, run: str) -> dict[str, Range]:
    """Return the ranges of the criteria of a run."""
    outcomes: dict[str, Outcome] = {}
    for result in store.results(run):
        new = [outcome for outcome in result.outcomes if outcome.criterion not in outcomes]
        if not new and outcomes:
            break  # the results of a run have the same criteria, except if eval sets differ
        outcomes |= {outcome.criterion: outcome for outcome in new}
    return {name: outcome.range for name, outcome in outcomes.items()}


def _ensure_valid(
    rows: Sequence[LabelRow], outcomes: dict[str, list[LabelledOutcome]], problems: list[str], *, ignore_unknown: bool
) -> tuple[list[Label], int]:
    """Return the labels of rows, and the number of rows with an unknown key. Problems are appended."""
    labels: list[Label] = []
    unknown = 0
    places: defaultdict[tuple[CaseKey, int, str, PartKey | None, str], list[tuple[str, float | None]]] = defaultdict(
        list
    )
    for row in rows:
        if row.key not in outcomes:
            unknown += 1
            if not ignore_unknown:
                problems.append(
                    f"{row.place}: key: {row.key!r:.40} is not of this run; {spell('ignore_unknown')} leaves it out"
                )
            continue
        criterion, case, attempt, scale = _choose_outcome(row, outcomes[row.key])
        try:
            value, weight = read_label(row.label, scale), read_weight(row.weight)
            details = read_details(row.details)
        except ValueError as error:
            problems.append(f"{row.place}: {error}")
            continue
        places[case, attempt, row.key, details["part"], row.labeler].append((row.place, value))
        fields = {"author": row.labeler, "note": row.note, "key": row.key, "weight": weight, **details}
        labels.append(Label(case, attempt, criterion, value=value, **fields))
    for (_, _, key, _, labeler), own_rows in places.items():
        if len({value for _, value in own_rows}) > 1:
            where = " and ".join(place for place, _ in own_rows)
            problems.append(f"{where}: labeler {labeler!r} gives {key} different labels; keep one of the rows")
    return labels, unknown
