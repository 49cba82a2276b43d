"""Pages of judged runs for the tests in a browser: panels of judges, rubrics with texts, long conversations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, JudgeCall, SentPrompt, Vote, VoteResult
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, JudgeStats, Outcome
from fairtrial.records.rubric import Rubric
from fairtrial.records.run import RunInfo
from fairtrial.records.score import AlignedCall, PartKey, Score, average_parts, invocation_key
from fairtrial.records.trace import Durations, Invocation, Message, ToolCall, ToolResult, Trace, Usage
from fairtrial.reports.html import write_pages
from finished import FinishedRun

JUDGES = ("judge-ann", "judge-bob", "judge-cleo")
RUBRICS = (
    Rubric("names_order", "The reply names the order that the user asked about."),
    Rubric("polite", "The reply is polite, also if the user is not."),
    Rubric("no_promise", "The reply promises nothing that the tools did not confirm."),
)
CRITERIA = tuple(f"rubric_based_{name}_v1" for name in ("quality", "tone", "safety", "tool_use", "brevity"))
MARKDOWN = """# Your order

Most items **arrive on Monday**, and `A-17` is *late*.

- two books
- one lamp

| item | price |
|---|---|
| book | 12.50 |
| lamp | 29.90 |

```
refund(29.9)
```

[a link](https://evil.example) ![a picture](https://evil.example/x.png)"""


def judged_run(turns: int = 60, *, cases: int = 1, prompt_size: int = 400, failing: int = 10) -> FinishedRun:
    """A run whose cases have five judged criteria. Every `failing`th invocation fails one rubric, and one call."""
    results, expected, recorded, ballots = [], [], [], {}
    for position in range(cases):
        name = f"case_{position}"
        conversation = tuple(_expected(turn) for turn in range(turns))
        case = EvalCase(name, conversation, rubrics=RUBRICS)
        expected.append(ExpectedCase(position, name, case, "shop", f"{position:064d}"))
        outcomes = [_trajectory(turns, failing)]
        for criterion in CRITERIA:
            own = dict(_ballots(criterion, position, turns, failing, prompt_size))
            ballots.update(own)
            score = average_parts([_judged(turn, ballot) for turn, ballot in enumerate(own.values())])
            outcomes.append(Outcome(criterion, score, 0.99, judge_stats=JudgeStats(3 * turns, 0, 0, 0.02, 0.9, 0.8)))
        results.append(CaseResult(name, position, tuple(outcomes), eval_set="shop", digest=f"{position:064d}"))
        trace = Trace(tuple(_actual(turn, failing) for turn in range(turns)))
        recorded.append((position, Recording(name, trace)))
    info = RunInfo(
        "20261120-093000-judged",
        "2026-11-20T09:30:00+00:00",
        "0.1.0",
        "run",
        {"paths": ["evals"], "agent": "shop.agent:reply"},
        {"agent": {"metric": "shop.agent:reply"}},
        finished="2026-11-20T09:31:00+00:00",
        seconds=61.5,
    )
    return FinishedRun(info, results, expected, recorded, (), ballots)


def write_judged(path: Path, turns: int = 60, *, cases: int = 1) -> str:
    """Write the page of a judged run, and return its address."""
    with path.open("wb") as stream:
        write_pages(stream, [judged_run(turns, cases=cases)])
    return path.as_uri()


def _is_low(turn: int, failing: int) -> bool:
    return turn % failing == failing - 1


def _expected(turn: int) -> Invocation:
    refund = ToolCall("issue_refund", {"order_id": f"A-{turn}", "amount": 19.9})
    calls = (ToolCall("login", {}), ToolCall("get_order", {"order_id": f"A-{turn}"}), refund)
    return Invocation(Message(f"Refund order A-{turn}, please."), calls, Message(f"Order A-{turn}: refund of 19.90."))


def _actual(turn: int, failing: int) -> Invocation:
    low = _is_low(turn, failing)
    refund = ToolCall("issue_refund", {"order_id": f"A-{turn}", "amount": 29.9 if low else 19.9}, seconds=0.4)
    items = [{"name": "lamp", "price": 19.9}, {"name": "book", "price": 12.5}]
    steps = (
        ToolCall("login", {}, seconds=0.1),
        ToolResult("login", {"state": "ok"}),
        ToolCall("get_order", {"order_id": f"A-{turn}"}, seconds=0.2),
        ToolResult("get_order", {"order": {"id": f"A-{turn}", "items": items}}),
        refund,
        ToolResult("issue_refund", {"done": True}),
    )
    reply = MARKDOWN if turn == 0 else f"I have refunded {29.9 if low else 19.9} for order A-{turn}. " * 4
    return Invocation(
        Message(f"Refund order A-{turn}, please."),
        steps,
        Message(reply, model="agent-model"),
        usages=(Usage(1200, 80, model="gpt-4o"),),
        durations=Durations(2.5, 1.6, 0.7, 0.4),
    )


def _trajectory(turns: int, failing: int) -> Outcome:
    parts = []
    for turn in range(turns):
        low = _is_low(turn, failing)
        rows = (
            AlignedCall("equal", 0, 0, allowed=True),
            AlignedCall("equal", 1, 1, allowed=True),
            AlignedCall("changed", 2, 2, ("/amount",)),
        )
        reason = "call 3 differs: issue_refund" if low else ""
        parts.append(Score(0.0 if low else 1.0, reason, key=invocation_key(turn), calls=rows if low else ()))
    return Outcome("tool_trajectory_avg_score", average_parts(parts), 1.0)


def _judged(turn: int, ballot: Ballot) -> Score:
    parts = []
    for item, rubric in zip(ballot.decisions, RUBRICS, strict=True):
        value = ballot.decisions[item].result.value
        reason = "yes 3: it does" if value else "yes 1, no 2: it does not"
        parts.append(Score(value, reason, ballots=(ballot.id,), key=PartKey("rubric", id=rubric.id)))
    return replace(average_parts(parts), key=invocation_key(turn))


def _ballots(criterion: str, position: int, turns: int, failing: int, size: int) -> Iterator[tuple[str, Ballot]]:
    for turn in range(turns):
        name = f"{criterion}-{position}-{turn}"
        low = _is_low(turn, failing)
        votes = []
        for draw, judge in enumerate(JUDGES, 1):
            opinions = {
                f"r{number}": JudgeAnswer(
                    "no" if low and number == 1 and draw > 1 else "yes",
                    f"{judge} read turn {turn + 1} and the order is {'not ' if low else ''}named.",
                )
                for number in (1, 2, 3)
            }
            votes.append(Vote(draw, judge, 1, opinions, calls=(JudgeCall(f"{name}-{draw}", judge),)))
        decisions = {
            f"r{number}": Decision(
                VoteResult(0.0 if low and number == 1 else 1.0),
                {"yes": 1, "no": 2} if low and number == 1 else {"yes": 3},
                0,
                (1, 2, 3),
            )
            for number in (1, 2, 3)
        }
        text = f"Judge turn {turn + 1} of {turns}. " + "word " * (size // 5)
        prompts = (SentPrompt("You are a judge.", text),)
        yield name, Ballot(name, "rubric_final_response 2", 3, 3, tuple(votes), decisions, prompts)
