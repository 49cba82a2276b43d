"""fairtrial: reads the conversations of FILE twice. The CPU of the faster reading counts."""

from __future__ import annotations

import gc
import json
import sys
import time

from fairtrial.api.eval_files import load_recordings

passes = []
for _ in range(2):
    gc.collect()
    start = time.process_time()
    count = len(load_recordings([sys.argv[1]]))
    passes.append(time.process_time() - start)
print(json.dumps({"conversations": count, "passes": passes}))
