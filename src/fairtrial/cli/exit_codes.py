"""What does the exit code of a command say?"""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
"""Wrong input or usage; what click itself exits with where arguments are wrong."""
UNSCORED = 3
INTERRUPTED = 130
"""128 and the number of SIGINT, as shells say it."""
