"""A full-text index of the attempts of a run, in a temporary SQLite database of the viewer.

The store may be SQLite or Postgres, and is only read. Texts are found by their trigrams, and Chinese, Japanese and
Korean words of two characters by their pairs. Each find is compared with the texts, so that the answer is exact.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fairtrial.store import Store

Place = tuple[int, int]
"""The position of a case and the number of an attempt."""

_WIDE = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_WIDE_WORD = re.compile(f"[{_WIDE}]+")
_WIDE_PAIR = re.compile(f"[{_WIDE}]{{2}}")
_ATTEMPT = (1 << 20) - 1
"""The bits of an attempt in the number of a text."""
_GRAM = 3
_MOST_GRAMS = 40
_BATCH = 500
_MOST_NEW = 2000
_SEARCHED = ("text", "reason", "cause")
_VALUES = ("args", "response")
_NAMES = ("case_id", "name")
"""The fields of a stored result that name its case."""
_TABLES = (
    "CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    """CREATE VIRTUAL TABLE grams USING fts5(
        body, tokenize='trigram case_sensitive 1', detail=none, content='plain', content_rowid='id')""",
    "CREATE VIRTUAL TABLE pairs USING fts5(body, tokenize='unicode61', detail=none, content='')",
)


def list_texts(content: bytes, *, of_results: bool) -> list[str]:
    """Return the texts of the JSON of a recording or a result that a search reads. A result names its case."""
    body = msgspec.json.decode(content)
    names = [str(body.get(key, "")) for key in _NAMES] if of_results else []
    return [*names, *searched_texts(body)]


def searched_texts(value: object) -> Iterator[str]:
    """Yield the texts of a stored record that a search reads.

    These are messages, thoughts, reasons, the names of tools, and the arguments and results of calls as JSON.
    """
    if isinstance(value, list):
        for item in value:
            yield from searched_texts(item)
    elif isinstance(value, dict):
        if value.get("kind") in ("tool_call", "tool_result") and isinstance(value.get("name"), str):
            yield value["name"]
        for key, item in value.items():
            if key in _VALUES and item is not None:
                yield item if isinstance(item, str) else msgspec.json.encode(item).decode()
            elif key in _SEARCHED and isinstance(item, str):
                yield item
            elif key != "extra":
                yield from searched_texts(item)


class TextIndex:
    """The texts of the attempts of one run. Its methods may be called from several threads."""

    def __init__(self, store: Store, run_id: str) -> None:
        """Raises sqlite3.OperationalError if SQLite is older than 3.34, which has no trigrams."""
        self._store, self._run_id = store, run_id
        # A database without a name is a file that SQLite removes at the end, also of a process that is killed.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        for statement in _TABLES:
            self._database.execute(statement)
        self._lock = threading.Lock()
        self._change = -1

    @property
    def change(self) -> int:
        """The change of the run up to which the texts were read, or -1."""
        return self._change

    def update(self, change: int) -> None:
        """Read the new texts up to a change of the run."""
        with self._lock:
            if change == self._change:
                return
            marks = self._store.marks(self._run_id, self._change)
            new = sorted({mark.position for mark in marks}) if self._change >= 0 else None
            if new is not None and len(new) > _MOST_NEW:
                new = None
            for of_results in (False, True):
                self._add(of_results, new)
            self._change = change

    def _add(self, of_results: bool, positions: Collection[int] | None) -> None:
        rows: list[tuple[int, str]] = []
        for position, attempt, content in self._store.bodies_with(
            self._run_id, "", of_results=of_results, positions=positions
        ):
            text = "\n".join(list_texts(content, of_results=of_results)).lower()
            rows.append((_number(position, attempt, of_results), text))
            if len(rows) == _BATCH:
                self._write(rows)
                rows = []
        self._write(rows)

    def _write(self, rows: Iterable[tuple[int, str]]) -> None:
        execute = self._database.execute
        execute("BEGIN")
        for number, text in rows:
            old = execute("SELECT body FROM plain WHERE id = ?", (number,)).fetchone()
            if old is not None:
                execute("INSERT INTO grams (grams, rowid, body) VALUES ('delete', ?, ?)", (number, old[0]))
                execute("INSERT INTO pairs (pairs, rowid, body) VALUES ('delete', ?, ?)", (number, _pairs(old[0])))
            execute("INSERT OR REPLACE INTO plain VALUES (?, ?)", (number, text))
            execute("INSERT INTO grams (rowid, body) VALUES (?, ?)", (number, text))
            if pairs := _pairs(text):
                execute("INSERT INTO pairs (rowid, body) VALUES (?, ?)", (number, pairs))
        execute("COMMIT")

    def find(self, text: str) -> set[Place]:
        """Return the attempts whose texts, or the names of whose cases, contain a text, without regard to case."""
        small = text.lower()
        where, values = "", [small]
        if len(small) >= _GRAM:
            grams = dict.fromkeys(small[place : place + _GRAM] for place in range(len(small) - _GRAM + 1))
            where = "id IN (SELECT rowid FROM grams WHERE grams MATCH ?) AND "
            values.insert(0, " AND ".join(map(_quote, list(grams)[:_MOST_GRAMS])))
        elif _WIDE_PAIR.fullmatch(small):
            where = "id IN (SELECT rowid FROM pairs WHERE pairs MATCH ?) AND "
            values.insert(0, _quote(small))
        with self._lock:
            rows = self._database.execute(f"SELECT id >> 1 FROM plain WHERE {where}instr(body, ?) > 0", values)  # noqa: S608
            return {(number >> 20, number & _ATTEMPT) for (number,) in rows}


def _quote(gram: str) -> str:
    return '"' + gram.replace('"', '""') + '"'


def _pairs(text: str) -> str:
    """Return the neighbouring characters of Chinese, Japanese and Korean words, in pairs."""
    words = _WIDE_WORD.findall(text)
    return " ".join({word[place : place + 2] for word in words for place in range(max(1, len(word) - 1))})


def _number(position: int, attempt: int, of_results: bool) -> int:
    return (position << 20 | min(attempt, (1 << 19) - 1)) << 1 | of_results
