"""Contents that a limit cut off are kept apart from complete ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairtrial import loading
from fairtrial.formats.cut_off_texts import beginning_of_text
from fairtrial.records.trace import Invocation, ToolResult

MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}]


def attribute(key: str, value: Any) -> dict[str, Any]:
    """An attribute of OTLP. Structured values are JSON in a text."""
    return {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}


def recorded(
    tmp_path: Path, reply: Any, *, given: Any = MESSAGES, result: str = "here", arguments: str = "{}"
) -> Invocation:
    """The only invocation of a trace with a call of a model and of a tool."""
    model = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": given, "gen_ai.output.messages": reply}
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get",
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
    }
    spans = [
        {
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": f"eee19b7ec3c1b17{number}",
            "parentSpanId": "",
            "name": "span",
            "startTimeUnixNano": str(1790000000000000000 + number),
            "endTimeUnixNano": str(1790000000000000009 + number),
            "attributes": [attribute(key, value) for key, value in attributes.items()],
        }
        for number, attributes in enumerate((tool, model))
    ]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), encoding="utf-8")
    (source,) = loading.sources([path], recorded=True)
    (invocation,) = source.loaded.recordings[0].trace.invocations
    return invocation


def result_in(invocation: Invocation) -> ToolResult:
    """The only result of an invocation."""
    (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    return result


def said(text: str) -> list[Any]:
    """Messages of the model in GenAI conventions."""
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


@pytest.mark.parametrize("mark", ["…[truncated]", "...[truncated]", "... (truncated)", "…<truncated 120 characters>"])
def test_a_text_with_the_mark_of_a_limit_is_withheld(mark: str, tmp_path: Path) -> None:
    """Its beginning is kept, and its text is empty, so that nothing compares half of a reply."""
    reply = recorded(tmp_path, said(f"It is in{mark}")).final_response
    assert reply is not None
    assert (reply.text, reply.beginning) == ("", "It is in")
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in reply.withheld


def test_a_text_about_truncation_is_complete(tmp_path: Path) -> None:
    """The word alone is no mark, and neither is an ellipsis."""
    for text in ("The log was [truncated]", "I wonder …", "[truncated] is a mark."):
        reply = recorded(tmp_path, said(text)).final_response
        assert reply is not None
        assert (reply.text, reply.withheld) == (text, "")


def test_a_result_that_was_cut_off_is_withheld(tmp_path: Path) -> None:
    """A judge must not look for evidence in half of it."""
    invocation = recorded(tmp_path, said("ok"), result='{"rows": [1, 2...[truncated]')
    result = result_in(invocation)
    assert (result.response, result.beginning) == (None, '{"rows": [1, 2')
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in result.withheld


def test_messages_that_an_attribute_limit_cut_off_are_no_text(tmp_path: Path) -> None:
    """The limit of an SDK cuts JSON in the middle. The rest cannot be read, and is not the text of anybody."""
    invocation = recorded(tmp_path, said("ok"), given=json.dumps(MESSAGES)[:40])
    assert invocation.user.text == ""
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in invocation.user.withheld
    assert "gen_ai.input.messages" in invocation.user.withheld
    cut_reply = recorded(tmp_path, json.dumps(said("It has shipped."))[:50]).final_response
    assert cut_reply is not None
    assert (cut_reply.text, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in cut_reply.withheld) == ("", True)


@pytest.mark.parametrize("length", range(len('Kim said "ja" \u2615 in M\u00fcnchen')))
def test_the_beginning_of_a_reply_in_cut_messages_is_kept(length: int, tmp_path: Path) -> None:
    """A limit may also cut between the characters of an escape. Nothing of the JSON around the text is in it."""
    text = 'Kim said "ja" \u2615 in M\u00fcnchen'
    whole = json.dumps(said(text))
    reply = recorded(tmp_path, whole[: whole.index("Kim") + length]).final_response
    assert reply is not None
    assert reply.text == ""
    assert text.startswith(reply.beginning)
    assert len(json.dumps(reply.beginning)) - 2 in range(length - 5, length + 1)


def test_messages_that_were_cut_between_texts_have_no_beginning(tmp_path: Path) -> None:
    """The name of a key or of a role is not the beginning of a reply."""
    whole = json.dumps(said("It is here."))
    for end in ("assis", "conte"):
        reply = recorded(tmp_path, whole[: whole.index(end) + len(end)]).final_response
        assert reply is not None
        assert (reply.text, reply.beginning) == ("", "")


def test_the_beginning_of_a_result_that_an_attribute_limit_cut_off_is_kept(tmp_path: Path) -> None:
    """It is text, because half of JSON is not data."""
    invocation = recorded(tmp_path, said("ok"), result='{"rows": [1, 2')
    result = result_in(invocation)
    assert (result.response, result.beginning) == (None, '{"rows": [1, 2')
    assert "gen_ai.tool.call.result" in result.withheld


def test_the_beginning_of_arguments_that_an_attribute_limit_cut_off_is_kept(tmp_path: Path) -> None:
    """They are not compared."""
    (call,) = recorded(tmp_path, said("ok"), arguments='{"rows": [1, 2').tool_calls
    assert (call.args, call.beginning) == ({}, '{"rows": [1, 2')
    assert "gen_ai.tool.call.arguments" in call.withheld


def test_a_python_repr_is_a_text(tmp_path: Path) -> None:
    """It looks like JSON, and nothing was cut off."""
    invocation = recorded(tmp_path, said("ok"), result="{'rows': [1, 2]}")
    result = result_in(invocation)
    assert (result.response, result.withheld) == ("{'rows': [1, 2]}", "")


def test_a_long_text_of_quotes_is_searched_once() -> None:
    """The search must not begin again at each quote of a text that has no end."""
    value = '[{"content":"' + '\\"' * 100_000
    assert beginning_of_text(value) == '"' * 1000
