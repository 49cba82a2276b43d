"""fairtrial: trajectories of COUNT conversations of a SHAPE by MATCH_TYPE, of DIFFERING invocations one differs."""

from __future__ import annotations

import json
import sys
import time

from material import Json, conversations

from fairtrial import EvalCase, Invocation, ToolTrajectory, Trace
from fairtrial.formats.adk.evalset import invocation
from fairtrial.formats.reading import Diagnostics

count, match_type, differing, shape = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]


def loaded(raw: Json) -> Invocation:
    return invocation(raw, (), Diagnostics("bench"))


material = []
for pairs in conversations(count, differing, shape):
    trace = Trace(tuple(loaded(ours) for ours, _ in pairs))
    material.append((trace, EvalCase("case", tuple(loaded(theirs) for _, theirs in pairs))))
metric = ToolTrajectory(match_type=match_type)
passes = []
for _ in range(max(5, 8000 // count)):
    start = time.process_time()
    total = sum(metric(trace, case).value or 0.0 for trace, case in material)
    passes.append(time.process_time() - start)
print(
    json.dumps(
        {"invocations": sum(len(trace.invocations) for trace, _ in material), "passes": passes, "mean": total / count}
    )
)
