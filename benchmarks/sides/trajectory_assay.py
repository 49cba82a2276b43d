"""assay: `tool_trajectory_avg_score` of CONVERSATIONS by MATCH_TYPE, of DIFFERING invocations one differs."""

from __future__ import annotations

import json
import sys
import time

from material import call_lists

from assay import EvalCase, Invocation, Message, ToolCall, ToolTrajectory, Trace

conversations, match_type, differing = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
user = Message("?")


def invocation(calls: list[dict]) -> Invocation:
    return Invocation(user, tuple(ToolCall(one["name"], one["args"]) for one in calls))


pairs = [(invocation(ours), invocation(theirs)) for ours, theirs in call_lists(4 * conversations, differing)]
fours = [pairs[i : i + 4] for i in range(0, len(pairs), 4)]
material = [
    (Trace(tuple(ours for ours, _ in four)), EvalCase("case", tuple(theirs for _, theirs in four))) for four in fours
]
metric = ToolTrajectory(match_type=match_type)
start = time.process_time()
total = sum(metric(trace, case).value or 0.0 for trace, case in material)
cpu = time.process_time() - start
print(json.dumps({"invocations": 4 * conversations, "cpu": cpu, "mean": total / conversations}))
