"""fairtrial: the conversations of FILE against EXPECTED, into Parquet in FOLDER. The second pass counts."""

from __future__ import annotations

import json
import sys
import time

from fairtrial import api

file, expected, folder = sys.argv[1:]
for number in range(2):
    start = time.process_time()
    summary = api.plan_dataset([file], f"{folder}/{number}", expected).run().summary
    cpu = time.process_time() - start
names = ("tool_trajectory_avg_score", "response_match_score")
means = {criterion.criterion: criterion.mean.value for criterion in summary.criteria}
print(json.dumps({"cpu": cpu, "means": [means[name] for name in names]}))
