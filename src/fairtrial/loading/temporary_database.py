"""A private temporary SQLite database for data that does not fit in memory."""

from __future__ import annotations

import sqlite3


class TemporaryDatabase(sqlite3.Connection):
    """A database in a temporary file, which SQLite deletes itself.

    Any thread may use it: a run reads it in the thread of its event loop, while the plan was made in another thread. It
    is closed when its last user is gone, so that no file stays open.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file.
        super().__init__("", isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        """Close the file."""
        self.close()
