"""A scripted world of hotel bookings in four languages, in which failures are planted at known steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fairtrial import EvalCase, EvalSet, Failure, Invocation, Message, Recording, ToolCall, Trace
from fairtrial.records.trace import Step, ToolResult

LANGUAGES = ("en", "ko", "ja", "zh")

_TEXTS = {
    "en": (
        "Please book a room in {city} for {nights} nights.",
        "The room in {city} is booked for {nights} nights. It costs {price} dollars.",
        "Please pay with my card and send the receipt.",
        "The payment of {price} dollars is done, and the receipt is on its way to you.",
        "I am sorry, but I cannot help with this request.",
    ),
    "ko": (
        "{city}에 있는 방을 {nights}박 예약해 주세요.",
        "{city}의 방을 {nights}박 예약했습니다. 요금은 {price}달러입니다.",
        "제 카드로 결제하고 영수증을 보내 주세요.",
        "{price}달러 결제가 끝났고 영수증을 보내 드렸습니다.",
        "죄송하지만 이 요청은 도와드릴 수 없습니다.",
    ),
    "ja": (
        "{city}の部屋を{nights}泊で予約してください。",
        "{city}の部屋を{nights}泊で予約しました。料金は{price}ドルです。",
        "私のカードで支払って、領収書を送ってください。",
        "{price}ドルのお支払いが完了し、領収書をお送りしました。",
        "申し訳ございませんが、このご依頼にはお答えできません。",
    ),
    "zh": (
        "请帮我在{city}预订一间房，住{nights}晚。",
        "已经在{city}为您预订了{nights}晚的房间，费用是{price}美元。",
        "请用我的卡付款，并把收据发给我。",
        "{price}美元的付款已经完成，收据已经发给您了。",
        "很抱歉，我无法处理这个请求，请见谅。",
    ),
}
_CITIES = {"en": ("Lisbon", "Oslo"), "ko": ("부산", "제주"), "ja": ("京都", "札幌"), "zh": ("上海", "成都")}

Turns = list[Invocation]


class Planted(NamedTuple):
    """A recording with a planted failure: its kind, and the place where it shows.

    `invocation` counts from 1. `step` counts the steps of the invocation from 1, and is None for its reply.
    """

    recording: Recording
    kind: str
    invocation: int
    step: int | None


def booking(number: int, language: str) -> EvalCase:
    """The expectation of a booking: what is called, replied and left in the state."""
    rng = random.Random(f"booking {number}")
    city, nights, price = rng.choice(_CITIES[language]), rng.randrange(2, 9), rng.randrange(120, 990)
    first, booked, second, paid, _ = (text.format(city=city, nights=nights, price=price) for text in _TEXTS[language])
    room = f"R-{number:03}"
    turns = (
        Invocation(
            Message(first),
            (
                ToolCall("get_customer", {"id": f"C-{number:03}"}),
                ToolCall("find_rooms", {"city": city}),
                ToolCall("book_room", {"room": room, "nights": nights, "board": "breakfast"}),
            ),
            Message(booked),
        ),
        Invocation(
            Message(second),
            (ToolCall("pay", {"amount": price, "method": "card"}), ToolCall("send_receipt", {"room": room})),
            Message(paid),
        ),
    )
    state = {"room": room, "status": "paid"}
    return EvalCase(f"{language}-{number:03}", turns, final_session_state=state)


def perfect(case: EvalCase, attempt: int = 1) -> Recording:
    """The recording of an attempt that does everything that is expected."""
    turns = [_with_results(turn) for turn in case.conversation or ()]
    return Recording(case.id, Trace(tuple(turns), final_state=case.final_session_state), attempt)


def _with_results(turn: Invocation) -> Invocation:
    """A turn in which every call has its result."""
    steps: list[Step] = []
    for step in turn.steps or ():
        steps.append(step)
        if isinstance(step, ToolCall):
            steps.append(ToolResult(step.name, {"ok": True, **step.args}))
    return replace(turn, steps=tuple(steps))


def _steps(turn: Invocation) -> list[Step]:
    return list(turn.steps or ())


def _with(trace: Trace, index: int, *, steps: Sequence[Step] | None = None, reply: str | None = None) -> Trace:
    turns = list(trace.invocations)
    turn = turns[index]
    turn = turn if steps is None else replace(turn, steps=tuple(steps))
    turns[index] = turn if reply is None else replace(turn, final_response=Message(reply))
    return replace(trace, invocations=tuple(turns))


Plant = Callable[[Trace, str], tuple[Trace, int, int | None]]


def _drop(index: int, tool: str) -> Plant:
    """Leave out a call and its result. The agent goes on without it at the next call, or in the reply."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        del language
        steps = _steps(trace.invocations[index])
        at = next(i for i, step in enumerate(steps) if isinstance(step, ToolCall) and step.name == tool)
        rest = steps[:at] + steps[at + 2 :]
        return _with(trace, index, steps=rest), index + 1, at + 1 if at < len(rest) else None

    return plant


def _add(index: int, at: int, *calls: ToolCall) -> Plant:
    """Make calls that nobody expects."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        del language
        steps = _steps(trace.invocations[index])
        for call in reversed(calls):
            steps[at:at] = [call, ToolResult(call.name, {"ok": True})]
        return _with(trace, index, steps=steps), index + 1, at + 1

    return plant


def _change(index: int, tool: str, **args: object) -> Plant:
    """Call a tool with other arguments."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        del language
        steps = _steps(trace.invocations[index])
        at = next(i for i, step in enumerate(steps) if isinstance(step, ToolCall) and step.name == tool)
        call = steps[at]
        assert isinstance(call, ToolCall)
        steps[at] = replace(call, args={**call.args, **args})
        return _with(trace, index, steps=steps), index + 1, at + 1

    return plant


