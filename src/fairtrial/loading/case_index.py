"""The index of cases from recordings, if nothing else names the cases. It is on disk, and so of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fairtrial.errors import UsageError, spell
from fairtrial.loading.temporary_database import TemporaryDatabase
from fairtrial.text.display import count

RECORDED = "recorded"
"""The id of the eval set of recordings that do not name an eval set."""
_SCHEMA = """
CREATE TABLE cases (
    position INTEGER PRIMARY KEY, source INTEGER, id TEXT, name TEXT, attempts INTEGER, selected INTEGER DEFAULT 1
);
CREATE UNIQUE INDEX by_source ON cases (source, id);
"""
_COLUMNS = "SELECT position, source, id, name, attempts FROM cases"


class IndexedCase(NamedTuple):
    """A case that recordings named: its place, the number of its source, its id and name, and its attempts."""

    position: int
    source: int
    id: str
    name: str
    attempts: int


class ReadCoverage:
    """How many recordings were read, and how many of them not in full."""

    def __init__(self) -> None:
        self._total = 0
        self._incomplete = 0
        self._reason = ""

    def add(self, reason: str) -> None:
        """Count a recording. `reason` says why it is incomplete, or is empty."""
        self._total += 1
        self._incomplete += bool(reason)
        self._reason = self._reason or reason

    def warnings(self) -> tuple[str, ...]:
        """Return a warning if recordings were not read in full."""
        if not self._incomplete:
            return ()
        return (f"{self._share}, so that nothing is said to be absent in them; for example: {self._reason}",)

    def ensure_at_most(self, share: float | None) -> None:
        """Raise UsageError if a larger share of the recordings was not read in full. None allows any."""
        if share is not None and self._incomplete > share * self._total:
            raise UsageError(
                f"{self._share}, and {spell('max_incomplete')} allows {share:.3g} of them; for example: {self._reason}"
            )

    @property
    def _share(self) -> str:
        return f"{self._incomplete} of {count(self._total, 'recording')} were not read in full"


class CaseIndex:
    """The cases of recordings, in the order in which they first appear.

    In one source, recordings with the same id share a case. For example, a source with the recordings `a`, `b`, `a` has
    the case `a` with two attempts and the case `b`.
    """

    def __init__(self) -> None:
        self._connection = TemporaryDatabase()
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")
        self._cases = 0
        self.coverage = ReadCoverage()

    def add(self, source: int, case_id: str) -> None:
        """Count a recording of a case."""
        update = "UPDATE cases SET attempts = attempts + 1 WHERE source = ? AND id = ?"
        if not self._connection.execute(update, (source, _storable(case_id))).rowcount:
            insert = "INSERT INTO cases (position, source, id, name, attempts) VALUES (?, ?, ?, ?, 1)"
            self._connection.execute(insert, (self._cases, source, _storable(case_id), _storable(case_id)))
            self._cases += 1

    def name_cases(self, set_id: str) -> None:
        """Give a name of its own to each case whose id several sources share, for example `recorded:a#2`."""
        self._connection.execute("CREATE INDEX by_id ON cases (id)")
        shared = "SELECT position, id FROM cases WHERE id IN (SELECT id FROM cases GROUP BY id HAVING count(*) > 1)"
        earlier = "SELECT count(*) FROM cases WHERE id = ? AND position <= ?"
        for position, case_id in self._connection.execute(shared):
            (number,) = self._connection.execute(earlier, (case_id, position)).fetchone()
            name = _storable(f"{set_id}:{_text(case_id)}#{number}")
            self._connection.execute("UPDATE cases SET name = ? WHERE position = ?", (name, position))

    def select(self, is_selected: Callable[[IndexedCase], bool]) -> None:
        """Leave out the cases for which the function returns False."""
        for case in self:
            if not is_selected(case):
                self._connection.execute("UPDATE cases SET selected = 0 WHERE position = ?", (case.position,))

    def find(self, source: int, case_id: str) -> IndexedCase | None:
        """Return a case, or None if it is left out."""
        query = f"{_COLUMNS} WHERE source = ? AND id = ? AND selected"
        row = self._connection.execute(query, (source, _storable(case_id))).fetchone()
        return None if row is None else _index_case(row)

    def __iter__(self) -> Iterator[IndexedCase]:
        """Yield the selected cases."""
        query = f"{_COLUMNS} WHERE selected ORDER BY position"
        return map(_index_case, self._connection.execute(query))

    def __len__(self) -> int:
        """Return the number of selected cases."""
        return int(self._connection.execute("SELECT count(*) FROM cases WHERE selected").fetchone()[0])

    @property
    def attempts(self) -> int:
        """The number of recordings of the selected cases."""
        return int(
            self._connection.execute("SELECT coalesce(sum(attempts), 0) FROM cases WHERE selected").fetchone()[0]
        )


class AttemptCounter:
    """Numbers the attempts of cases from 1, also on disk."""

    def __init__(self) -> None:
        self._connection = TemporaryDatabase()
        self._connection.execute("CREATE TABLE attempts (position INTEGER PRIMARY KEY, number INTEGER)")
        self._connection.execute("BEGIN")

    def count(self, position: int) -> int:
        """Return the number of the next attempt of the case at a position."""
        query = "SELECT number FROM attempts WHERE position = ?"
        (number,) = self._connection.execute(query, (position,)).fetchone() or (0,)
        self._connection.execute("INSERT OR REPLACE INTO attempts VALUES (?, ?)", (position, number + 1))
        return int(number) + 1


def _index_case(row: tuple[int, int, bytes, bytes, int]) -> IndexedCase:
    position, source, case_id, name, attempts = row
    return IndexedCase(position, source, _text(case_id), _text(name), attempts)


def _storable(text: str) -> bytes:
    # Ids of strangers may hold characters that SQLite text cannot.
    return text.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")
