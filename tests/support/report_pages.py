"""Pages for the tests in a browser: runs that contain everything that a page can show."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fairtrial.analysis.comparison import compare_runs
from fairtrial.analysis.measured_run import MeasuredRun, measure_run
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.attempt_row import CriterionTerms, make_row
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, SentPrompt, Vote, VoteResult
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.result import CaseResult, Fault, InvocationInjection, JudgeStats, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import AlignedCall, PartKey, Quote, Score
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Durations,
    Injection,
    Invocation,
    Message,
    Part,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
)
from fairtrial.reports.html import write_pages
from finished import FinishedRun

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
AGENT = AgentDetails("shop_agent", "You sell shoes.", ({"name": "get_order", "parameters": {"type": "object"}},))


def texts(text: str, name: str, language: str = "en") -> dict[str, str]:
    """The texts of a conversation in a language, or the same hostile text in every place."""
    if text:
        return dict.fromkeys(("query", "thought", "value", "reply", "reference", "reason", "name"), text)
    return {
        "en": {
            "query": "Where is my order A-17?",
            "thought": "The user asks for an order.",
            "value": "A-17",
            "reply": "Order A-17 is on its way and arrives on Monday.",
            "reference": "Order A-17 is on its way and arrives on Friday.",
            "reason": "the day differs",
        },
        "ko": {
            "query": "주문 A-17은 어디에 있나요?",
            "thought": "사용자가 주문을 묻습니다.",
            "value": "A-17",
            "reply": "주문하신 상품은 월요일에 도착합니다.",
            "reference": "주문하신 상품은 금요일에 도착합니다.",
            "reason": "요일이 다릅니다",
        },
        "ja": {
            "query": "注文A-17はどこですか?",
            "thought": "注文について聞かれています。",
            "value": "A-17",
            "reply": "ご注文の商品は月曜日に届きます。",
            "reference": "ご注文の商品は金曜日に届きます。",
            "reason": "曜日が違います",
        },
        "zh": {
            "query": "订单A-17在哪里?",
            "thought": "用户在询问订单。",
            "value": "A-17",
            "reply": "您的订单将在星期一送达。",
            "reference": "您的订单将在星期五送达。",
            "reason": "日期不同",
        },
    }[language] | {"name": name}


def _conversation(own: dict[str, str], *, reply: str, tool: str = "get_order") -> tuple[Invocation, ...]:
    text = own["query"]
    call = ToolCall(tool, {"order_id": own["value"], "options": {"verbose": True, own["value"]: own["value"]}})
    result = ToolResult(tool, {"state": own["value"]}, injected=(Injection("stale", own["reason"]),), is_error=True)
    picture = Part("image/png", data=PIXEL, name=own["name"]), Part("image/svg+xml", own["value"], own["value"])
    return (
        Invocation(
            Message(text, parts=picture),
            (Thought(own["thought"]), call, result, Message(own["thought"], own["name"])),
            Message(own[reply], own["name"]),
            usages=(Usage(1200, 80),),
            durations=Durations(2.5),
            about=About((AGENT, replace(AGENT, name=own["name"], instructions=own["thought"]))),
        ),
        Invocation(Message(text), (), Message(own[reply])),
    )


def _outcomes(own: dict[str, str], value: float | None, ballot: str) -> tuple[Outcome, ...]:
    calls = (
        AlignedCall("changed", 0, 0, ("/order_id", "/options/verbose")),
        AlignedCall("missing", 0, None),
        AlignedCall("surplus", None, 0, allowed=True, optional=True),
        AlignedCall("moved", 0, 0, forbidden=True),
    )
    calls_part = Score(value, own["reason"], key=PartKey("invocation", 0), calls=calls)
    words = Score(0.6, own["reason"], quotes=(Quote(own["reference"], "expected"), Quote(own["reply"], "actual")))
    rubric = Score(value, own["reason"], own["name"], quotes=(Quote(own["reply"], own["name"]),), ballots=(ballot,))
    open_part = Score(None, own["reason"], key=PartKey("invocation", 1))
    return (
        Outcome("tool_trajectory_avg_score", Score(value, parts=(calls_part, open_part)), 1.0),
        Outcome("response_match_score", replace(words, key=None), 0.5),
        Outcome(
            "final_response_quality",
            Score(value, parts=(replace(rubric, key=PartKey("rubric", id=own["name"])),)),
            0.5,
            judge_stats=JudgeStats(5, 0, 1, 0.0123, 0.8, 0.7),
        ),
        Outcome("token_usage_v1", Score(1280.0)),
        Outcome("politeness", Score(None, own["reason"])),
        Outcome("invocation_duration_v1", Score(None, "the recording has no durations")),
    )


def run(run_id: str, *, cases: int = 12, hostile: Sequence[str] = (), seed: int = 1, attempts: int = 2) -> FinishedRun:
    """A run with failed, broken, invalid, flaky and labelled attempts.

    With `hostile`, each case has one of these texts in every place, and the run itself has the first.
    """
    text = hostile[0] if hostile else ""
    chance = random.Random(seed)
    results, expected, recorded, ballots, labels = [], [], [], {}, []
    for position in range(cases):
        attack = hostile[position % len(hostile)] if hostile else ""
        own = texts(attack, f"case_{position}", ("en", "ko", "ja", "zh")[position % 4])
        case = EvalCase(own["name"], _conversation(own, reply="reference"), context=own["thought"])
        expected.append(ExpectedCase(position, own["name"], case, "shop", f"{position:064d}"))
        for attempt in range(1, attempts + 1):
            ballot = f"ballot-{position}-{attempt}"
            value = chance.choice([0.0, 1.0, 1.0, None])
            failure = Failure("agent", own["reason"], own["thought"]) if position == 3 else None
            invalid = (Fault("environment", (own["reason"],)),) if position == 4 else ()
            results.append(
                CaseResult(
                    own["name"],
                    position,
                    _outcomes(own, value, ballot),
                    attempt,
                    failure,
                    invalid,
                    usage={"inference_calls": 2, "input_tokens": 1200, "output_tokens": 80},
                    warnings=(own["reason"],),
                    injections=(InvocationInjection(1, own["value"], Injection(own["value"], own["reason"])),),
                    eval_set="shop",
                    digest=f"{position:064d}",
                )
            )
            trace = Trace(_conversation(own, reply="reply"), final_state={own["value"]: own["value"]}, reward=1.0)
            recorded.append((position, Recording(own["name"], trace, attempt, failure)))
            answer = JudgeAnswer("yes", own["reason"], own["reply"])
            votes = tuple(
                Vote(draw, "judge-model", 1, {"item": answer}, {own["name"]: own["reason"]}) for draw in (1, 2)
            )
            decision = Decision(VoteResult(1.0), {"yes": 2, own["value"]: 1}, 1, (1, 2))
            prompts = (SentPrompt(own["thought"], own["query"]),)
            ballots[ballot] = Ballot(
                ballot, "quality 1", 3, 2, votes, {"item": decision, own["name"]: decision}, prompts
            )
            labels.append(
                Label(
                    CaseKey("shop", own["name"], f"{position:064d}"),
                    attempt,
                    "final_response_quality",
                    value=1.0,
                    author=own["name"],
                    note=own["reason"],
                )
            )
    judge = Calibration("final_response_quality", text or "judge-model", JudgeState.TOO_FEW, labels=7)
    info = RunInfo(
        run_id,
        "2026-11-20T09:30:00+00:00",
        "0.1.0",
        "run",
        {"paths": [text or "evals"], "agent": text or "shop.agent:reply", "attempts": 2},
        {"agent": {"metric": text or "shop.agent:reply"}, text or "final_response_quality": {"options": {"judge": {}}}},
        finished="2026-11-20T09:31:00+00:00",
        seconds=61.5,
    )
    return FinishedRun(info, results, expected, recorded, (judge,), ballots, labels=labels)


def measured(own: FinishedRun) -> MeasuredRun:
    """The numbers of a run, as a comparison reads them."""
    keys = [(case.position, case.key, case.name) for case in own.expectations]
    rows = list(map(make_row, own.results))
    terms = {
        outcome.criterion: CriterionTerms(outcome.criterion, outcome.threshold, outcome.lower_is_better, outcome.range)
        for result in own.results
        for outcome in result.outcomes
    }
    return measure_run(own.info, keys, rows, terms)


def write_run(path: Path, *, hostile: Sequence[str] = (), cases: int = 12, attempts: int = 2) -> str:
    """Write the page of a run, and return its address."""
    with path.open("wb") as stream:
        write_pages(stream, [run("20261120-093000-aaaaaa", hostile=hostile, cases=cases, attempts=attempts)])
    return path.as_uri()


def write_comparison(path: Path, *, surplus: str = "") -> str:
    """Write the page of two runs, and return its address. With `surplus`, the candidate calls that tool first."""
    runs = [run("20261120-093000-aaaaaa"), run("20261121-093000-bbbbbb", seed=2)]
    if surplus:
        runs[1] = dataclasses.replace(runs[1], recorded=[_with_call(own, surplus) for own in runs[1].recorded])
    (comparison,) = compare_runs(measured(runs[0]), [measured(runs[1])])
    with path.open("wb") as stream:
        write_pages(stream, runs, comparisons=[comparison])
    return path.as_uri()


def write_comparisons(path: Path) -> str:
    """Write the page of a base run and three further runs, and return its address."""
    ids = ["20261120-093000-aaaaaa", "20261121-093000-bbbbbb", "20261122-093000-cccccc", "20261123-093000-dddddd"]
    runs = [run(own, seed=seed) for seed, own in enumerate(ids)]
    base, *others = map(measured, runs)
    with path.open("wb") as stream:
        write_pages(stream, runs, comparisons=compare_runs(base, others))
    return path.as_uri()


def _with_call(recorded: tuple[int, Recording], tool: str) -> tuple[int, Recording]:
    position, recording = recorded
    first, *others = recording.trace.invocations
    longer = replace(first, steps=(ToolCall(tool, {}), *(first.steps or ())))
    return position, replace(recording, trace=replace(recording.trace, invocations=(longer, *others)))
