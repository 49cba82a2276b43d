"""Distribute cases for `--dist load` of pytest-xdist. Each worker gets its share of a group whole.

pytest-xdist alone sends a worker few tests at a time, and only the cases of a worker's queue start together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from xdist.scheduler import LoadScheduling

from fairtrial.pytest_plugin.suite import get_suite, tested_case

_FILE = "groups.json"


def write_groups(session: pytest.Session) -> None:
    """Write the group of each test for the scheduler, which knows no more than the ids of tests.

    Every worker collects the same tests. Each writes a file of its own and moves it, so that no half of a file is read.
    """
    cases = list(map(tested_case, session.items))
    if not any(cases):
        return
    suite = get_suite(session.config)
    own_file = suite.folder / f"{suite.worker['workerid']}-{_FILE}"
    own_file.write_bytes(msgspec.json.encode([None if case is None else case.group for case in cases]))
    own_file.replace(suite.folder / _FILE)


class ShareScheduling(LoadScheduling):  # type: ignore[misc]
    """Sends tests as `--dist load` does. If a piece ends inside a group, it grows to a worker's share of the group."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._groups: list[str | None] = []
        self._sizes: Counter[str | None] = Counter()

    def schedule(self) -> None:
        """Distribute the tests that the workers collected."""
        file: Path = get_suite(self.config).folder / _FILE
        if not self._groups and file.exists():
            self._groups = msgspec.json.decode(file.read_bytes())
            self._sizes = Counter(self._groups)
        super().schedule()

    def _send_tests(self, node: Any, num: int) -> None:
        super()._send_tests(node, num + self._missing(self.pending[:num]) if self._groups else num)

    def _missing(self, piece: Sequence[int]) -> int:
        """Return how many tests, which follow a piece, its last group lacks for a worker's share."""
        group = self._groups[piece[-1]] if piece else None
        if group is None:
            return 0
        share = math.ceil(self._sizes[group] / len(self.nodes))
        held = sum(self._groups[index] == group for index in piece)
        following = self.pending[len(piece) : len(piece) + max(0, share - held)]
        return next((n for n, index in enumerate(following) if self._groups[index] != group), len(following))
