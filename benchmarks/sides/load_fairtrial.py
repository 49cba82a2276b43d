"""fairtrial: loads the eval set FILE."""

from __future__ import annotations

import json
import sys
import time

from fairtrial import load_eval_set

start = time.process_time()
eval_set = load_eval_set(sys.argv[1])
print(json.dumps({"cases": len(eval_set.cases), "cpu": time.process_time() - start}))
