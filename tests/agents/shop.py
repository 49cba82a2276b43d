"""A shop assistant for the tests of every framework: its tools, what its model decides, and what is expected of it."""

from __future__ import annotations

import base64
import re
import threading
from dataclasses import dataclass
from typing import Any

from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

INSTRUCTIONS = "You help the customers of a shop."
ORDERS = {"A-17": {"item": "teapot", "state": "shipped"}, "B-42": {"item": "lamp", "state": "in preparation"}}
PROMPT_TOKENS, REPLY_TOKENS = 10, 5
HUGE = 10_000_000
RELEASED = threading.Event()
"""What the tool waits for that looks up C-99."""


class ProviderError(RuntimeError):
    """What the client of a provider raises, with the status of the response."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status


class Outage:
    """The state of the model's provider: the status of its next answers."""

    status = 503
    left = 0
    calls = 0

    @classmethod
    def begin(cls, status: int, calls: int = 1_000_000) -> None:
        """Let so many calls fail."""
        cls.status, cls.left, cls.calls = status, calls, 0

    @classmethod
    def note_call(cls) -> None:
        """Count a call of the model; fail if the provider is down."""
        cls.calls += 1
        if cls.left > 0:
            cls.left -= 1
            raise ProviderError(cls.status)


def get_order(order_id: str) -> dict[str, str]:
    """Look up an order."""
    if order_id == "C-99":
        RELEASED.wait()
        return {}
    return ORDERS[order_id]


def cancel_order(order_id: str) -> dict[str, bool]:
    """Cancel an order."""
    return {"cancelled": order_id in ORDERS}


TOOLS: dict[str, Any] = {"get_order": get_order, "cancel_order": cancel_order}


@dataclass(frozen=True)
class Move:
    """What the model says, and which tool it calls."""

    text: str = ""
    call: str = ""
    order_id: str = ""

    @property
    def args(self) -> dict[str, str]:
        """The arguments of the call."""
        return {"order_id": self.order_id}


_MOVES = {
    "break": (Move(call="get_order", order_id="A-17"),),
    "later": (Move(call="get_order", order_id="A-17"), Move("It is here.")),
    "A-17": (Move(call="get_order", order_id="A-17"), Move("Your teapot is shipped.")),
    "C-99": (Move(call="get_order", order_id="C-99"), Move("I waited.")),
    "B-42": (
        Move("Let me look at it first.", "get_order", "B-42"),
        Move(call="cancel_order", order_id="B-42"),
        Move("Order B-42 is cancelled."),
    ),
    "empty": (Move(),),
    "huge": (Move("x" * HUGE),),
}


def move(query: str, results: int, read: str = "") -> Move:
    """Return what the model does next, after so many results of tools since the user's message; deterministic.

    `read` is what the model read in this conversation, in any form. Only a gullible model looks at it.
    """
    gullible = re.search(r"gullible (\w+)", query)
    if gullible is not None:
        return _obey(gullible[1], results, re.sub(r"\\u([0-9a-f]{4})", _unescape, read).replace("\\", ""))
    if "outage" in query or ("later" in query and results):
        Outage.note_call()
    if "break" in query and results:
        raise RuntimeError("the model is broken")
    moves = next((moves for word, moves in _MOVES.items() if word in query), (Move(f"You said: {query}"),))
    return moves[min(results, len(moves) - 1)]


def _obey(whom: str, results: int, read: str) -> Move:
    """Return the move of a model that does what planted texts ask for: all, Korean ones, repeated ones, or leaks."""
    lookups = 2 if whom == "twice" else 1
    if results < lookups:
        return Move(call="get_order", order_id="A-17")
    order = re.search(r"cancel_order[^{]{1,40}\{['\"]order_id['\"]: ?['\"]([^'\"]+)", read)
    obeys = whom in ("always", "twice") or (whom == "korean" and re.search("[가-힣]", read) is not None)
    if order is not None and obeys and results == lookups:
        return Move(call="cancel_order", order_id=order[1])
    secret = re.search(r"internal_reference\W+(FT\w+)", read) if whom == "leaking" else None
    leak = f" {base64.b64encode(secret[1].encode()).decode()}" if secret is not None else ""
    return Move(f"Your teapot is shipped.{leak}")


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _asked(query: str, reply: str, *calls: ToolCall) -> Invocation:
    return Invocation(Message(query), calls, Message(reply))


EVAL_SET = EvalSet(
    "shop",
    (
        EvalCase(
            "two_orders",
            (
                _asked("Where is A-17?", "Your teapot is shipped.", ToolCall("get_order", {"order_id": "A-17"})),
                _asked(
                    "Cancel B-42, please.",
                    "Order B-42 is cancelled.",
                    ToolCall("get_order", {"order_id": "B-42"}),
                    ToolCall("cancel_order", {"order_id": "B-42"}),
                ),
            ),
        ),
    ),
)
CRITERIA: dict[str, Any] = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}


def saying(*queries: str, name: str = "case") -> EvalSet:
    """An eval set of one conversation in which a user says this, and nothing is expected."""
    return EvalSet("said", (EvalCase(name, tuple(Invocation(Message(query)) for query in queries)),))
