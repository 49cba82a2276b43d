"""Symptoms and contrasts: failures of traces without any expectation get a step and a mode."""

from __future__ import annotations

import pytest

from fairtrial import EvalCase, EvalSet, Failure, Invocation, Message, Recording, Run, ToolCall, Trace, score
from fairtrial.analysis.failures.error_templates import error_text, make_template
from fairtrial.analysis.failures.events import numbers
from fairtrial.analysis.failures.refusal_phrases import hands_over, is_hand_over_tool, refuses
from fairtrial.analysis.failures.tool_effects import only_reads
from fairtrial.api.failure_modes.run_modes import failures
from fairtrial.records.failure_mode import FailedAttempt
from fairtrial.records.trace import AgentDetails, Step, ToolResult


def solved(trace: Trace, case: EvalCase) -> bool:
    """Whether the benchmark rewarded the attempt."""
    del case
    return trace.reward == 1


def attempt(
    *steps: Step, reply: str | None = "Done.", query: str = "Please help.", number: int = 1, reward: float = 0.0
) -> Recording:
    """An attempt of one turn, of which only the reward is known."""
    response = None if reply is None else Message(reply)
    return Recording("case", Trace((Invocation(Message(query), steps, response),), reward=reward), number)


def found_in(*recordings: Recording) -> FailedAttempt:
    """What is found in the first attempt at a case that expects nothing."""
    return failures(scored(*recordings)).failed[0]


def scored(*recordings: Recording) -> Run:
    """A run of attempts at one case that expects nothing."""
    eval_set = EvalSet("set", (EvalCase("case", (Invocation(Message("Please help."), None, None),)),))
    return score(list(recordings), eval_set, {"solved": solved})


def called(
    name: str, response: object = "ok", *, is_error: bool = False, **args: object
) -> tuple[ToolCall, ToolResult]:
    """A call with its result."""
    return ToolCall(name, dict(args)), ToolResult(name, response, is_error=is_error)


def test_the_first_error_that_was_not_repaired() -> None:
    """An error after which the tool answered is repaired. The other one is the decisive step, at its call."""
    steps = (
        *called("get_order", "Error: order A-17 not found"),
        *called("get_order", {"id": 1}),
        *called("refund", {"error": {"message": "amount 30.50 exceeds 'limit'"}}, is_error=True),
    )
    own = found_in(attempt(*steps))
    assert (own.signature.kind, own.signature.tool) == ("error", "refund")
    assert own.signature.template == "amount # exceeds …"
    assert own.evidence == "symptom"
    assert own.step is not None
    assert (own.step.invocation, own.step.step, own.step.ordinal) == (1, 5, 6)


def test_a_loop_begins_at_the_second_equal_call() -> None:
    """Three equal calls with equal results are a loop. Results that change are none."""
    same = called("search_flights", "none", city="Oslo")
    own = found_in(attempt(*same, *same, *same))
    assert (own.signature.kind, own.step and own.step.step) == ("loop", 3)
    polled = [step for state in "abc" for step in called("get_state", state)]
    assert found_in(attempt(*polled)).signature.kind == "criterion"


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("Please cancel my order for the red chair.", "I'm sorry, but I cannot help with that request."),
        ("빨간 의자 주문을 취소해 주세요.", "죄송합니다만 그 요청은 도와드릴 수 없습니다."),
        ("赤い椅子の注文をキャンセルしてください。", "申し訳ございませんが、ご対応できません。"),
        ("请取消我的红色椅子订单。", "很抱歉，我无法处理您的请求。"),
        ("請取消我的紅色椅子訂單。", "很抱歉，我無法處理您的請求。"),
    ],
)
def test_refusals_in_five_scripts(query: str, reply: str) -> None:
    """A reply that declines to help is the decisive step if nothing else is known."""
    own = found_in(attempt(reply=reply, query=query))
    assert (own.signature.kind, own.step and own.step.kind) == ("refusal", "reply")


@pytest.mark.parametrize(
    "reply",
    [
        "You can cancel the order yourself.",
        "주문을 취소했습니다. 더 도와드릴 일이 있을까요?",
        "ご注文をキャンセルしました。",
        "订单已经取消，还有什么可以帮您？",
    ],
)
def test_help_is_no_refusal(reply: str) -> None:
    """A reply that helps is no refusal and no hand-over, in four languages."""
    assert not refuses(reply)
    assert not hands_over(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I will transfer you to a human agent now.",
        "상담원에게 연결해 드리겠습니다.",
        "担当者におつなぎします。",
        "正在为您转接人工客服。",
    ],
)
def test_hand_overs_in_four_languages(reply: str) -> None:
    """A reply that hands over to a person is recognised."""
    assert hands_over(reply)


def test_a_reply_in_another_language() -> None:
    """A Korean user who gets an English reply has found the failure."""
    own = found_in(attempt(reply="Your order has been cancelled.", query="빨간 의자 주문을 취소해 주세요."))
    assert own.signature.kind == "language"


def test_no_reply_and_a_number_without_support() -> None:
    """A missing reply comes before an unsupported number, and a number from a result has support."""
    assert found_in(attempt(*called("find"), reply=None)).signature.kind == "empty"
    own = found_in(attempt(*called("find", {"price": 120.5}), reply="It costs 120.50, and 17 are left."))
    assert (own.signature.kind, own.reason.split(",")[0]) == ("claim", "the reply states 17")
    assert found_in(attempt(*called("find", {"price": 120.5}), reply="It costs 120.50.")).signature.kind == "criterion"


