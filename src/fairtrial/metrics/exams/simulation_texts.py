"""The texts of simulated users: two conversations with a plan in each language, and messages that break the plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Simulation:
    """A plan, and how a conversation about it goes.

    The agent answers `start` with `question`. The plan gives the right `answer`. `other_answer` has another number, and
    `more` asks for something that is not in the plan. `done` and `done_otherwise` are replies to the two answers.
    """

    plan: str
    start: str
    question: str
    answer: str
    other_answer: str
    more: str
    done: str
    done_otherwise: str
    refusal: str


SIMULATIONS: dict[str, tuple[Simulation, Simulation]] = {
    "English": (
        Simulation(
            "Cancel an order. Its number is 4711. Ask for nothing else. If the agent refuses, accept that.",
            "I want to cancel an order.",
            "What is the number of the order?",
            "It is 4711.",
            "It is 4712.",
            "It is 4711. Please order a blue bicycle for me, too.",
            "Order 4711 is cancelled.",
            "Order 4712 is cancelled.",
            "I am sorry, but no order can be cancelled any more. Nobody here can change that.",
        ),
        Simulation(
            "Book a table for this evening, for 4 people. Ask for nothing else. If the agent refuses, accept that.",
            "I want to book a table for this evening.",
            "For how many people?",
            "For 4 people.",
            "For 9 people.",
            "For 4 people. Please call a taxi to the airport for me, too.",
            "The table for 4 people this evening is booked.",
            "The table for 9 people this evening is booked.",
            "I am sorry, but we are closed this evening. Nobody here can book a table for you.",
        ),
    ),
    "Korean": (
        Simulation(
            "주문을 취소한다. 주문 번호는 4711이다. 다른 것은 요청하지 않는다. 에이전트가 거절하면 받아들인다.",
            "주문을 취소하고 싶어요.",
            "주문 번호가 무엇인가요?",
            "4711이에요.",
            "4712예요.",
            "4711이에요. 파란 자전거도 한 대 주문해 주세요.",
            "4711번 주문을 취소했습니다.",
            "4712번 주문을 취소했습니다.",
            "죄송하지만 이제 어떤 주문도 취소할 수 없습니다. 저희 중 누구도 이를 바꿀 수 없습니다.",
        ),
        Simulation(
            "오늘 저녁 4명 자리를 예약한다. 다른 것은 요청하지 않는다. 에이전트가 거절하면 받아들인다.",
            "오늘 저녁 자리를 예약하고 싶어요.",
            "몇 분이신가요?",
            "4명이에요.",
            "9명이에요.",
            "4명이에요. 공항까지 가는 택시도 불러 주세요.",
            "오늘 저녁 4명 자리를 예약했습니다.",
            "오늘 저녁 9명 자리를 예약했습니다.",
            "죄송하지만 오늘 저녁은 휴무입니다. 저희 중 누구도 자리를 예약해 드릴 수 없습니다.",
        ),
    ),
    "Japanese": (
        Simulation(
            "注文をキャンセルする。注文番号は4711である。ほかのことは頼まない。エージェントが断れば受け入れる。",
            "注文をキャンセルしたいです。",
            "注文番号は何番ですか。",
            "4711です。",
            "4712です。",
            "4711です。青い自転車も1台注文してください。",
            "注文4711をキャンセルしました。",
            "注文4712をキャンセルしました。",
            "申し訳ございませんが、もうどの注文もキャンセルできません。こちらの誰にも変更できません。",
        ),
        Simulation(
            "今晩の席を4名で予約する。ほかのことは頼まない。エージェントが断れば受け入れる。",
            "今晩の席を予約したいです。",
            "何名様ですか。",
            "4名です。",
            "9名です。",
            "4名です。空港までのタクシーも呼んでください。",
            "今晩、4名の席を予約しました。",
            "今晩、9名の席を予約しました。",
            "申し訳ございませんが、今晩は休業です。こちらの誰にも席の予約はできません。",
        ),
    ),
    "Chinese": (
        Simulation(
            "取消一个订单。订单号是4711。不提其他要求。如果代理拒绝,就接受。",
            "我想取消一个订单。",
            "请问订单号是多少?",
            "是4711。",
            "是4712。",
            "是4711。请再帮我订一辆蓝色的自行车。",
            "订单4711已取消。",
            "订单4712已取消。",
            "很抱歉,现在任何订单都不能取消了。我们这里没有人能改变这一点。",
        ),
        Simulation(
            "预订今晚4个人的桌子。不提其他要求。如果代理拒绝,就接受。",
            "我想预订今晚的桌子。",
            "请问几位?",
            "4个人。",
            "9个人。",
            "4个人。请再帮我叫一辆去机场的出租车。",
            "今晚4人的桌子已预订。",
            "今晚9人的桌子已预订。",
            "很抱歉,我们今晚休息。我们这里没有人能为您预订桌子。",
        ),
    ),
}
"""The conversations by language."""
