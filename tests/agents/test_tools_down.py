"""A tool whose server is down counts against the infrastructure, whatever framework calls the tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import shop
from down_servers import NEEDS_RESULT, Orders, by_own_client, every_client, every_server
from kinds import every, reached

import fairtrial
from fairtrial.records.case import EvalSet

CRITERIA: dict[str, Any] = {"response_match_score": 0.9}
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
every_local_kind = every(lambda kind: not kind.remote)


@every_local_kind
@every_client
@every_server
def test_a_tool_whose_server_is_down_is_not_the_agents_fault(
    kind: str, server: Any, client: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference holds a date that only the tool could tell. The framework may end the run, or tell its model."""
    if client is by_own_client and kind == "claude":
        pytest.skip("the library of MCP keeps the text of the exception, and not the cause")
    with server() as url, reached(kind) as target:
        monkeypatch.setattr(shop, "ORDERS", Orders(lambda: client(url)))
        (result,) = fairtrial.evaluate(EvalSet("shop", (NEEDS_RESULT,)), target, CRITERIA).cases
    assert {fault.side for fault in result.invalidations or ()} == {"infrastructure"}


@every_local_kind
def test_a_tool_that_has_no_such_order_leaves_the_fault_with_the_agent(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception of the tool is an answer: no server was down."""
    with reached(kind) as target:
        monkeypatch.setattr(shop, "ORDERS", {})
        (result,) = fairtrial.evaluate(EvalSet("shop", (NEEDS_RESULT,)), target, CRITERIA).cases
    assert result.invalidations == ()
