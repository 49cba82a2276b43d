"""Run evalmut on cases that a file lists: answers with the text that a grader wants to find. Prints its counts."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from evalmut import EvalCase, run
from gradecore import GradeInput, contains

cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
suite = [
    EvalCase(
        str(place),
        contains(case["expected"]),
        GradeInput(text=case["answer"], expected=case["expected"]),
        tags=("presence_check",),
        tolerates=("whitespace", "disclaimer"),
    )
    for place, case in enumerate(cases)
]
started = time.process_time()
report = run(suite)
seconds = time.process_time() - started
applied = [result for result in report.results if result.outcome.name != "NA"]
outcomes = Counter((result.operator_id, result.outcome.name) for result in applied)
print(json.dumps({"seconds": seconds, "outcomes": [[*key, number] for key, number in sorted(outcomes.items())]}))
