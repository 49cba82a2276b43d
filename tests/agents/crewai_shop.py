"""The shop as an agent of CrewAI, its model scripted at the framework's own seam for models."""

from __future__ import annotations

import json
from typing import Any

from crewai import Agent, BaseLLM
from crewai.tools import tool
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, Move, move


class ScriptedLLM(BaseLLM):  # type: ignore[misc]
    """A model that decides as the shop does. It writes its calls as text, as models without calls do."""

    def __init__(self) -> None:
        super().__init__(model="scripted")

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Answer a request."""
        self._track_token_usage_internal({"prompt_tokens": PROMPT_TOKENS, "completion_tokens": REPLY_TOKENS})
        return self.answer(messages)

    call._crewai_rate_limit_wrapped = True  # type: ignore[attr-defined]  # the framework waits between its attempts

    def answer(self, messages: Any) -> Any:
        """Return the response."""
        return _written(move(*latest(messages), str(messages)))


def latest(messages: Any) -> tuple[str, int]:
    """Return the latest message of the user, and the number of results since."""
    query, results = "", 0
    for message in messages:
        text = message.get("content") or ""
        if message["role"] == "user" and "\nCurrent Task: " in text:
            query, results = text.partition("\nCurrent Task: ")[2].partition("\n\n")[0], 0
        elif message["role"] == "user" and not results:
            query = text
        results += message["role"] == "tool" or (message["role"] == "assistant" and "\nObservation:" in text)
    return query, results


def _written(one: Move) -> str:
    if not one.call:
        return f"Final Answer: {one.text}"
    return f"Thought: {one.text}\nAction: {one.call}\nAction Input: {json.dumps(one.args)}"


def shop() -> Agent:
    """Make the agent of a conversation."""
    tools = [tool(function) for function in TOOLS.values()]
    return Agent(role="shop", goal="Sell.", backstory=INSTRUCTIONS, llm=ScriptedLLM(), tools=tools, cache=False)
