"""The board of a run: people write notes on failures, and sort them into modes. Several people work at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.analysis.failures.board_columns import (
    BoardCard,
    count_agreement,
    estimate_mode,
    sort_cards,
)
from fairtrial.analysis.failures.named_failures import (
    NOT_A_FAILURE,
    current_mode_names,
    current_names,
    first_line,
    name_key,
)
from fairtrial.api.labels.label_desk import SOURCE, check_name
from fairtrial.api.stores import open_store
from fairtrial.errors import UsageError
from fairtrial.formats.labels import write_rows
from fairtrial.records.board_event import BoardEvent
from fairtrial.records.label import FAILURES, Label
from fairtrial.records.score import PartKey
from fairtrial.reports.views import board_shapes as shapes
from fairtrial.text.redaction.redact import redact

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.failure_mode import Failures, Signature
    from fairtrial.records.keys import CaseKey
    from fairtrial.store import Store

MOST_COLUMNS = 24
MOST_CARDS = 2_000
"""The most columns, and the most cards of a column, that a page gets."""
_FIRST_CARDS = 50
"""The cards of a column that a page gets if it does not say how many."""
_MOST_ATTEMPTS = 200
_LONGEST_NOTE = 20_000
_LONGEST_NAME = 200
_MOST_EVENTS = 5_000
_MOST_SIGNATURES = 50
_REASON = 160
_STEP = re.compile(r"[1-9][0-9]{0,5}\.([1-9][0-9]{0,5}|reply|user)")


class BoardConflictError(UsageError):
    """Somebody else changed the modes since the page read them."""

    code = "changed-meanwhile"


class ModeBoard:
    """Reads and changes the boards of a store. Its methods may be called from several threads."""

    def __init__(self, store: Store, find: Callable[[str], Failures | None]) -> None:
        """`find` returns the failures of the run with an id, or None if it has too many."""
        self._store, self._find = store, find

    def view(self, run_id: str, *, cards: int | None = None, queued_only: bool = False) -> shapes.BoardView:
        """Return the board of a run with the first cards of each column, or of those that a queue drew.

        Raises UsageError if there is no such run, if it has too many failures, or for more than 2,000 cards.
        """
        most = _FIRST_CARDS if cards is None else cards
        if not 0 < most <= MOST_CARDS:
            raise UsageError(f"cards: must be 1 to {MOST_CARDS:,}, got {most}")
        run = self._store.run(run_id).id
        events = self._store.board(run).events()
        changes = list(events.values())
        sorted_cards = self._cards(run, changes)
        queued = self._probabilities(run)
        mode_names = list(current_mode_names(self._failures(run).modes, changes).values())
        selection = _Selection(most, queued, queued_only)
        columns = list(_columns(sorted_cards, changes, mode_names, selection))
        several, equal, alpha = count_agreement(sorted_cards)
        labelers = sorted({author for card in sorted_cards for author in card.labels})
        return shapes.BoardView(
            run,
            max(events, default=0),
            len(sorted_cards),
            sum(bool(card.labels) for card in sorted_cards),
            sum(card.weight is not None for card in sorted_cards),
            _largest_columns(columns, mode_names),
            shapes.PeopleView(labelers, several, equal, alpha),
            max(0, len(columns) - MOST_COLUMNS),
            len(queued),
        )

    def state(self, run_id: str) -> Hashable:
        """Return a value that is another one as soon as somebody wrote a note or changed the modes."""
        run = self._store.run(run_id).id
        return self._store.last_label(run), max(self._store.board(run).events(), default=0)

    def note(self, run_id: str, request: shapes.NoteRequest) -> None:
        """Store what a person says about failed attempts. Earlier notes stay in the store.

        Raises UsageError if an attempt did not fail, or if a text is too long.
        """
        run = self._store.run(run_id).id
        author = check_name(request.labeler)
        _check_note(request)
        failures = self._failures(run)
        failed = {(own.position, own.attempt) for own in failures.failed}
        if unknown := next((place for place in request.attempts if place not in failed), None):
            raise UsageError(f"attempts: attempt {unknown[1]} at case {unknown[0]} of run {run} did not fail")
        keys = {position: key for position, key, _ in self._store.case_keys(run)}
        earlier = {(label.case, label.attempt): label for label in self._notes(run) if label.author == author}
        probabilities = self._probabilities(run)
        labels: list[Label] = []
        for place in dict.fromkeys(request.attempts):
            last_label = earlier.get((keys[place[0]], place[1]))
            labels += _labels(request, author, keys[place[0]], place, last_label, probabilities.get(place))
        self._store.add_labels(run, labels)

    def change(self, run_id: str, request: shapes.BoardRequest) -> None:
        """Add, rename or merge modes. Raises BoardConflictError if somebody else did so since the page read them."""
        run = self._store.run(run_id).id
        author, name, to = check_name(request.labeler), _mode_name("name", request.name), ""
        if request.action == "rename":
            to = _mode_name("to", request.to)
        if NOT_A_FAILURE in (name_key(name), name_key(to)):
            raise UsageError(f"name: {NOT_A_FAILURE!r} is a mode that stays; move failures into it or out of it")
        board = self._store.board(run)
        events = board.events()
        last = max(events, default=0)
        if last >= _MOST_EVENTS:
            raise UsageError(f"run {run}: a board has at most {_MOST_EVENTS:,} changes")
        signatures = self._signatures(run, name, list(events.values())) if request.action == "rename" else None
        event = BoardEvent(request.action, name, to, author, _now(), signatures)
        if request.seen != last or not board.add(last + 1, event):
            raise BoardConflictError("somebody else changed the modes; look at the board again, and repeat the change")

    def _signatures(self, run: str, name: str, events: Sequence[BoardEvent]) -> tuple[Signature, ...]:
        """Return the signatures of the found modes that have a name now."""
        modes = self._failures(run).modes
        names = current_mode_names(modes, events)
        named_modes = (mode for mode in modes if name_key(names[mode.number]) == name_key(name))
        return tuple(own for mode in named_modes for own in mode.signatures[:_MOST_SIGNATURES])

    def rows(self, run_id: str) -> Iterator[dict[str, Any]]:
        """Yield the notes of people as rows of a file, the last note of each person on each failure."""
        run = self._store.run(run_id).id
        events = list(self._store.board(run).events().values())
        steps = {
            (label.case, label.attempt, label.author): label.part.id
            for label in self._store.labels(run)
            if label.criterion == FAILURES and label.part is not None
        }
        for card in self._cards(run, events):
            for author, label in card.labels.items():
                yield {
                    "eval_set": label.case.eval_set,
                    "case": label.case.case,
                    "attempt": label.attempt,
                    "labeler": author,
                    "at": label.at,
                    "mode": card.names[author],
                    "is_failure": label.value != 0,
                    "note": label.note,
                    "step": steps.get((label.case, label.attempt, author), ""),
                    "probability": label.probability,
                }

    def _failures(self, run: str) -> Failures:
        failures = self._find(run)
        if failures is None:
            raise UsageError(
                f"run {run} has too many failures for a board; `fairtrial label {run}` draws a sample", code="too-large"
            )
        return failures

    def _cards(self, run: str, events: Sequence[BoardEvent]) -> list[BoardCard]:
        positions = {key: position for position, key, _ in self._store.case_keys(run)}
        return sort_cards(self._failures(run), self._store.labels(run), positions, events)

    def _notes(self, run: str) -> Iterator[Label]:
        return (label for label in self._store.labels(run) if label.criterion == FAILURES and label.part is None)

    def _probabilities(self, run: str) -> Mapping[tuple[int, int], float]:
        """Return the probabilities with which failed attempts were drawn for people. The last queue counts."""
        queues = self._store.label_queues(run)
        return {
            (item.position, item.attempt): item.probability
            for number, queue in queues.queues().items()
            if queue.criterion == FAILURES
            for item in queues.items(number)
        }


def _labels(
    request: shapes.NoteRequest,
    author: str,
    key: CaseKey,
    place: tuple[int, int],
    earlier: Label | None,
    probability: float | None,
) -> Iterator[Label]:
    """Yield the labels of a person on an attempt: the note with its name, and the decisive step."""
    at, weight = _now(), 1 / probability if probability else 1.0
    if request.step:
        part = PartKey("message", id=request.step)
        yield Label(key, place[1], FAILURES, part, None, author, at, source=SOURCE)
    note = redact(request.note or _with_name(request.name, earlier), emails=False)[0]
    if note or not request.is_failure:
        value, side = (1.0, "") if request.is_failure else (0.0, "expectation")
        yield Label(
            key,
            place[1],
            FAILURES,
            None,
            value,
            author,
            at,
            note,
            weight=weight,
            probability=probability,
            source=SOURCE,
            side=side,  # type: ignore[arg-type]
        )


def _with_name(name: str, earlier: Label | None) -> str:
    """Return a note with another first line. The rest of the earlier note stays."""
    if not name:
        return "" if earlier is None else earlier.note
    rest = "" if earlier is None else earlier.note.strip().partition("\n")[2]
    return f"{first_line(name)}\n{rest}".strip()


class _Selection(NamedTuple):
    """The cards that a page wants: at most `most` of a column, and only those of a queue if `queued_only`."""

    most: int
    queued: Collection[tuple[int, int]]
    queued_only: bool


def _columns(
    cards: Sequence[BoardCard], events: Sequence[BoardEvent], mode_names: Sequence[str], selection: _Selection
) -> Iterator[shapes.ColumnView]:
    """Yield the modes in an order that stays: failures without a mode, the modes of `mode_names`, then those of people.

    A mode of people has the place of its first mention. Failures that are none come last. In a column, those of a queue
    come first, and then those that people read.
    """
    queued = selection.queued
    by_key: dict[str, list[BoardCard]] = {"": []}
    names = {"": "", NOT_A_FAILURE: NOT_A_FAILURE}
    mentions = [(event.at, event.name) for event in events if event.action == "add"]
    mentions += [(label.at, card.names[author]) for card in cards for author, label in card.labels.items()]
    for name in (*mode_names, *(current_names(events, name, at) for at, name in sorted(mentions))):
        by_key.setdefault(name_key(name), [])
        names.setdefault(name_key(name), name)
    for card in cards:
        by_key.setdefault(name_key(card.name), []).append(card)
        names.setdefault(name_key(card.name), card.name)
    not_failures = by_key.pop(NOT_A_FAILURE, [])
    for key, group in [*by_key.items(), (NOT_A_FAILURE, not_failures)]:
        own = [card for card in group if card.place in queued or not selection.queued_only]
        ordered = sorted(own, key=lambda card: (card.place not in queued, not card.labels, card.place))
        yield shapes.ColumnView(
            key,
            names[key],
            len(own),
            sum(bool(card.labels) for card in own),
            [_card(card, queued) for card in ordered[: selection.most]],
            sum(card.weight is not None for card in own),
            estimate_mode(cards, key),
        )


def _largest_columns(columns: Sequence[shapes.ColumnView], mode_names: Sequence[str]) -> list[shapes.ColumnView]:
    """Return the columns that a page gets: those of people before those that were found, the largest first."""
    keys = set(map(name_key, mode_names))
    ranks = sorted(columns, key=lambda own: (own.key not in ("", NOT_A_FAILURE), own.key in keys, -own.total))
    largest = {own.key for own in ranks[:MOST_COLUMNS]}
    return [own for own in columns if own.key in largest]


def _card(card: BoardCard, queued: Collection[tuple[int, int]]) -> shapes.CardView:
    return shapes.CardView(
        *card.place,
        card.case,
        card.reason[:_REASON],
        card.note[:_REASON],
        len(card.labels),
        card.is_split,
        card.place in queued,
    )


def _mode_name(field: str, text: str) -> str:
    name = first_line(text)
    if not name or len(text) > _LONGEST_NAME:
        raise UsageError(f"{field}: must be a name of 1 to {_LONGEST_NAME} characters, got {len(text)}")
    return redact(name, emails=False)[0]


def _check_note(request: shapes.NoteRequest) -> None:
    if not 0 < len(request.attempts) <= _MOST_ATTEMPTS:
        raise UsageError(f"attempts: must be 1 to {_MOST_ATTEMPTS}, got {len(request.attempts)}")
    if len(request.note) > _LONGEST_NOTE:
        raise UsageError(f"note: must have at most {_LONGEST_NOTE} characters, got {len(request.note)}")
    if request.name:
        _mode_name("name", request.name)
    if request.step and not _STEP.fullmatch(request.step):
        raise UsageError(f"step: must be for example 2.3, 2.reply or 2.user, got {request.step!r:.40}")
    if request.is_failure and not (request.note or request.name or request.step):
        raise UsageError("note: is empty, and nothing else is said", code="too-little-data")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


COLUMNS = ("eval_set", "case", "attempt", "labeler", "at", "mode", "is_failure", "note", "step", "probability")
"""The columns of a file with notes."""


def write_notes(run: Run, url: str, path: Path) -> int:
    """Write the notes of people on the failures of a run to a file, and return their number.

    The file is JSON lines if its name ends with `.jsonl`, and otherwise CSV.
    """
    with closing(open_store(url, create=False)) as store:
        rows = list(ModeBoard(store, lambda _: run.failures()).rows(run.info.id))
    path.write_bytes(write_rows(rows, path.suffix, COLUMNS))
    return len(rows)
