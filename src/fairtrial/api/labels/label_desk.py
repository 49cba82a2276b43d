"""The label desk: assign items of a queue to people in a browser, show them, and store the labels.

Every answer is in the store before the next item is shown. An item that a window holds returns to the queue when the
window gives it back, or when it has not asked for `PATIENCE` seconds. The same person gets it after `OWN_PATIENCE`
seconds in another window.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fairtrial.api.labels.label_queues import labels_by_place, open_queue, queue_terms
from fairtrial.api.stores import open_store
from fairtrial.errors import UsageError, spell
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.keys import CaseKey, outcome_key
from fairtrial.records.label import FAILURES, Label, LabelQueue
from fairtrial.records.result import Outcome
from fairtrial.records.score import Range, Score, find_part
from fairtrial.reports.views import label_shapes as shapes
from fairtrial.reports.views.view_labels import blind_item, criteria_views, is_graded, queue_view, show_outcome
from fairtrial.text.display import visible_line
from fairtrial.text.redaction.redact import redact

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Trace
    from fairtrial.store import QueueItem, Store

T = TypeVar("T")

PATIENCE = 180.0
"""Seconds after which an item of a window that does not ask any more is free. Browsers let a hidden page ask once a
minute."""
OWN_PATIENCE = 30.0
"""Seconds after which a person gets the items of their own other window, which may have crashed. A page that is seen
asks every ten seconds."""
MOST_QUEUES = 2**31 - 1
"""The largest number of a queue that every database holds."""
SOURCE = "view"
_ABOUT_FAILURES = (
    "Yes: the agent failed, and the first line of the note names the way. No: it did not, so the expectation is wrong."
)
_HELD = 2
"""The items that a window holds: the item that is shown, and the next one."""
_LONGEST_NAME = 100
_LONGEST_NOTE = 20_000
_LONGEST_TIME = 86_400.0
_FIRST_RESULTS = 20
_WINDOW = re.compile(r"[A-Za-z0-9-]{8,64}")


def open_label_queue(url: str, run: str, request: shapes.QueueRequest) -> shapes.QueueView:
    """Return the queue of a request in a store, which is drawn if the run has none like it. Raises UsageError."""
    with closing(open_store(url, create=False)) as store:
        return LabelDesk(store).open(run, request)


class ItemLostError(UsageError):
    """The window does not hold the item any more, because it did not ask for a long time."""

    code = "changed-meanwhile"


@dataclass(frozen=True)
class _Desk:
    """A queue with everything that stays the same while people label it."""

    run: str
    number: int
    queue: LabelQueue
    scale: Range
    keys: dict[int, CaseKey]
    signature: Json

    @property
    def description(self) -> str:
        """The purpose of the criterion, or an empty text for a metric of the user."""
        if self.queue.by == "failures":
            return _ABOUT_FAILURES
        entry = CATALOG.get(self.queue.criterion)
        return "" if entry is None else entry.summary

    def allows(self, value: float | None) -> bool:
        """Return whether a value is an answer of the queue."""
        if value is None:
            return True
        if self.queue.answers:
            return value in self.queue.answers.values()
        return value in self.scale if is_graded(self.queue, self.scale) else value in (0.0, 1.0)


class LabelDesk:
    """Hands out items of the queues of a store, and stores labels. Its methods may be called from several threads."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        """Work on a store. `clock` returns the time in seconds."""
        self._store, self._clock = store, clock
        self._desks: dict[tuple[str, int], _Desk] = {}
        self._lock = threading.Lock()

    def labels(self, run: str) -> shapes.LabelsView:
        """Return what can be labelled in a run, and its queues."""
        run_id = self._store.run(run).id
        terms = {name: own.range for name, own in self._store.criterion_terms(run_id).items()}
        outcomes: dict[str, Outcome] = {}
        for result in self._store.results(run_id, limit=_FIRST_RESULTS):
            for outcome in result.outcomes:
                if outcome.criterion not in outcomes or outcome.score.value is not None:
                    outcomes[outcome.criterion] = outcome
        numbers = reversed(self._store.label_queues(run_id).queues())
        return shapes.LabelsView(
            run_id,
            criteria_views(terms, outcomes),
            [self._queue_view(self._desk(run_id, number)) for number in numbers],
        )

    def open(self, run: str, request: shapes.QueueRequest) -> shapes.QueueView:
        """Return the queue of a request, which is drawn if the run has none like it. Raises UsageError.

        Without a criterion, it is the only criterion of the run that a judge decides.
        """
        run_id = self._store.run(run).id
        options = msgspec.structs.asdict(request)
        default = "" if request.criterion else FAILURES if request.by == "failures" else self._only_judged(run_id)
        queue = LabelQueue(**options | {"criterion": request.criterion or default})
        return self._queue_view(self._desk(run_id, open_queue(self._store, run_id, queue)))

    def claim(self, run: str, number: int, request: shapes.WindowRequest) -> shapes.ClaimedItems:
        """Return the items that a window holds, after giving it free items. Nobody gets an item twice."""
        desk, holder = self._find_desk(run, number), _holder(request)
        items = self._list_claimed(desk, holder)
        return shapes.ClaimedItems(
            self._queue_view(desk, find_labeler(holder)), [self._item_view(desk, item) for item in items]
        )

    def hold(self, run: str, number: int, request: shapes.WindowRequest) -> None:
        """Keep the items of a window that is still open."""
        desk = self._find_desk(run, number)
        self._store.label_queues(desk.run).hold(number, _holder(request), self._clock())

    def release(self, run: str, number: int, request: shapes.WindowRequest) -> None:
        """Give back the items of a window that closes."""
        desk = self._find_desk(run, number)
        self._store.label_queues(desk.run).release(number, _holder(request))

    def answer(self, run: str, number: int, request: shapes.LabelRequest) -> shapes.LabelProgressView:
        """Store a label, and return the progress. Raises ItemLostError if the window does not hold the item.

        Raises UsageError if the value is not an answer of the queue, or if a text is too long.
        """
        desk = self._find_desk(run, number)
        holder = _holder(shapes.WindowRequest(request.labeler, request.window))
        _check_answer(desk, request)
        queues = self._store.label_queues(desk.run)
        place = (request.number, request.copy)
        item = next((own for own in queues.items(number) if (own.number, own.copy) == place), None)
        if item is None:
            raise UsageError(f"queue {number} has no item {request.number}", code="unknown-name")
        label = self._label(desk, item, request)
        if not queues.answer(number, place, holder, label, again=request.again):
            raise ItemLostError("another window has this item now, because this window did not ask for a long time")
        return self._progress(desk, find_labeler(holder))

    # Helpers

    def _only_judged(self, run_id: str) -> str:
        criteria = self.labels(run_id).criteria
        judged = [own.name for own in criteria if own.judged]
        if len(judged) == 1:
            return judged[0]
        names = ", ".join(judged or [own.name for own in criteria]) or "none"
        count = f"{len(judged)} criteria" if judged else "no criterion"
        raise UsageError(
            f"{spell('criterion')}: a judge decides {count} of run {run_id}, so name the criterion: {names}"
        )

    def _find_desk(self, run: str, number: int) -> _Desk:
        return self._desk(self._store.run(run).id, number)

    def _desk(self, run_id: str, number: int) -> _Desk:
        with self._lock:
            desk = self._desks.get((run_id, number))
        if desk is not None:
            return desk
        queues = self._store.label_queues(run_id)
        queue = queues.queues().get(number)
        if queue is None:
            raise UsageError(
                f"run {run_id} has no queue {number}; `fairtrial label {run_id}` opens one", code="unknown-name"
            )
        positions = {item.position for item in queues.items(number)}
        keys = {position: key for position, key, _ in self._store.case_keys(run_id) if position in positions}
        signature = self._store.run(run_id).signatures.get(queue.criterion)
        scale = queue_terms(self._store, run_id)[queue.criterion].range
        desk = _Desk(run_id, number, queue, scale, keys, signature)
        with self._lock:
            return self._desks.setdefault((run_id, number), desk)

    def _list_claimed(self, desk: _Desk, holder: str) -> list[QueueItem]:
        queues = self._store.label_queues(desk.run)
        now = self._clock()
        items = queues.items(desk.number)
        own = [item for item in items if item.holder == holder and not item.done]
        queues.hold(desk.number, holder, now)
        labeler = find_labeler(holder)
        free = (item for item in self._open_items(desk, items, labeler, now) if item.holder != holder)
        for item in free:
            if len(own) >= _HELD:
                break
            expired = now - _patience(item, labeler)
            if queues.claim(desk.number, item, holder, now, expired=expired) and self._keeps(desk, item, holder):
                own.append(item)
        return own[:_HELD]

    def _keeps(self, desk: _Desk, item: QueueItem, holder: str) -> bool:
        """Give an item back if another window of the same person took another copy of it at the same time."""
        queues = self._store.label_queues(desk.run)
        others = (own for own in queues.items(desk.number) if own.number == item.number and own.copy != item.copy)
        if not any(self._has(own, find_labeler(holder), self._clock()) for own in others):
            return True
        queues.release(desk.number, holder, item=item)
        return False

    @staticmethod
    def _has(item: QueueItem, labeler: str, now: float) -> bool:
        """Return whether a person has labelled an item, or holds it in a window that is open."""
        return find_labeler(item.holder) == labeler and (item.done or item.held >= now - OWN_PATIENCE)

    def _open_items(self, desk: _Desk, items: Iterable[QueueItem], labeler: str, now: float) -> Iterable[QueueItem]:
        """Return the items that a person may get: free, and neither theirs already nor labelled by them before."""
        items = list(items)
        taken = {item.number for item in items if self._has(item, labeler, now)}
        labelled = self._store.label_queues(desk.run).labelled_places(desk.queue.criterion, labeler)
        numbers: set[int] = set()
        for item in items:
            is_free = not item.holder or item.held < now - _patience(item, labeler)
            if item.done or not is_free or item.number in taken or item.number in numbers:
                continue
            key = desk.keys[item.position]
            if (key.eval_set, key.case, key.digest, item.attempt, item.part) not in labelled:
                numbers.add(item.number)
                yield item

    def _item_view(self, desk: _Desk, item: QueueItem) -> shapes.LabelItemView:
        case = next((own.case for own in self._store.cases(desk.run, positions=[item.position])), None)
        outcome, trace = self._outcome(desk, item), self._trace(desk, item)
        view = blind_item((item.number, item.copy), trace, case, outcome, find_part(item.part), desk.signature)
        if desk.queue.blind:
            return view
        place = (item.position, item.attempt, item.part)
        labels = [label for own, label in labels_by_place(self._store, desk.run, desk.queue.criterion) if own == place]
        return msgspec.structs.replace(view, **show_outcome(outcome, labels))

    def _trace(self, desk: _Desk, item: QueueItem) -> Trace:
        recordings = self._store.recordings(desk.run, positions=[item.position])
        return _stored(own.trace for _, own in recordings if own.attempt == item.attempt)

    def _outcome(self, desk: _Desk, item: QueueItem) -> Outcome:
        if desk.queue.by == "failures":
            return Outcome(FAILURES, Score(0.0), 1.0)
        return _stored(
            outcome
            for result in self._store.results(desk.run, positions=[item.position])
            if result.attempt == item.attempt
            for outcome in result.outcomes
            if outcome.criterion == desk.queue.criterion
        )

    def _label(self, desk: _Desk, item: QueueItem, request: shapes.LabelRequest) -> Label:
        key = desk.keys[item.position]
        return Label(
            key,
            item.attempt,
            desk.queue.criterion,
            find_part(item.part),
            request.value,
            check_name(request.labeler),
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            redact(request.note, emails=False)[0],
            outcome_key(desk.queue.criterion, key.digest, self._trace(desk, item)),
            1 / item.probability,
            request.seconds,
            desk.queue.blind,
            item.probability,
            SOURCE,
            request.side or "",
            redact(request.reference, emails=False)[0],
        )

    def _queue_view(self, desk: _Desk, labeler: str = "") -> shapes.QueueView:
        return queue_view(desk.number, desk.queue, desk.scale, self._progress(desk, labeler), desk.description)

    def _progress(self, desk: _Desk, labeler: str) -> shapes.LabelProgressView:
        queues = self._store.label_queues(desk.run)
        items = queues.items(desk.number)
        now = self._clock()
        seconds = queues.read_seconds(desk.queue.criterion, labeler) if labeler else []
        return shapes.LabelProgressView(
            done=sum(item.done for item in items),
            total=len(items),
            mine=sum(item.done and find_labeler(item.holder) == labeler for item in items),
            share=_share(items, desk.queue.labelers),
            elsewhere=sum(not item.done and bool(item.holder) and item.held >= now - PATIENCE for item in items),
            median_seconds=median(seconds) if seconds else None,
        )


def _share(items: Sequence[QueueItem], labelers: int) -> int:
    """Return how many items each person labels: all that several people label, and an equal part of the others."""
    copies = Counter(item.number for item in items)
    alone = sum(number == 1 for number in copies.values())
    return len(copies) - alone + math.ceil(alone / max(1, labelers))


def _stored(found: Iterator[T]) -> T:
    """Return the first of what the store has. Raises UsageError if the run has lost it since the queue was drawn."""
    for own in found:
        return own
    raise UsageError(f"the run does not have this item any more; draw another queue with another {spell('seed')}")


def _patience(item: QueueItem, labeler: str) -> float:
    return OWN_PATIENCE if find_labeler(item.holder) == labeler else PATIENCE


def _holder(request: shapes.WindowRequest) -> str:
    """Return the holder of items: a window and the person in front of it."""
    if not _WINDOW.fullmatch(request.window):
        raise UsageError(f"window: must be 8 to 64 letters, digits and hyphens, got {request.window!r:.80}")
    return f"{request.window} {check_name(request.labeler)}"


def find_labeler(holder: str) -> str:
    """Return the name of the person who holds an item."""
    return holder.partition(" ")[2]


def check_name(text: str) -> str:
    """Return the name of a person. Raises UsageError if it is empty, too long, or not visible."""
    name = text.strip()
    if not 0 < len(name) <= _LONGEST_NAME or visible_line(name) != name:
        raise UsageError(
            f"{spell('labeler')}: must be a name of 1 to {_LONGEST_NAME} visible characters, got {name!r:.120}"
        )
    return name


def _check_answer(desk: _Desk, request: shapes.LabelRequest) -> None:
    if not desk.allows(request.value):
        allowed = ", ".join(map(str, desk.queue.answers.values())) or (
            f"a number {desk.scale}" if is_graded(desk.queue, desk.scale) else "0 or 1"
        )
        raise UsageError(f"value: must be null or {allowed}, got {request.value}")
    if not (math.isfinite(request.seconds) and 0 <= request.seconds <= _LONGEST_TIME):
        raise UsageError(f"seconds: must be a number from 0 to {_LONGEST_TIME:g}, got {request.seconds}")
    for name, text in (("note", request.note), ("reference", request.reference)):
        if len(text) > _LONGEST_NOTE:
            raise UsageError(f"{name}: must have at most {_LONGEST_NOTE} characters, got {len(text)}")
