"""The criterion `user_consent_v1`: the closed list decides, and a judge where the list is open."""

from __future__ import annotations

import asyncio

import pytest

from fairtrial.metrics.tool_rules.user_consent import UserConsent
from fairtrial.records.case import EvalCase
from fairtrial.records.reply import Prompt
from fairtrial.records.score import Score
from fairtrial.records.trace import Approval, Invocation, Message, ToolCall, ToolResult, Trace
from judged import Bench, fenced, ids


def _conversation(answer: str, calls: int = 1, approval: Approval | None = None) -> Trace:
    steps = [
        step
        for number in range(calls)
        for step in (
            ToolCall("cancel_order", {"order": number}, str(number)),
            ToolResult("cancel_order", {}, str(number), approval=approval),
        )
    ]
    asked = Invocation(Message("Cancel my order?"), (), Message("Shall I cancel order 0?"))
    return Trace((asked, Invocation(Message(answer), tuple(steps), Message("Done."))))


def _nobody(_: str, __: Prompt) -> str:
    raise AssertionError("a judge was asked")


def _refuse(_: str, __: Prompt) -> str:
    return "no"


def _score(bench: Bench, trace: Trace) -> Score:
    return asyncio.run(UserConsent(bench.judge, calls=("cancel_*",))(trace, EvalCase("")))


@pytest.mark.parametrize(("answer", "value"), [("Yes, go ahead.", 1.0), ("No, wait.", 0.0)])
def test_the_list_decides_without_a_judge(answer: str, value: float) -> None:
    """A message that the list decides costs nothing."""
    bench = Bench(_nobody)
    assert _score(bench, _conversation(answer)).value == value


def test_the_judge_decides_an_open_message() -> None:
    """The judge sees the question of the agent, the answer of the user and the call, and its part has a ballot."""
    prompts: list[Prompt] = []

    def say(_: str, prompt: Prompt) -> str:
        prompts.append(prompt)
        return "yes"

    scored = _score(Bench(say), _conversation("Whatever you think is best for me."))
    (part,) = scored.parts
    assert (scored.value, bool(part.ballots)) == (1.0, True)
    assert fenced(prompts[0], "reply 1") == "Shall I cancel order 0?"
    assert fenced(prompts[0], "user message 2") == "Whatever you think is best for me."
    assert "cancel_order" in fenced(prompts[0], "tool call 1")
    assert ids(prompts[0]) == ["call_1"]


def test_a_judge_that_sees_no_consent_fails_the_conversation() -> None:
    """A call without consent decides."""
    scored = _score(Bench(_refuse), _conversation("How long would that take?"))
    assert scored.value == 0
    assert "cancel_order" in scored.reason


def test_an_approval_of_the_user_counts() -> None:
    """A call that the user approved in the framework needs no judge."""
    bench = Bench(_nobody)
    approved = _conversation("Hm.", approval=Approval("approve", by="user"))
    assert _score(bench, approved).value == 1


def test_calls_without_end_do_not_spend_the_budget() -> None:
    """The judge is asked about 20 calls in one question, and the others are unscored."""
    asked: list[int] = []

    def say(_: str, prompt: Prompt) -> str:
        asked.append(len(ids(prompt)))
        return "yes"

    scored = _score(Bench(say), _conversation("Hm.", calls=30))
    assert set(asked) == {20}
    assert (scored.value, scored.side) == (None, "infrastructure")


def test_other_calls_need_no_consent() -> None:
    """A conversation without such a call is not applicable."""
    bench = Bench(_nobody)
    trace = Trace((Invocation(Message("Hello."), (ToolCall("look", {}, "1"),), Message("Hello.")),))
    assert not _score(bench, trace).applicable
