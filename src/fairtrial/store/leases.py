"""Leases of runs. Only one process at a time may write a run, so that no conversation is held and paid for twice."""

from __future__ import annotations

import os
import platform
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairtrial.errors import StoreError, UsageError
from fairtrial.store.schema import LEASES

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections

LEASE_SECONDS = 60.0
"""A lease that was not renewed for so long has expired."""
_RENEWAL = 10.0
"""Seconds between two renewals."""


class Lease:
    """The right of this process to write a run. It expires if the process dies."""

    def __init__(self, connections: Connections, run_id: str) -> None:
        self._connections = connections
        self._run_id = run_id
        self._token = uuid.uuid4().hex
        self._mine = sa.and_(LEASES.c.run_id == run_id, LEASES.c.token == self._token)
        self._is_lost = False
        self._renewed = 0.0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lease during the block. Raises UsageError if another process that is alive holds it."""
        while not self._try_to_take():  # another process has just changed the lease, and may now be its holder
            pass
        self._renewed = time.monotonic()
        try:
            yield
        finally:
            with suppress(StoreError):  # a lease that stays expires
                self._connections.transact(lambda connection: connection.execute(sa.delete(LEASES).where(self._mine)))

    def renew(self) -> None:
        """Renew the lease if it is time. Raises StoreError if another process took it over, or removed the run."""
        if not self._is_lost and time.monotonic() - self._renewed < _RENEWAL:
            return
        renewal = sa.update(LEASES).where(self._mine).values(seen=time.time())
        count = self._connections.transact(lambda connection: connection.execute(renewal).rowcount)
        self._is_lost = self._is_lost or not count
        if self._is_lost:
            raise StoreError(f"run {self._run_id} was removed, or another process continues it")
        self._renewed = time.monotonic()

    def _try_to_take(self) -> bool:
        """Take the lease, and return whether that succeeded."""
        select = sa.select(LEASES).where(LEASES.c.run_id == self._run_id)
        holder = self._connections.transact(lambda connection: connection.execute(select).one_or_none())
        values = {
            "token": self._token,
            "machine": _machine(),
            "host": platform.node(),
            "pid": os.getpid(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "seen": time.time(),
        }
        change: sa.Insert | sa.Update = sa.insert(LEASES).values(run_id=self._run_id, **values)
        if holder is not None:
            if is_alive(holder):
                raise UsageError(
                    f"run {self._run_id} is being held by process {holder.pid} on {holder.host} since {holder.since}; "
                    f"wait for it, or end it. If that host is gone, wait {LEASE_SECONDS:.0f} seconds",
                    code="busy",
                )
            same_holder = (LEASES.c.run_id == self._run_id, LEASES.c.token == holder.token)
            change = sa.update(LEASES).where(*same_holder).values(values)
        try:
            return bool(self._connections.transact(lambda connection: connection.execute(change).rowcount))
        except sa.exc.IntegrityError:
            return False


def is_alive(holder: Any) -> bool:
    """Return whether a lease holder may still write. A process of this machine that is gone may not."""
    if time.time() - holder.seen > LEASE_SECONDS:
        return False
    if holder.machine != _machine() or os.name != "posix":  # elsewhere, signal 0 would end the process
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def _machine() -> str:
    """Return the name for the space in which the numbers of processes are unique. Two containers are two spaces."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return platform.node()[:128]
