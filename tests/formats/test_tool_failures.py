"""The tool results that are failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import eval_set, load, said
from fairtrial.formats.tool_failures import is_failure
from fairtrial.records.trace import ToolResult

FAILURES: list[tuple[Any, bool]] = [
    ({"error": "x"}, True),
    ({"error": None, "data": 1}, False),
    ({"isError": True, "content": []}, True),
    ({"status": "ERROR", "message": "x"}, True),
    ({"status": "ok"}, False),
    ({"success": False}, True),
    ({"result": "Error: gone"}, True),
    ("Error: gone", True),
    ("Traceback (most recent call last): ...", True),
    ("No errors found", False),
    (["error"], False),
    (None, False),
]


@pytest.mark.parametrize(("response", "expected"), FAILURES)
def test_a_response_says_that_its_tool_failed(response: Any, *, expected: bool) -> None:
    """Tools mark failures in several ways. A text about errors is not a failure."""
    assert is_failure(response) is expected


def _result_of_adk(response: dict[str, Any]) -> ToolResult:
    found = load(eval_set({"user_content": said("hi"), "intermediate_data": {"tool_responses": [response]}}))
    assert not found.warnings
    assert found.eval_set is not None
    (case,) = found.eval_set.cases
    assert case.conversation is not None
    (step,) = case.conversation[0].steps or ()
    assert isinstance(step, ToolResult)
    return step


def _result_of_chat(**message: Any) -> ToolResult:
    found = load([{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "1", **message}])
    (step,) = found.recordings[0].trace.invocations[0].steps or ()
    assert isinstance(step, ToolResult)
    return step


@pytest.mark.parametrize("mark", [{"isError": True}, {"is_error": True}, {"status": "error"}])
def test_a_mark_beside_the_response_is_read(mark: dict[str, Any]) -> None:
    """MCP writes `isError`, Anthropic `is_error`, LangChain `status`; each means the same in ADK files and in chats."""
    assert _result_of_adk({"name": "get", "response": {"text": "gone"}, **mark}).is_error
    assert _result_of_chat(content="gone", **mark).is_error


def test_a_mark_counts_more_than_the_response() -> None:
    """A text about an error may be what a tool was asked for."""
    assert not _result_of_adk({"name": "get", "response": {"text": "Error: 404"}, "isError": False}).is_error
    assert not _result_of_chat(content="Error: 404", is_error=False).is_error
    assert _result_of_chat(content=json.dumps({"error": "gone"})).is_error
