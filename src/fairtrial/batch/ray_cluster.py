"""An executor for chunks on the machines of a Ray cluster."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from fairtrial.system.importing import import_extra

_ANYWHERE = "192.0.2.1"
"""An address of no machine, for a cluster such as `auto` that has a name and no address."""

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RayCluster:
    """Works on chunks as a data set of Ray Data. Ray repeats the chunks of a node that is lost.

    `address` is that of a cluster, for example `auto`. If it is empty, Ray starts on this machine. Every node needs
    fairtrial, and the files under the same names.
    """

    address: str = ""

    @property
    def host(self) -> str:
        """The address of this machine in the network of the cluster."""
        place = self.address.rpartition("://")[2].rpartition(":")[0] if self.address else "127.0.0.1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # This sends nothing. It asks which of the addresses of this machine the way to the cluster begins at.
            probe.connect((place or _ANYWHERE, 9))
            return str(probe.getsockname()[0])

    def map(
        self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk], *, in_order: bool = True
    ) -> Iterator[Result]:
        """Yield the result of each chunk, in the order of the chunks, or each as soon as it is ready."""
        ray: Any = import_extra("ray", "ray")
        import_extra("ray.data", "ray")
        rows = [{"chunk": pickle.dumps(chunk)} for chunk in chunks]
        if not rows:
            return
        started_here = not ray.is_initialized()
        if started_here:
            ray.init(address=self.address or None, log_to_driver=False, logging_level="warning")
        try:
            context = ray.data.DataContext.get_current()
            context.execution_options.preserve_order = in_order
            context.enable_progress_bars = False
            shared_work = ray.put(pickle.dumps(work))
            dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
            results = dataset.map(_work_on_row, fn_args=(shared_work,))
            for row in results.iter_rows():
                yield pickle.loads(row["result"])  # noqa: S301  (our own worker wrote it)
        finally:
            if started_here:
                ray.shutdown()


def _work_on_row(row: dict[str, Any], shared_work: Any) -> dict[str, Any]:
    return {"result": pickle.dumps(_load_work(shared_work)(pickle.loads(row["chunk"])))}  # noqa: S301  (our own chunk)


@lru_cache(maxsize=1)
def _load_work(shared_work: Any) -> Callable[[Any], Any]:
    """Return the function, which a process of a worker loads once: it may hold all cases of an eval set."""
    import ray

    work: Callable[[Any], Any] = pickle.loads(ray.get(shared_work))  # noqa: S301  (our own function)
    return work
