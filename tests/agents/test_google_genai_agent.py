"""Google Gen AI SDK chats are recorded whole."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded
from shop import get_order

from fairtrial.records.trace import Thought, ToolCall, ToolResult, Usage

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
pytest.importorskip("google.genai")

from genai_shop import client, config, make_client, scripted  # noqa: E402
from google.genai import errors, types  # noqa: E402


def test_thoughts_and_tokens_are_recorded() -> None:
    """A thought is not part of the reply."""
    (invocation,) = recorded("google-genai:genai_shop:shop", "think").trace.invocations
    assert invocation.steps == (Thought("Hm.", "shop", model="scripted"),)
    assert (invocation.reply, invocation.usages) == ("You said: think", (Usage(10, 5, model="scripted"),))


def test_a_chat_is_copied() -> None:
    """Two conversations begin with the history of the chat, which stays as it is."""
    earlier = (
        types.Content(role="user", parts=[types.Part(text="hi")]),
        types.Content(role="model", parts=[types.Part(text="Hi!")]),
    )
    seen: list[int] = []

    def see(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(len(request["contents"]))
        return scripted(request)

    chat = make_client(see).aio.chats.create(model="scripted", history=list(earlier))
    recorded(chat, "one", "two")
    recorded(chat, "one")
    assert seen == [3, 5, 3]
    assert len(chat.get_history()) == 2


def test_a_function_that_raises_is_an_error_that_the_model_sees() -> None:
    """The SDK gives the error to the model, and the conversation goes on."""

    def failing(order_id: str) -> str:
        """Look up an order."""
        raise ValueError(order_id)

    failing.__name__ = "get_order"
    chat = client.chats.create(model="scripted", config={"tools": [failing]})
    (invocation,) = recorded(chat, "Where is A-17?").trace.invocations
    assert invocation.steps is not None
    call, result = invocation.steps
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (result.id, result.is_error, result.response) == (call.id, True, {"error": "ValueError: A-17"})
    assert invocation.reply == "Your teapot is shipped."


def test_a_blocked_prompt_is_a_failure() -> None:
    """The reason of the block is the cause."""
    chat = make_client(lambda _: {"promptFeedback": {"blockReason": "SAFETY"}}).chats.create(model="scripted")
    one = recorded(chat, "hello")
    assert one.failure is not None
    assert "the model did not answer: SAFETY" in one.failure.cause


def test_an_outage_of_the_api_is_not_the_agents() -> None:
    """The status of the SDK's own exception counts."""

    def down(_: Any) -> Any:
        raise errors.ServerError(501, {"error": {"message": "down", "status": "UNAVAILABLE"}})

    one = recorded(make_client(down).chats.create(model="scripted"), "hello")
    assert one.failure is not None
    assert one.failure.side == "infrastructure"


def test_a_tool_of_the_provider_stays() -> None:
    """It is declared, and does not run here."""
    tools: list[Any] = [types.Tool(google_search=types.GoogleSearch())]
    chat = client.chats.create(model="scripted", config=types.GenerateContentConfig(tools=tools))
    (invocation,) = recorded(chat, "hello").trace.invocations
    assert invocation.about is not None
    assert "googleSearch" in str(invocation.about.agents[0].tool_declarations)
    assert config.tools is not None
    assert config.tools[0] is get_order
