"""Any object with `invoke` or `ainvoke` is an agent."""

from __future__ import annotations

from typing import Any

import pytest
from shop import CRITERIA, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording


def hold(agent: Any) -> Recording:
    """Return the recording of one message."""
    ((_, recording),) = fairtrial.evaluate(saying("hello"), agent, CRITERIA).recordings
    assert recording.failure is None, recording.failure
    return recording


class Pipeline:
    """A pipeline of retrieval."""

    def invoke(self, inputs: dict[str, str]) -> dict[str, Any]:
        """Answer a question with its context."""
        return {"answer": f"You said: {inputs['question']}", "context": ["a page"]}


class Answering:
    """An async object."""

    async def ainvoke(self, text: str) -> str:
        """Answer a text."""
        return f"You said: {text}"

    def invoke(self, text: str) -> str:
        """Nobody calls it, because the async method is there."""
        raise AssertionError(text)


def test_question_answer_and_context_are_mapped() -> None:
    """The answer is the reply, and the context is in the final state."""
    recording = hold(Pipeline())
    assert recording.trace.invocations[0].reply == "You said: hello"
    assert recording.trace.final_state == {"context": ["a page"]}


def test_an_async_method_is_preferred_and_gets_the_text() -> None:
    """Its text is the reply."""
    assert hold(Answering()).trace.invocations[0].reply == "You said: hello"


def test_an_object_without_the_methods_is_refused() -> None:
    """As before."""
    with pytest.raises(UsageError, match="must be a function"):
        find_agent(object())


def test_the_calls_of_an_object_are_not_known() -> None:
    """A pipeline may call tools, and its answer has no place for them."""
    assert hold(Answering()).trace.invocations[0].steps is None
    assert hold(lambda conversation: "hello").trace.invocations[0].steps == ()  # noqa: ARG005
