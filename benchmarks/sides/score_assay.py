"""assay: what does scoring the recorded eval set FILE against itself add to what is loaded? The store is in FOLDER."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc

from assay import api

file, folder = sys.argv[1:]


def seconds(store: str) -> float:
    plan = api.plan_score([file], [file])
    start = time.process_time()
    api.execute(plan, store=store)
    return time.process_time() - start


cpu = seconds(f"sqlite:///{folder}/timed.db")
plan = api.plan_score([file], [file])
tracemalloc.start()
api.execute(plan, store=f"sqlite:///{folder}/traced.db")
_, added = tracemalloc.get_traced_memory()
print(json.dumps({"cpu": cpu, "added": added}))
