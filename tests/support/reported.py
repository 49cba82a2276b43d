"""A few results and a comparison with something in every field, for reports of every kind."""

from __future__ import annotations

from fairtrial.records.attempt import Failure
from fairtrial.records.result import CaseResult, Fault, Outcome
from fairtrial.records.run_comparison import ComparedMeasure, ComparedRun, Comparison, Move, Pairs, SetupDifference
from fairtrial.records.score import PartKey, Quote, Score

PASSED = CaseResult("fine", 0, (Outcome("match", Score(1.0), 0.8),))
FAILED = CaseResult("bad", 1, (Outcome("match", Score(0.5, "two words differ"), 0.8),))
BROKEN = CaseResult("broken", 2, (Outcome("match", Score(None), 0.8),), failure=Failure("agent", "boom", "Traceback …"))
PARTS = (Score(0.1, "why", "rubric one", key=PartKey("rubric", id="q"), quotes=(Quote("said", "reply"),)),)
QUOTES = (Quote("buy(x=1)", "expected"), Quote("buy(x=2)", "actual"), Quote("sell()", "both"), Quote("s()", "surplus"))
RICH = CaseResult(
    "rich",
    3,
    (
        Outcome("parts", Score(0.1, "reason", parts=PARTS), 0.8),
        Outcome("calls", Score(0.0, parts=(Score(0.0, "missing", quotes=QUOTES),)), 0.5),
        Outcome("text", Score(0.0, parts=(Score(0.0, quotes=(Quote("a b", "expected"), Quote("c", "actual"))),)), 0.5),
        Outcome("tokens", Score(3.0)),
        Outcome("open", Score(None, "no judge"), 0.5),
    ),
    failure=Failure("simulator", "cause", "trace"),
    invalidations=(Fault("judge", ("evidence",)),),
    warnings=("warning",),
    name="a name",
)
MOVES = (Move("broke", (1, 1), (0, 1), -1.0, "broken"), Move("mended", (0, 1), (1, 1), 1.0, "fixed"))
RUNS = (ComparedRun("base-run", "", "run", True, 4, 4), ComparedRun("new-run", "", "run", True, 4, 4))


def _row(measure: str, *, is_rate: bool) -> ComparedMeasure:
    return ComparedMeasure(
        measure, 0.75, 0.5, -0.25, -0.5, 0.125, 0.2, None, "paired t", 4, 1, 2, 1, (0, 0), None, None,
        "no difference shown", comparable=True, judge=None, why=None, is_rate=is_rate, informational=False,
    )  # fmt: skip


COMPARISON = Comparison(
    "s:1|holm:1", 0.95, "cases-like-these", RUNS, Pairs(4, ("1", "1"), ("gone",)),
    (SetupDifference("judge", "old", "new"),), (_row("cases", is_rate=True), _row("match", is_rate=False)), MOVES,
    ((), ()), None, ("a warning",),
)  # fmt: skip