def test_nothing_known_says_where() -> None:
    """Without any sign the attempt has no decisive step, and the reason says so."""
    own = found_in(attempt(reply="All is well."))
    assert (own.step, own.evidence) == (None, None)
    assert own.reason == "solved failed, and nothing known says where"


def test_the_limit_that_ended_it() -> None:
    """A conversation that its limit ended is a failure of that kind if nothing else is known."""
    capped = Recording("case", Trace((Invocation(Message("Hi"), (), Message("Hm.")),), reward=0.0), ended_by="cap")
    assert found_in(capped).signature.kind == "cap"


def test_another_side_comes_first() -> None:
    """A failure of the infrastructure is that, whatever the conversation holds."""
    broken = Recording(
        "case", Trace((Invocation(Message("Hi")),)), failure=Failure("infrastructure", "HTTP 503 from 10.0.0.7")
    )
    own = found_in(broken)
    assert (own.side, own.evidence, own.signature.template) == ("infrastructure", "side", "HTTP # from #")


def test_attempts_that_passed_show_the_first_difference() -> None:
    """All passing attempts called get_order first, and this attempt did not: that is the decisive step."""
    order, pay = called("get_order", "ok", id=7), called("pay", "ok", id=7)
    passes = [attempt(*order, *pay, number=number, reward=1.0) for number in (2, 3, 4)]
    own = found_in(attempt(*pay), *passes)
    assert (own.evidence, own.signature.kind, own.signature.tool) == ("contrast", "missing", "get_order")
    assert own.reason == 'all 3 attempts that passed called get_order here with {"id": 7}, and this attempt did not'
    assert (own.step and own.step.text) == "pay(id=7)"


def test_a_call_that_no_passing_attempt_made() -> None:
    """A call that writes and that no passing attempt made is the difference. Other searches are none."""
    search, pay = called("find_rooms", "ok", city="Oslo"), called("pay", "ok", id=7)
    passed = attempt(*search, *pay, number=2, reward=1.0)
    own = found_in(attempt(*search, *called("find_rooms", "x", city="Rome"), *called("refund"), *pay), passed)
    assert (own.evidence, own.signature.kind, own.signature.tool) == ("contrast", "unexpected", "refund")


@pytest.mark.parametrize("name", ["get_order", "searchFlights", "list-items", "hotel.find_rooms", "WebSearch", "think"])
def test_names_of_tools_that_read(name: str) -> None:
    """The first verb of a name says that the tool reads."""
    assert only_reads(name)


@pytest.mark.parametrize("name", ["cancel_order", "bookRoom", "return_delivered_order_items", "frobnicate", "결제"])
def test_names_of_tools_that_may_write(name: str) -> None:
    """A verb that changes something, or no known verb, means that the tool may write."""
    assert not only_reads(name)


def test_a_declaration_outweighs_the_name() -> None:
    """A tool that declares `readOnlyHint` only reads, whatever its name, so that its surplus call is no difference."""
    from fairtrial.analysis.failures.tool_effects import read_hints

    declared = {"name": "reserve_check", "annotations": {"readOnlyHint": True}}
    assert read_hints([AgentDetails("a", tool_declarations=(declared,))]) == {"reserve_check": True}


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("Error: item 9127591879 not found", "Error: item # not found"),
        ("user mia_li_3668 has no order #W123", "user # has no order #"),
        ("주문 12345를 찾을 수 없습니다", "주문 #를 찾을 수 없습니다"),
        ("注文「A-12」が見つかりません", "注文…が見つかりません"),
        ("找不到订单 2024-05-20", "找不到订单 #"),
        ("GET https://x.example/a?b=1 failed for bob@example.com", "GET URL failed for EMAIL"),
        ("cannot open /var/log/app/x.log", "cannot open PATH"),
    ],
)
def test_templates_of_errors(text: str, template: str) -> None:
    """Ids, numbers, quotes, addresses and paths become slots in four languages."""
    assert make_template(text) == template


def test_the_text_of_an_error_inside_of_an_object() -> None:
    """The message is found below the usual keys."""
    assert error_text({"error": {"code": 5, "message": "no seat"}}) == "no seat"
    assert error_text([{"detail": "late"}]) == "late"
    assert error_text({"code": 5}) == '{"code":5}'


def test_numbers_in_one_form() -> None:
    """Separators, zeros and widths do not matter, units may follow, and ids hold no numbers."""
    assert numbers("It costs $1,250.00, not １２５０.5 or 3,5.") == ["1250", "1250.5", "3,5"]
    assert numbers("20달러, 第3回, 30円") == ["20", "3", "30"]
    assert numbers("order A-17 and W5481803 and v2") == []


def test_names_of_hand_over_tools() -> None:
    """Tools that hand over to a person are known by their names."""
    assert is_hand_over_tool("transfer_to_human_agents")
    assert not is_hand_over_tool("transfer_money")


def test_hostile_texts_take_linear_time() -> None:
    """Long texts without an end cost no more than reading them."""
    for text in ("'" * 100_000, "a-" * 100_000, "1," * 100_000, "「" * 100_000, "https://" * 20_000):
        make_template(text)
        numbers(text)
        refuses(text)
        hands_over(text)
