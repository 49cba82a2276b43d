"""google-adk: loads the eval set FILE, as `adk eval` does."""

from __future__ import annotations

import json
import sys
import time

from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

start = time.process_time()
eval_set = load_eval_set_from_file(sys.argv[1], sys.argv[1])
print(json.dumps({"cases": len(eval_set.eval_cases), "cpu": time.process_time() - start}))
