"""Stored runs. Each report can be made again from the store alone."""

from fairtrial.store.bodies import UnreadableBodyError
from fairtrial.store.database_errors import TEMPORARY_PREFIX, show_url
from fairtrial.store.leases import Lease
from fairtrial.store.queue_rows import QueueItem
from fairtrial.store.store import Store
from fairtrial.store.view_queries import AttemptMark
from fairtrial.system.paths import DEFAULT_URL

__all__ = [
    "DEFAULT_URL",
    "TEMPORARY_PREFIX",
    "AttemptMark",
    "Lease",
    "QueueItem",
    "Store",
    "UnreadableBodyError",
    "show_url",
]
