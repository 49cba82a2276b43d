"""The rows of boards: each change of the modes of a run, in the order in which people made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairtrial.records.board_event import BoardEvent
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError, encode
from fairtrial.store.schema import BOARD_EVENTS

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections
    from fairtrial.system.unreadable_rows import UnreadableRows


class BoardRows:
    """The board of one run. Each write commits immediately."""

    def __init__(self, connections: Connections, run: int, unreadable: UnreadableRows) -> None:
        """Read and write the board of a run by its number. `unreadable` receives the rows that cannot be read."""
        self._connections, self._run, self._unreadable = connections, run, unreadable

    def events(self) -> dict[int, BoardEvent]:
        """Return the changes by their numbers, which count from 1."""
        decoder = BodyDecoder(BoardEvent)
        query = sa.select(BOARD_EVENTS).where(BOARD_EVENTS.c.run == self._run).order_by(BOARD_EVENTS.c.number)
        events = {}
        for row in self._connections.rows(query):
            try:
                events[row.number] = decoder.decode(row.body)
            except UnreadableBodyError:
                self._unreadable.add("board", (self._run, row.number))
        return events

    def add(self, number: int, event: BoardEvent) -> bool:
        """Store a change under the next number, and return whether nobody else took the number before.

        The primary key decides between people who change the board at the same time.
        """
        row = {"run": self._run, "number": number, "body": encode(event)}
        try:
            self._connections.transact(lambda connection: connection.execute(sa.insert(BOARD_EVENTS), [row]))
        except sa.exc.IntegrityError:
            return False
        return True
