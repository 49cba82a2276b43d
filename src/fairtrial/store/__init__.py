"""Stored runs. Each report can be made again from the store alone."""

from fairtrial.store.database_errors import shown_url
from fairtrial.store.leases import Lease
from fairtrial.store.store import DEFAULT_URL, SECONDS, Store

__all__ = ["DEFAULT_URL", "SECONDS", "Lease", "Store", "shown_url"]
