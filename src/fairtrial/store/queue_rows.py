"""The rows of label queues: waiting outcomes, the people who have them, and labelled ones.

An item is handed out with one statement that changes its row only if the item is free, so that two windows never get
the same copy. A label and the mark that its item is done are written in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from msgspec.structs import asdict

from fairtrial.records.label import Label, LabelQueue
from fairtrial.records.record import Record
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError, encode
from fairtrial.store.label_rows import label_row
from fairtrial.store.schema import LABEL_ITEMS, LABEL_QUEUES, LABELS
from fairtrial.store.statements import storable

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections
    from fairtrial.system.unreadable_rows import UnreadableRows


class QueueItem(Record, frozen=True):
    """A queue item for one person. `holder` has it, or has labelled it, and `held` is the time in seconds.

    `copy` counts from 0. An item that several people label has a copy for each of them.
    """

    number: int
    copy: int
    position: int
    attempt: int
    part: str
    probability: float
    holder: str = ""
    held: float = 0.0
    done: bool = False


class LabelQueues:
    """The queues of one run. Each write commits immediately."""

    def __init__(self, connections: Connections, run: int, unreadable: UnreadableRows) -> None:
        """Read and write a run's queues by run number. `unreadable` receives the rows that cannot be read."""
        self._connections, self._run, self._unreadable = connections, run, unreadable

    def queues(self) -> dict[int, LabelQueue]:
        """Return the queues by their numbers."""
        decoder = BodyDecoder(LabelQueue)
        query = sa.select(LABEL_QUEUES).where(LABEL_QUEUES.c.run == self._run).order_by(LABEL_QUEUES.c.queue)
        queues = {}
        for row in self._connections.rows(query):
            try:
                queues[row.queue] = decoder.decode(row.body)
            except UnreadableBodyError:
                self._unreadable.add("queue", (self._run, row.queue))
        return queues

    def add(self, queue: LabelQueue, items: Sequence[QueueItem]) -> int:
        """Store a queue that is new, and return its number. An equal queue that another process added is taken."""
        while (number := self._find(queue)) is None:
            try:
                self._connections.transact(lambda connection: self._insert(connection, queue, items))
            except sa.exc.IntegrityError:  # another process took the number
                continue
        return number

    def _find(self, queue: LabelQueue) -> int | None:
        return next((number for number, own in self.queues().items() if own == queue), None)

    def _insert(self, connection: sa.Connection, queue: LabelQueue, items: Sequence[QueueItem]) -> None:
        last = sa.select(sa.func.max(LABEL_QUEUES.c.queue)).where(LABEL_QUEUES.c.run == self._run)
        place = {"run": self._run, "queue": (connection.execute(last).scalar() or 0) + 1}
        row = {**place, "criterion": storable(queue.criterion), "body": encode(queue)}
        connection.execute(sa.insert(LABEL_QUEUES), [row])
        if items:
            texts = [{"part": storable(item.part), "holder": storable(item.holder)} for item in items]
            rows = [{**place, **asdict(item), **own} for item, own in zip(items, texts, strict=True)]
            connection.execute(sa.insert(LABEL_ITEMS), rows)

    def items(self, queue: int) -> list[QueueItem]:
        """Return a queue's items in their order."""
        columns = [LABEL_ITEMS.c[name] for name in QueueItem.__struct_fields__]
        query = (
            sa.select(*columns).where(*self._queue_conditions(queue)).order_by(LABEL_ITEMS.c.number, LABEL_ITEMS.c.copy)
        )
        return [QueueItem(*row) for row in self._connections.rows(query)]

    def claim(self, queue: int, item: QueueItem, holder: str, now: float, *, expired: float) -> bool:
        """Give an item to a holder, and return whether it was free, or held since before the time `expired`."""
        is_free = sa.or_(LABEL_ITEMS.c.holder.in_(("", holder)), LABEL_ITEMS.c.held < expired)
        update = sa.update(LABEL_ITEMS).where(*self._at(queue, item.number, item.copy), is_free, ~LABEL_ITEMS.c.done)
        return self._changes(update.values(holder=storable(holder), held=now))

    def hold(self, queue: int, holder: str, now: float) -> None:
        """Keep a holder's items for longer."""
        self._changes(sa.update(LABEL_ITEMS).where(*self._held_conditions(queue, holder)).values(held=now))

    def release(self, queue: int, holder: str, *, item: QueueItem | None = None) -> None:
        """Release a holder's item, or all its items without labels."""
        places = self._held_conditions(queue, holder)
        if item is not None:
            places += (LABEL_ITEMS.c.number == item.number, LABEL_ITEMS.c.copy == item.copy)
        self._changes(sa.update(LABEL_ITEMS).where(*places).values(holder="", held=0.0))

    def answer(self, queue: int, place: tuple[int, int], holder: str, label: Label, *, again: bool) -> bool:
        """Store a label on the item that a holder has, and return whether the holder has it.

        With `again` the holder has labelled the item before, and the earlier label stays. Without it, a label that is
        sent twice is stored once.
        """
        at = (*self._at(queue, *place), LABEL_ITEMS.c.holder == storable(holder))

        def work(connection: sa.Connection) -> bool:
            update = sa.update(LABEL_ITEMS).where(*at, ~LABEL_ITEMS.c.done).values(done=True)
            is_new = bool(connection.execute(update).rowcount)
            is_held = is_new or connection.execute(sa.select(LABEL_ITEMS.c.number).where(*at)).first() is not None
            if is_new or (again and is_held):
                connection.execute(sa.insert(LABELS), [label_row(label, self._run)])
            return is_held

        return self._connections.transact(work)

    def labelled_places(self, criterion: str, author: str) -> set[tuple[str, str, str, int, str]]:
        """Return the eval set, case, digest, attempt and part of everything that a person labelled for a criterion."""
        names = ("eval_set", "case_id", "digest", "attempt", "part")
        query = sa.select(*(LABELS.c[name] for name in names)).where(
            LABELS.c.run == self._run,
            LABELS.c.criterion == storable(criterion),
            LABELS.c.author == storable(author),
        )
        return {(row[0], row[1], row[2], row[3], row[4]) for row in self._connections.rows(query)}

    def read_seconds(self, criterion: str, author: str) -> list[float]:
        """Return the seconds that a person took for each label for a criterion, if they are known."""
        query = sa.select(LABELS.c.seconds).where(
            LABELS.c.run == self._run,
            LABELS.c.criterion == storable(criterion),
            LABELS.c.author == storable(author),
            LABELS.c.seconds.is_not(None),
        )
        return [row[0] for row in self._connections.rows(query)]

    def _queue_conditions(self, queue: int) -> tuple[Any, ...]:
        return (LABEL_ITEMS.c.run == self._run, LABEL_ITEMS.c.queue == queue)

    def _at(self, queue: int, number: int, copy: int) -> tuple[Any, ...]:
        return (*self._queue_conditions(queue), LABEL_ITEMS.c.number == number, LABEL_ITEMS.c.copy == copy)

    def _held_conditions(self, queue: int, holder: str) -> tuple[Any, ...]:
        return (*self._queue_conditions(queue), LABEL_ITEMS.c.holder == storable(holder), ~LABEL_ITEMS.c.done)

    def _changes(self, statement: sa.Update) -> bool:
        return self._connections.transact(lambda connection: bool(connection.execute(statement).rowcount))
