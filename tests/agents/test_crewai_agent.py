"""CrewAI agents and crews are recorded whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kinds import recorded
from shop import TOOLS, cancel_order, get_order

import fairtrial
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalCase, EvalSet, SessionInput
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Usage

pytestmark = [pytest.mark.agents, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
pytest.importorskip("crewai")

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.tools import BaseTool, tool  # noqa: E402
from crewai_shop import ScriptedLLM, latest, shop  # noqa: E402
from shop import move  # noqa: E402


class Calling(ScriptedLLM):
    """A model that knows calls."""

    def supports_function_calling(self) -> bool:
        """Whether it does."""
        return True

    def answer(self, messages: Any) -> Any:
        """Return the calls, or the reply."""
        one = move(*latest(messages))
        if not one.call:
            return one.text
        function = {"name": one.call, "arguments": json.dumps(one.args)}
        return [{"id": f"call-{one.call}-{len(messages)}", "type": "function", "function": function}]


def recorded_with(make: Any, *queries: str, **options: Any) -> Any:
    """What is recorded with agents that a function makes."""
    globals()["make"] = make
    recording = recorded(f"crewai:{__name__}:make", *queries, **options)
    assert recording.failure is None, recording.failure.traceback
    return recording


def agent_with(llm: Any, *functions: Any, role: str = "shop", **options: Any) -> Any:
    """An agent with tools."""
    return Agent(role=role, goal="Sell.", backstory="You are kind.", llm=llm, tools=list(functions), **options)


def test_calls_of_models_that_know_calls_are_recorded() -> None:
    """A call has the id that the model gave it, and the tools are those of the request."""

    def make() -> Any:
        return agent_with(Calling(), *map(tool, TOOLS.values()))

    (invocation,) = recorded_with(make, "Where is A-17?").trace.invocations
    call, result = invocation.steps
    assert call == ToolCall("get_order", {"order_id": "A-17"}, call.id, "shop")
    assert call.id.startswith("call-get_order-")
    assert result == ToolResult("get_order", {"item": "teapot", "state": "shipped"}, call.id, "shop")
    assert invocation.reply == "Your teapot is shipped."
    assert invocation.usages == (Usage(10, 5, model="scripted"),) * 2
    assert invocation.about.agents[0].tool_names == ("get_order", "cancel_order")


def test_the_model_sees_the_conversation() -> None:
    """The earlier messages have their roles."""
    seen: list[list[tuple[str, str]]] = []

    class Seeing(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            seen.append([(one["role"], one["content"].strip()) for one in messages[1:-1]])
            return super().answer(messages)

    recorded_with(lambda: agent_with(Seeing()), "one", "two")
    assert seen == [[], [("user", "one"), ("assistant", "You said: one")]]


def test_the_text_of_a_model_has_its_thought_apart() -> None:
    """The answer is the reply."""

    class Thinking(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            return f"Thought: I know.\n{super().answer(messages)}"

    (invocation,) = recorded_with(lambda: agent_with(Thinking()), "hello").trace.invocations
    assert invocation.steps == (Thought("I know.", "shop"),)
    assert invocation.reply == "You said: hello"


def test_a_repeated_call_is_answered_from_the_cache() -> None:
    """CrewAI keeps the answer of the first call, and it is the result of the second."""
    looked_up: list[str] = []

    def look(order_id: str) -> dict[str, str]:
        """Look up an order."""
        looked_up.append(order_id)
        return get_order(order_id)

    look.__name__ = "get_order"
    (first, second) = recorded_with(
        lambda: agent_with(Calling(), tool(look), cache=True), "Where is A-17?", "And A-17?"
    ).trace.invocations
    answers = [step.response for one in (first, second) for step in one.steps if isinstance(step, ToolResult)]
    assert answers == [get_order("A-17"), str(get_order("A-17"))]
    assert looked_up == ["A-17"]


def test_a_call_of_an_unknown_tool_has_its_refusal_as_result() -> None:
    """CrewAI answers it in the next request."""
    (invocation,) = recorded_with(lambda: agent_with(Calling(), tool(get_order)), "Cancel B-42").trace.invocations
    results = [step for step in invocation.steps if isinstance(step, ToolResult)]
    assert [result.name for result in results] == ["get_order", "cancel_order"]
    assert "not found" in str(results[1].response)


def crew() -> Any:
    """A crew of two agents. The second writes what the first found."""

    class Cancel(BaseTool):  # type: ignore[misc]
        name: str = "cancel_order"
        description: str = "Cancel an order."

        def _run(self, order_id: str) -> Any:
            return cancel_order(order_id)

    finder = agent_with(Calling(), role="finder")
    writer = agent_with(ScriptedLLM(), role="writer")
    look = Task(
        description="{message} for {name}", expected_output="Facts", agent=finder, tools=[tool(get_order), Cancel()]
    )
    write = Task(description="Greet {name}", expected_output="A letter", agent=writer)
    return Crew(agents=[finder, writer], tasks=[look, write], verbose=True)


def test_a_crew_gets_the_message_and_the_state_as_inputs(capfd: pytest.CaptureFixture[str]) -> None:
    """The output of its last task is the reply, and nothing is printed."""
    state = SessionInput(state={"name": "Kim"})
    (invocation,) = recorded_with(crew, "Cancel B-42", session=state).trace.invocations
    said, *_ = [step for step in invocation.steps if isinstance(step, Message)]
    assert said == Message("Order B-42 is cancelled.", "finder")
    assert [(call.name, call.author) for call in invocation.tool_calls] == [
        ("get_order", "finder"),
        ("cancel_order", "finder"),
    ]
    results = [step.response for step in invocation.steps if isinstance(step, ToolResult)]
    assert results == [{"item": "lamp", "state": "in preparation"}, {"cancelled": True}]
    assert invocation.reply.startswith("You said: Greet Kim")
    assert [one.name for one in invocation.about.agents] == ["finder", "writer"]
    assert capfd.readouterr().out == ""


def test_a_crew_sees_the_earlier_messages() -> None:
    """CrewAI adds them to the tasks, as its own chat does."""
    seen: list[str] = []

    class Seeing(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            seen.append(messages[-1]["content"])
            return super().answer(messages)

    def make() -> Any:
        agent = agent_with(Seeing())
        task = Task(description="{question}", expected_output="An answer", agent=agent)
        return Crew(agents=[agent], tasks=[task])

    recorded_with(make, "hello there", "and now")
    assert "hello there" in seen[0]
    assert "User: hello there\nAssistant: You said: hello there" in seen[1]
    assert "Current Task: and now" in seen[1]


def test_a_crew_that_cannot_hear_is_refused() -> None:
    """Its inputs are named, once for the run."""

    def make() -> Any:
        agent = agent_with(ScriptedLLM())
        return Crew(agents=[agent], tasks=[Task(description="Sell", expected_output="Sold", agent=agent)])

    globals()["make"] = make
    with pytest.raises(UsageError, match="the crew needs an input for the message of the user"):
        recorded(f"crewai:{__name__}:make", "hello")


def test_a_picture_is_refused() -> None:
    """The case is refused before anything runs."""
    message = Message("What is this?", parts=(Part("image/png", "https://example.com/cat.png"),))
    cases = EvalSet("shown", (EvalCase("case", (Invocation(message),)),))
    with pytest.raises(UsageError, match="agents, crews and flows of CrewAI take only text"):
        fairtrial.evaluate(cases, "crewai:crewai_shop:shop", {"response_match_score": 0.5})


def test_an_agent_without_a_function_is_refused() -> None:
    """Conversations would mix in it."""
    with pytest.raises(UsageError, match="each conversation needs an agent of its own"):
        recorded(shop(), "hello")
