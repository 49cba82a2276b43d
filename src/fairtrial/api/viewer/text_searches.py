"""Searches in the texts of runs: by an index as soon as it is made, and until then by reading all texts."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from fairtrial.api.viewer.text_index import Place, TextIndex
from fairtrial.api.viewer.view_index import places_with_text
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.store import Store

_MOST_RUNS = 4
_MOST_WINDOWS = 200
_PATIENCE = 0.5
"""The seconds for which a search waits for the index. A small run is read in them."""


class TextSearches:
    """The searches of the windows that look at a store. Its methods may be called from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._indexes: OrderedDict[str, TextIndex] = OrderedDict()
        self._making: dict[tuple[str, int], threading.Thread] = {}
        self._latest: OrderedDict[str, object] = OrderedDict()
        self._lock = threading.Lock()

    def prepare(self, run_id: str, change: int) -> None:
        """Begin to read the texts of a run up to a change. An SQLite that is too old makes no index."""
        with self._lock, suppress(sqlite3.OperationalError):
            index = self._indexes.get(run_id) or TextIndex(self._store, run_id)
            self._indexes[run_id] = index
            self._indexes.move_to_end(run_id)
            while len(self._indexes) > _MOST_RUNS:
                self._indexes.popitem(last=False)
            key = (run_id, change)
            if key not in self._making:
                self._making = {own: thread for own, thread in self._making.items() if thread.is_alive()}
                self._making[key] = threading.Thread(target=index.update, args=(change,), daemon=True)
                self._making[key].start()

    def find(self, run_id: str, change: int, text: str, window: str) -> set[Place]:
        """Return the attempts with a text. Raises UsageError if the window searches for something else meanwhile."""
        own = object()
        with self._lock:
            self._latest[window or str(id(own))] = own
            while len(self._latest) > _MOST_WINDOWS:
                self._latest.popitem(last=False)
        self.prepare(run_id, change)
        with self._lock:
            texts, thread = self._indexes.get(run_id), self._making.get((run_id, change))
        if thread is not None:
            thread.join(_PATIENCE)
        if texts is not None and texts.change == change:
            return texts.find(text)
        is_current = (lambda: self._latest.get(window) is own) if window else (lambda: True)
        places = places_with_text(self._store, run_id, text, is_current)
        if places is None:
            raise UsageError("the search was replaced by a later one")
        return places
