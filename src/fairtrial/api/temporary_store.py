"""A temporary store for runs without a store. A killed process does not leave it for ever."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.api.stores import open_store
from fairtrial.system.file_lock import try_to_lock

if TYPE_CHECKING:
    from fairtrial.store import Store

_LOCK = "in-use"
_YOUNG = 60.0
"""The time in seconds in which a new folder may not be locked yet."""


def temporary_store() -> Store:
    """Return a store in a folder that is removed when the store is garbage. Folders of killed processes are removed."""
    from fairtrial.store import TEMPORARY_PREFIX  # SQL is imported only if there is a store to open

    _remove_abandoned(TEMPORARY_PREFIX)
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX))
    lock = (folder / _LOCK).open("w", encoding="utf-8")
    try_to_lock(lock)
    store = open_store(f"sqlite:///{folder}/run.db")
    removal = ExitStack()
    removal.callback(shutil.rmtree, folder, ignore_errors=True)
    removal.callback(lock.close)
    weakref.finalize(store, removal.close)
    return store


def _remove_abandoned(prefix: str) -> None:
    """Remove the folders of stores whose process no longer holds their lock. The folders of other users stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            with (folder / _LOCK).open("r+", encoding="utf-8") as lock:
                is_abandoned = time.time() - folder.stat().st_mtime > _YOUNG and try_to_lock(lock)
            if is_abandoned:
                shutil.rmtree(folder)
