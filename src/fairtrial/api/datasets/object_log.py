"""The log of finished shards in an object store, with one object for each shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairtrial.api.datasets.shard_report import ShardReport
from fairtrial.batch.shard_log import check_same
from fairtrial.errors import UsageError, spell
from fairtrial.loading.joined_spans import INPUTS
from fairtrial.records.decoding import json_decoder

if TYPE_CHECKING:
    from fairtrial.loading.object_folders import ObjectFolder
    from fairtrial.records.record import Json

_PROGRESS = "progress"
BEGUN = f"{_PROGRESS}/begun.json"
"""The object that says that a run has begun, and that it is not finished or may go on."""


def check_own(objects: ObjectFolder) -> None:
    """Raise UsageError if a folder in an object store holds something else than a run, or than its joined inputs."""
    names = objects.names()
    if BEGUN not in names and any(not name.startswith(f"{INPUTS}/") for name in names):
        raise UsageError(
            f"{objects.url}: holds objects that do not belong to this run; give an empty folder", code="would-overwrite"
        )


class ObjectLog:
    """The work and how it was begun, then an entry for each finished shard, each as an object.

    An entry is uploaded after the parts of its shard, so that it commits them. Other processes are not kept away,
    because an object store has no locks.
    """

    def __init__(self, folder: ObjectFolder) -> None:
        self._folder = folder

    def open(self, work: Json, begun: Json, *, resume: bool) -> tuple[Json, list[ShardReport]]:
        """Begin the log, or go on with it. Return how the work was begun, and the entries.

        Raises UsageError if the log belongs to other work, if it exists and is not resumed, or if a new folder holds
        anything.
        """
        url, names = self._folder.url, self._folder.names(_PROGRESS)
        exists = BEGUN in names
        if exists and not resume:
            raise UsageError(
                f"{url}: holds an unfinished run; go on with {spell('resume')}, or give another folder",
                code="cannot-resume",
            )
        if resume and not exists:
            raise UsageError(
                f"{url}: holds no unfinished run that {spell('resume')} could continue", code="cannot-resume"
            )
        if exists:
            head, *entries = self._folder.read_each([BEGUN, *(name for name in names if name != BEGUN)])
            earlier = msgspec.json.decode(head)
            check_same(earlier["work"], work)
            return earlier["begun"], [json_decoder(ShardReport).decode(entry) for entry in entries]
        check_own(self._folder)
        self._folder.write(BEGUN, msgspec.json.encode({"work": work, "begun": begun}))
        return msgspec.to_builtins(begun), []

    def add(self, entry: ShardReport) -> None:
        """Add a finished shard."""
        self._folder.write(f"{_PROGRESS}/shard-{entry.number:06d}.json", msgspec.json.encode(entry))

    def close(self) -> None:
        """Do nothing: each entry is already complete."""

    def remove(self) -> None:
        """Remove the log, because the work is finished."""
        self._folder.remove(_PROGRESS)
