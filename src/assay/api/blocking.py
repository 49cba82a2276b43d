"""How is something asynchronous done from where nothing is?"""

from __future__ import annotations

import asyncio
import threading
from typing import Any


def blocking(work: Any) -> Any:
    """Run a coroutine to its end, in a thread of its own where a loop is already running (notebooks)."""
    if not _in_a_loop():
        return asyncio.run(work)
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((asyncio.run(work), None))
        except BaseException as error:  # noqa: BLE001  (raised again below, where the caller is)
            outcome.extend((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
