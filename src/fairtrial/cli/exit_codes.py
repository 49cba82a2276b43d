"""The exit codes of the commands."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
"""Wrong input or usage. click uses the same code for wrong arguments."""
UNSCORED = 3
STORE = 4
"""The store failed: it cannot be read or written. The code says nothing about the agent."""
INTERRUPTED = 130
"""128 plus the number of SIGINT, as shells report it."""
TERMINATED = 143
"""128 plus the number of SIGTERM."""
READER_LEFT = 141
"""128 plus the number of SIGPIPE: the reader of the output ended before the command could tell its verdict."""
