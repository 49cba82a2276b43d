"""fairtrial: the cost of scoring the recorded eval set FILE against itself, without loading. The store is in FOLDER."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from typing import Any

from fairtrial import api, loading

file, folder = sys.argv[1:]
read = loading.sources([file], recorded=True)


def already_read(*_: Any, **__: Any) -> list[loading.Source]:
    """Hand over the loaded eval set, so that only planning and scoring are measured."""
    return read


loading.sources = already_read


def score(store: str) -> None:
    api.execute(api.plan_score([file], [file]), store=store)


start = time.process_time()
score(f"sqlite:///{folder}/timed.db")
cpu = time.process_time() - start
tracemalloc.start()
score(f"sqlite:///{folder}/traced.db")
_, added = tracemalloc.get_traced_memory()
print(json.dumps({"cpu": cpu, "added": added}))