def _rename(index: int, tool: str, name: str) -> Plant:
    """Call another tool with the same arguments."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        del language
        steps = _steps(trace.invocations[index])
        at = next(i for i, step in enumerate(steps) if isinstance(step, ToolCall) and step.name == tool)
        steps[at], steps[at + 1] = replace(steps[at], name=name), ToolResult(name, {"ok": True})
        return _with(trace, index, steps=steps), index + 1, at + 1

    return plant


def _swap(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
    """Send the receipt before the payment."""
    del language
    steps = _steps(trace.invocations[1])
    return _with(trace, 1, steps=[*steps[2:4], *steps[:2]]), 2, 1


def _repeat(index: int, tool: str, times: int) -> Plant:
    """Make a call again with equal arguments."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        del language
        steps = _steps(trace.invocations[index])
        at = next(i for i, step in enumerate(steps) if isinstance(step, ToolCall) and step.name == tool)
        steps[at + 2 : at + 2] = steps[at : at + 2] * times
        return _with(trace, index, steps=steps), index + 1, at + 3

    return plant


def _state(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
    """Leave another room in the state than the case expects, as the last call that writes is said to have done."""
    del language
    return replace(trace, final_state={**(trace.final_state or {}), "status": "open"}), 2, 3


def _reply(index: int, make: Callable[[str, str], str]) -> Plant:
    """Reply something else."""

    def plant(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
        return _with(trace, index, reply=make(trace.invocations[index].reply, language)), index + 1, None

    return plant


def _other_number(reply: str, language: str) -> str:
    del language
    digits = next(
        part for part in reply.replace("달", " ").replace("美", " ").replace("ド", " ").split() if part[-3:].isdigit()
    )
    number = digits[-3:]
    return reply.replace(number, str((int(number) + 37) % 900 + 100))


_WITHOUT_NUMBER = {
    "en": "The payment is done.",
    "ko": "결제가 끝났습니다.",
    "ja": "お支払いが完了しました。",
    "zh": "付款已经完成了。",
}


def _without_number(reply: str, language: str) -> str:
    del reply
    return _WITHOUT_NUMBER[language]


def _other_language(reply: str, language: str) -> str:
    del reply
    return _TEXTS["en" if language != "en" else "ko"][4 - 1].format(price=777)


def _error(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
    """Let the search for rooms fail, so that the reply lacks what it would have held."""
    steps = _steps(trace.invocations[0])
    city = steps[2].args["city"] if isinstance(steps[2], ToolCall) else ""
    steps[3] = ToolResult("find_rooms", f"Error: no rooms table for '{city}' (code 17)", is_error=True)
    return _with(trace, 0, steps=steps, reply=_without_number("", language)), 1, 3


def _stop(trace: Trace, language: str) -> tuple[Trace, int, int | None]:
    """End the conversation after its first message."""
    del language
    return replace(trace, invocations=trace.invocations[:1], final_state=trace.final_state), 1, None


KINDS: dict[str, Plant] = {
    "the booking is missing": _drop(0, "book_room"),
    "the receipt is missing": _drop(1, "send_receipt"),
    "the customer is not looked up": _drop(0, "get_customer"),
    "a refund is made": _add(1, 2, ToolCall("refund", {"amount": 5})),
    "a hand-over is made": _add(0, 2, ToolCall("transfer_to_human_agents", {})),
    "the nights are wrong": _change(0, "book_room", nights=30),
    "the board is wrong": _change(0, "book_room", board="none"),
    "the method is wrong": _change(1, "pay", method="cash"),
    "the city is wrong": _change(0, "find_rooms", city="Atlantis"),
    "a suite is booked": _rename(0, "book_room", "book_suite"),
    "the receipt comes too early": _swap,
    "the room is booked twice": _repeat(0, "book_room", 1),
    "the search is a loop": _repeat(0, "find_rooms", 4),
    "the state is wrong": _state,
    "the price is wrong": _reply(1, _other_number),
    "the price is missing": _reply(1, _without_number),
    "the language is wrong": _reply(1, _other_language),
    "the agent refuses": _reply(0, lambda reply, language: _TEXTS[language][4]),  # noqa: ARG005
    "the reply is empty": _reply(0, lambda reply, language: ""),  # noqa: ARG005
    "the search fails": _error,
    "the conversation stops": _stop,
    "the agent breaks": lambda trace, language: (trace, 2, None),  # noqa: ARG005
}
"""The kinds of planted failures, with the functions that plant them."""


def plant(kind: str, case: EvalCase, attempt: int = 1) -> Planted:
    """Plant a failure of a kind in a perfect recording of a case."""
    recording = perfect(case, attempt)
    trace, invocation, step = KINDS[kind](recording.trace, case.id[:2])
    if kind == "the agent breaks":
        cause = f"KeyError: 'room R-{case.id[-3:]}'"
        failure = Failure("agent", cause)
        broken = replace(trace, broken=cause)
        return Planted(replace(recording, trace=broken, failure=failure, ended_by="failure"), kind, invocation, step)
    return Planted(replace(recording, trace=trace), kind, invocation, step)


def world(each: int, *, kinds: Sequence[str] = tuple(KINDS)) -> tuple[EvalSet, list[Planted]]:
    """An eval set with `each` bookings of every kind, in turn in four languages, and their recordings."""
    planted: list[Planted] = []
    cases: list[EvalCase] = []
    for number in range(each * len(kinds)):
        # The languages must not go with the kinds, whose number 4 may divide.
        case = booking(number, LANGUAGES[(number // len(kinds) + number) % len(LANGUAGES)])
        cases.append(case)
        planted.append(plant(kinds[number % len(kinds)], case))
    return EvalSet("bookings", tuple(cases)), planted
