"""The shop as a chat of the Google Gen AI SDK, its model scripted at the SDK's API client."""

from __future__ import annotations

import json
from typing import Any

from google import genai
from google.genai import types
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move


def scripted(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request as the shop's model does."""
    query, results = "", 0
    for content in request["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                results += 1
            elif content["role"] == "user":
                query, results = part.get("text", ""), 0
    one = move(query, results, str([request["contents"], request.get("tools")]))
    parts: list[dict[str, Any]] = [{"text": one.text}] if one.text or not one.call else []
    if "think" in query:
        parts.insert(0, {"text": "Hm.", "thought": True})
    if one.call:
        parts.append({"functionCall": {"name": one.call, "args": one.args}})
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": PROMPT_TOKENS, "candidatesTokenCount": REPLY_TOKENS},
        "modelVersion": "scripted",
    }


def make_client(script: Any) -> Any:
    """A client whose requests a function answers."""
    client: Any = genai.Client(api_key="none", vertexai=False)

    async def async_request(_method: str, _path: str, request: dict[str, Any], *_: Any, **__: Any) -> Any:
        return types.HttpResponse(headers={}, body=json.dumps(script(request)))

    client._api_client.async_request = async_request
    return client


client = make_client(scripted)
config = types.GenerateContentConfig(system_instruction=INSTRUCTIONS, tools=[get_order, cancel_order])


def shop() -> Any:
    """A chat for each conversation."""
    return client.chats.create(model="scripted", config=config)
