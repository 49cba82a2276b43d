"""The run in the golden stores. `python tests/store/golden_store.py` writes the store of this schema version.

A golden store of a released version is never written again: its migrations are tested on it.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, JudgeCall, Vote, VoteResult
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.keys import digest
from fairtrial.records.label import Label
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult, Fault, JudgeStats, Outcome, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.score import PartKey, Quote, Range, Score
from fairtrial.records.summary import CriterionSummary, Estimate, Summary
from fairtrial.records.trace import Durations, Invocation, Message, Thought, ToolCall, ToolResult, Trace
from fairtrial.store import Store
from fairtrial.store.schema import SCHEMA_VERSION

FOLDER = Path(__file__).parent / "golden"

_EXPECTED = Invocation(Message("Where is A-17?"), (ToolCall("get_order", {"id": "A-17"}),), Message("On its way."))
CASE = EvalCase("order_status", (_EXPECTED,), session_input=SessionInput("shop", "ann", {"cart": ["주문", 1.5]}))
CASES = (ExpectedCase(0, "order_status", CASE, "shop", digest(CASE)),)
TRACE = Trace(
    (
        Invocation(
            Message("Where is A-17?"),
            (
                Thought("hm"),
                ToolCall("get_order", {"id": "A-17"}, "c1"),
                ToolResult("get_order", {"status": None}, "c1"),
            ),
            Message("It is on its way.", "shop"),
            durations=Durations(0.25),
            created=1767225600.5,
        ),
    ),
    "s-1",
    {"seen": True},
)
RECORDINGS = (
    (0, Recording("order_status", TRACE, eval_set="shop")),
    (
        0,
        Recording(
            "order_status", Trace(), 2, Failure("simulator", "no idea", "Traceback …"), "failure", eval_set="shop"
        ),
    ),
)
_PART = Score(0.5, "two words differ", "", key=PartKey("invocation", 0), quotes=(Quote("On its way.", "expected"),))
_JUDGED = Score(1.0, parts=(Score(1.0, label="polite", ballots=("b-1",), key=PartKey("rubric", id="polite")),))
_MATCH = Outcome("match", Score(0.5, parts=(_PART,)), 0.8)
_TOKENS = Outcome("tokens", Score(None, "not recorded", side="agent"), lower_is_better=True, range=Range(0, None))
_POLITE = Outcome("polite", _JUDGED, 1.0, judge_stats=JudgeStats(3, 2, 0, 0.0125, 1.0))
_BROKEN = tuple(Outcome(name, Score(None, "the conversation broke"), 0.8) for name in ("match", "polite"))
RESULTS = (
    CaseResult("order_status", 0, (_MATCH, _TOKENS, _POLITE), 1, None, (), eval_set="shop", digest=CASES[0].digest),
    CaseResult(
        "order_status",
        0,
        _BROKEN,
        2,
        Failure("simulator", "no idea", "Traceback …"),
        (Fault("simulator", ("no idea",)),),
        "failure",
        {"input_tokens": 7},
        ("a warning",),
        eval_set="shop",
        digest=CASES[0].digest,
    ),
)
VERDICTS = (Verdict.FAILED, Verdict.ERROR)
SUMMARY = Summary(Verdict.FAILED, (CriterionSummary("match", Estimate(0.5), failed=1),), {"failed": 1, "error": 1})
RUN = RunInfo(
    "20260101-000000-aaaaaa",
    "2026-01-01T00:00:00.000+00:00",
    "0.1.0",
    "run",
    {"paths": ["shop.evalset.json"]},
    {"match": {"threshold": 0.8}},
    "2026-01-01T00:00:02.000+00:00",
    2.0,
    Verdict.FAILED,
)
REPLY = Reply('{"1": "yes"}', "judge-1", 100, 5, 0.00625, 0.5)
_VOTE = Vote(1, "judge", 1, {"1": JudgeAnswer("yes", "It is.")}, {}, (JudgeCall("k-1", "judge", "judge-1", 100, 5),))
BALLOT = Ballot("b-1", "rubrics", 5, 3, (_VOTE,), {"1": Decision(VoteResult(1.0), {"yes": 3}, 0, (1, 2, 3))})
LABEL = Label(
    CASES[0].key,
    1,
    "match",
    PartKey("invocation", 0),
    1.0,
    "ann",
    "2026-01-02T00:00:00Z",
    "means the same",
    "0123456789abcdef",
    2.5,
)


def fill(store: Store) -> None:
    """Store the run."""
    store.begin(RUN)
    store.add_cases(RUN.id, CASES)
    for position, recording in RECORDINGS:
        store.add_recording(RUN.id, position, recording)
    for result in RESULTS:
        store.add_result(RUN.id, result)
    store.replies(RUN.id)["k-1"] = REPLY
    store.ballots(RUN.id)["b-1"] = BALLOT
    store.add_label(RUN.id, LABEL)
    store.finish(RUN, SUMMARY)


def write() -> None:
    """Write the golden store of this schema version, as SQL."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/golden.db")
        fill(store)
        store.close()
        with closing(sqlite3.connect(f"{folder}/golden.db")) as database:
            text = "\n".join(database.iterdump())
    (FOLDER / f"version_{SCHEMA_VERSION}.sql").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
