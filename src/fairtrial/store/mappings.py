"""Mappings for the replies and ballots in a run that live in the database."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, MutableMapping, Sequence, ValuesView
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import sqlalchemy as sa

from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError, encode
from fairtrial.store.statements import prepare, replacing

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections
    from fairtrial.system.unreadable_rows import UnreadableRows

T = TypeVar("T", bound=msgspec.Struct)
_BATCH = 500


class StoredMapping(MutableMapping[str, T]):
    """One kind of record of one run. Writes commit immediately, and memory does not grow with the entries."""

    def __init__(
        self,
        connections: Connections,
        table: sa.Table,
        run: Callable[[], int],
        kind: type[T],
        unreadable: UnreadableRows,
    ) -> None:
        """Read and write a table over connections to a database. Each write commits immediately.

        `run` returns the run number, which has none before it begins. A row that cannot be read counts as
        missing, and `unreadable` receives it.
        """
        self._connections, self._table, self._run = connections, table, run
        self._unreadable, self._noun = unreadable, kind.__name__.lower()
        self._decoder = BodyDecoder(kind)
        key = [column == sa.bindparam(column.name) for column in table.primary_key]
        self._select = prepare(sa.select(table.c.body).where(*key), connections.dialect)

    def __getitem__(self, key: str) -> T:
        row = {"run": self._run(), "key": key}
        body = self._connections.commit_each(lambda connection: self._select.execute(connection, row).scalar())
        if body is None:
            raise KeyError(key)
        try:
            return self._decoder.decode(body)
        except UnreadableBodyError:
            self._unreadable.add(self._noun, (row["run"], key))
            raise KeyError(key) from None

    def pick(self, keys: Iterable[str]) -> dict[str, T]:
        """Return the entries at some keys, as far as they are stored and can be read. Many keys are few queries."""
        run, picked, wanted = self._run(), {}, iter(dict.fromkeys(keys))
        while batch := list(islice(wanted, _BATCH)):
            columns = self._table.c
            query = sa.select(columns.key, columns.body).where(columns.run == run, columns.key.in_(batch))
            for key, body in self._connections.commit_each(partial(_read_all, query)):
                try:
                    picked[key] = self._decoder.decode(body)
                except UnreadableBodyError:
                    self._unreadable.add(self._noun, (run, key))
        return picked

    def __setitem__(self, key: str, value: T) -> None:
        row = {"run": self._run(), "key": key, "body": encode(value)}
        statements = replacing(self._connections.dialect, self._table)

        def write(connection: sa.Connection) -> None:
            for statement in statements:
                statement.execute(connection, row)

        self._connections.commit_each(write)
        self._unreadable.forget(self._noun, (row["run"], key))

    def __delitem__(self, key: str) -> None:
        deletion = sa.delete(self._table).where(self._table.c.run == self._run(), self._table.c.key == key)
        if not self._connections.commit_each(lambda connection: connection.execute(deletion).rowcount):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        keys = sa.select(self._table.c.key).where(self._table.c.run == self._run()).order_by(self._table.c.key)
        yield from self._connections.commit_each(lambda connection: connection.execute(keys).scalars().all())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values(self) -> ValuesView[T]:
        """Return the values that can be read."""
        return _ReadableValues(self)

    def items(self) -> ItemsView[str, T]:
        """Return the keys and values that can be read."""
        return _ReadableItems(self)


def _read_all(query: sa.Select[Any], connection: sa.Connection) -> Sequence[Any]:
    return connection.execute(query).all()


class _ReadableItems(ItemsView[str, T]):
    def __init__(self, mapping: StoredMapping[T]) -> None:
        super().__init__(mapping)
        self._rows = mapping

    def __iter__(self) -> Iterator[tuple[str, T]]:
        keys = iter(self._rows)
        while batch := list(islice(keys, _BATCH)):
            picked = self._rows.pick(batch)
            yield from ((key, picked[key]) for key in batch if key in picked)


class _ReadableValues(ValuesView[T]):
    def __init__(self, mapping: StoredMapping[T]) -> None:
        super().__init__(mapping)
        self._items = _ReadableItems(mapping)

    def __iter__(self) -> Iterator[T]:
        return (value for _, value in self._items)
