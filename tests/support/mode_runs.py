"""Runs of a travel agent with planted failure modes, for the reports and the pages that show them."""

from __future__ import annotations

from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace
from finished import FinishedRun

BASE, NOW = "20261120-093000-aaaaaa", "20261121-093000-bbbbbb"
CASES = 50
MISSING = range(5)
"""The positions of the cases whose agent never calls get_reservation, in both runs."""
NEW = range(10, 19)
"""The positions of the cases whose agent changes the flights, in the second run only."""
EXTRA = "update_reservation_flights"


def mode_run(run_id: str, *, extra: str = "", name: str = "case", failures: int = 0) -> FinishedRun:
    """Return a run of 50 cases. With `extra`, nine of them call that tool, which nobody expects.

    With `failures`, the run has so many cases, all of which call it.
    """
    results, expectations, recorded = [], [], []
    for position in range(failures or CASES):
        case_id = f"{name} {position}"
        user, reply = Message("Please show my reservation."), Message("Here it is.")
        call = ToolCall("get_reservation", {"id": f"R-{position}"})
        done: list[Step] = [call, ToolResult(call.name, {"ok": True})]
        if position in MISSING and not failures:
            done = []
        elif extra and (failures or position in NEW):
            done += [ToolCall(extra, {"id": f"R-{position}"}), ToolResult(extra, {"ok": True})]
        fails = len(done) != 2
        case = EvalCase(case_id, (Invocation(user, (call,), reply),))
        expectations.append(ExpectedCase(position, case_id, case, "travel", f"{position:064d}"))
        recorded.append((position, Recording(case_id, Trace((Invocation(user, tuple(done), reply),)))))
        outcome = Outcome("tool_trajectory_avg_score", Score(0.0 if fails else 1.0, "calls differ" * fails), 1.0)
        results.append(CaseResult(case_id, position, (outcome,), eval_set="travel", digest=f"{position:064d}"))
    started = "2026-11-20T09:30:00+00:00"
    info = RunInfo(run_id, started, "0.1.0", "run", {"paths": ["travel"]}, {}, finished=started)
    return FinishedRun(info, results, expectations, recorded)
