"""Approvals for tool calls that wait for a decision. The case decides, or the next user message."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.records.trace import Approval, Message, ToolCall, ToolResult
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_AGREEMENT = re.compile(
    r"(?i)\W*(yes|y|yeah|yep|ok|okay|sure|true|approved?|confirm(ed)?|accept(ed)?|allow|go ahead|please do|do it"
    r"|네|예|응|좋아요?|승인\w*|はい|承認\w*|ええ|是的?|好的?|同意|批准|可以|確認|确认)(?!\w)"
)
_TAKEN_BACK = re.compile(r"(?i)\W*(not|never|don't|do not)\b")


class Approvals:
    """The decisions in one conversation."""

    def __init__(self, case: EvalCase) -> None:
        self._assign_case = case.approvals
        self._decisions: dict[str, Approval] = {}

    async def send(
        self,
        message: str,
        start: Callable[[], AsyncGenerator[Item, None]],
        resume: Callable[[Sequence[Approval]], AsyncGenerator[Item, None]],
        waiting: Callable[[], Sequence[ToolCall]],
        author: Callable[[], str],
    ) -> AsyncGenerator[Item, None]:
        """Yield the items of an agent until it has finished, or needs a decision of the user.

        `waiting` returns the calls that wait. If there are any, the message decides, and `resume` goes on with one
        decision for each call. Otherwise `start` sends the message. A question to the user is the last message.
        """
        calls = waiting()
        run = resume(self._decide(calls, message)) if calls else start()
        while True:
            async with aclosing(run) as items:
                async for item in items:
                    yield self._with_approval(item)
            calls = waiting()
            if not calls:
                return
            if any(call.name not in self._assign_case for call in calls):
                yield Message(question(self._list_undecided(calls)), author())
                return
            run = resume(self._decide(calls, ""))

    def _list_undecided(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        return [call for call in calls if call.name not in self._assign_case]

    def _decide(self, calls: Sequence[ToolCall], message: str) -> list[Approval]:
        """Return the decision about each call, and keep it for the result of the call."""
        answers = iter(_answers(message, len(self._list_undecided(calls))))
        decisions = [
            Approval(self._assign_case[call.name], "case") if call.name in self._assign_case else next(answers)
            for call in calls
        ]
        self._decisions |= {call.id: decision for call, decision in zip(calls, decisions, strict=True)}
        return decisions

    def _with_approval(self, item: Item) -> Item:
        if isinstance(item, ToolResult) and item.id in self._decisions:
            return replace(item, approval=self._decisions[item.id])
        return item


def question(calls: Sequence[ToolCall]) -> str:
    """Return the question to the user, for example `May I call cancel_order({"order_id":"B-42"})?`."""
    names = " and ".join(f"{call.name}({compact(call.args)})" for call in calls)
    return f"May I call {names}? (yes, no, or other arguments as JSON)"


def _answers(message: str, count: int) -> list[Approval]:
    """Return one decision for each call from a message. A list in JSON decides about each call separately."""
    try:
        raw = msgspec.json.decode(message)
    except (ValueError, RecursionError):
        raw = message
    if isinstance(raw, list) and len(raw) == count:
        return [_answer(each) for each in raw]
    return [_answer(raw)] * count


def _answer(raw: Json) -> Approval:
    """Return the decision in a message. A message that does not agree rejects: no tool runs because of a doubt."""
    if isinstance(raw, dict):
        return Approval("edit", args=raw)
    if raw is True:
        return Approval("approve")
    if not isinstance(raw, str):
        return Approval("reject", reason=compact(raw))
    agreement = _AGREEMENT.match(raw)
    if agreement is not None and not _TAKEN_BACK.match(raw[agreement.end() :]):
        return Approval("approve")
    return Approval("reject", reason=raw)
