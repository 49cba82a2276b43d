"""Teams, workflows, swarms and graphs of agents run and are recorded whole, as their makers teach them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from shop import CRITERIA, cancel_order, get_order, saying

import fairtrial
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import ToolResult

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
SHOP = [get_order, cancel_order]


def hold(target: str, query: str, **options: Any) -> Recording:
    """Return the recording of one message."""
    run = fairtrial.evaluate(saying(query), target, CRITERIA, **options)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure
    return recording


def calls(recording: Recording) -> list[tuple[str, str]]:
    """Return the authors and names of the calls."""
    return [(call.author, call.name) for call in recording.trace.invocations[0].tool_calls]


def tokens(recording: Recording) -> int:
    """Return the tokens of the conversation outside of tools."""
    return sum(usage.total_tokens or 0 for usage in recording.trace.invocations[0].usages or ())


# Agno


def _agno(name: str, **options: Any) -> Any:
    from agno.agent import Agent
    from agno_shop import ScriptedModel

    return Agent(name=name, model=ScriptedModel(), **options)


def agno_team() -> Any:
    """A leader that gives every order to its member."""
    from agno.models.response import ModelResponse
    from agno.team import Team
    from agno_shop import ScriptedModel

    class Leader(ScriptedModel):
        """Delegates once, and repeats the answer."""

        async def ainvoke(self, messages: Any, **_: Any) -> ModelResponse:
            """Answer a request."""
            results = [message for message in messages if message.role == "tool"]
            if results:
                return ModelResponse(role="assistant", content=f"The clerk says: {results[-1].content}")
            task = {"member_id": "clerk", "task": messages[-1].get_content_string()}
            function = {"name": "delegate_task_to_member", "arguments": json.dumps(task)}
            return ModelResponse(role="assistant", tool_calls=[{"id": "d1", "type": "function", "function": function}])

    return Team(name="desk", model=Leader(), members=[_agno("clerk", tools=SHOP)])


def agno_workflow() -> Any:
    """Two steps, one after the other."""
    from agno.workflow import Step, Workflow

    steps = [Step(name="find", agent=_agno("clerk", tools=SHOP)), Step(name="say", agent=_agno("speaker"))]
    return Workflow(name="desk", steps=steps)


def test_the_members_of_an_agno_team_work_inside_its_delegation() -> None:
    """The call of the member is inside the result of the leader's call."""
    pytest.importorskip("agno")
    recording = hold(f"agno:{__name__}:agno_team", "Where is A-17?")
    (invocation,) = recording.trace.invocations
    assert calls(recording) == [("desk", "delegate_task_to_member")]
    (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    assert [call.name for call in result.inner.invocations[0].tool_calls] == ["get_order"]
    assert invocation.reply == "The clerk says: Your teapot is shipped."


def test_an_environment_reaches_the_members_of_an_agno_team() -> None:
    """The injected answer stands in the result of the member's own call."""
    pytest.importorskip("agno")
    injected = [{"injected_response": {"state": "lost"}}]
    tools = [{"tool_name": "get_order", "injection_configs": injected}]
    recording = hold(f"agno:{__name__}:agno_team", "Where is A-17?", environment={"tool_simulation_configs": tools})
    (result,) = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    (own,) = [step for step in result.inner.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert own.response == {"state": "lost"}


def test_the_steps_of_an_agno_workflow_are_agents_of_the_conversation() -> None:
    """Calls and tokens of every step are recorded with the name of its agent."""
    pytest.importorskip("agno")
    recording = hold(f"agno:{__name__}:agno_workflow", "Where is A-17?")
    assert calls(recording) == [("clerk", "get_order")]
    assert recording.trace.invocations[0].reply == "You said: Your teapot is shipped."
    assert tokens(recording) == 45
    assert [agent.name for agent in recording.trace.agents] == ["clerk", "speaker"]


# Strands


def _strands(name: str, **options: Any) -> Any:
    from strands import Agent
    from strands_shop import ScriptedModel

    return Agent(model=ScriptedModel(), name=name, callback_handler=None, **options)


def strands_graph() -> Any:
    """Two nodes, one after the other."""
    from strands import tool
    from strands.multiagent import GraphBuilder

    builder = GraphBuilder()
    builder.add_node(_strands("clerk", tools=[tool(get_order), tool(cancel_order)]), "find")
    builder.add_node(_strands("speaker"), "say")
    builder.add_edge("find", "say")
    return builder.build()


def strands_swarm() -> Any:
    """A receptionist who hands over to the clerk."""
    from strands import Agent, tool
    from strands.multiagent import Swarm
    from strands_shop import ScriptedModel

    class Receptionist(ScriptedModel):
        """Hands over at once."""

        async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
            """Answer a request."""
            results = any("toolResult" in block for block in messages[-1]["content"])
            yield {"messageStart": {"role": "assistant"}}
            if results:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "The clerk knows."}}}
            else:
                use = {"name": "handoff_to_agent", "toolUseId": "h1"}
                task = '{"agent_name": "clerk", "message": "Where is A-17?"}'
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": task}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}

    desk = Agent(model=Receptionist(), name="desk", callback_handler=None)
    return Swarm([desk, _strands("clerk", tools=[tool(get_order), tool(cancel_order)])])


def test_the_nodes_of_a_strands_graph_are_agents_of_the_conversation() -> None:
    """Calls and tokens of every node are recorded with the name of its agent."""
    pytest.importorskip("strands")
    recording = hold(f"strands:{__name__}:strands_graph", "Where is A-17?")
    assert calls(recording) == [("clerk", "get_order")]
    assert "You said" in (recording.trace.invocations[0].reply or "")
    assert [agent.name for agent in recording.trace.agents] == ["clerk", "speaker"]


def test_a_strands_swarm_is_recorded_over_its_handover() -> None:
    """The handover is a call of the first agent, and the second agent gives the reply."""
    pytest.importorskip("strands")
    recording = hold(f"strands:{__name__}:strands_swarm", "Where is A-17?")
    assert calls(recording) == [("desk", "handoff_to_agent"), ("clerk", "get_order")]
    assert recording.trace.invocations[0].reply == "Your teapot is shipped."


def test_an_environment_reaches_the_agents_of_a_strands_graph() -> None:
    """The injected answer is the result of the call."""
    pytest.importorskip("strands")
    tools = [{"tool_name": "get_order", "injection_configs": [{"injected_response": {"state": "lost"}}]}]
    recording = hold(
        f"strands:{__name__}:strands_graph", "Where is A-17?", environment={"tool_simulation_configs": tools}
    )
    results = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert [result.response for result in results] == [{"state": "lost"}]


# Microsoft Agent Framework


def _framework(name: str, **options: Any) -> Any:
    from agent_framework import Agent
    from agent_framework_shop import ScriptedClient

    return Agent(ScriptedClient(), name=name, **options)


def framework_workflow() -> Any:
    """Two agents, one after the other, as the builder of sequences makes it."""
    from agent_framework import WorkflowBuilder

    clerk, speaker = _framework("clerk", tools=SHOP), _framework("speaker")
    return WorkflowBuilder(start_executor=clerk, output_from=[speaker]).add_edge(clerk, speaker).build()


def framework_workflow_as_agent() -> Any:
    """The same workflow, shown as an agent."""
    return framework_workflow().as_agent()


def framework_question() -> Any:
    """A workflow that asks the user."""
    from agent_framework import WorkflowBuilder
    from asking_executor import Asking

    asking = Asking(id="asking")
    return WorkflowBuilder(start_executor=asking, output_from=[asking]).build()


@pytest.mark.parametrize("name", ["framework_workflow", "framework_workflow_as_agent"])
def test_the_agents_of_a_workflow_of_agent_framework_are_agents_of_the_conversation(name: str) -> None:
    """Calls and tokens of every agent are recorded with its name."""
    pytest.importorskip("agent_framework")
    recording = hold(f"agent-framework:{__name__}:{name}", "Where is A-17?")
    assert calls(recording) == [("clerk", "get_order")]
    assert tokens(recording) == 45
    messages = [*(recording.trace.invocations[0].steps or ()), recording.trace.invocations[0].final_response]
    assert [(own.author, own.text) for own in messages if isinstance(own, fairtrial.Message)] == [
        ("clerk", "Your teapot is shipped."),
        ("speaker", "Your teapot is shipped."),
    ]


def test_a_question_of_a_workflow_is_answered_by_the_next_message() -> None:
    """The question is the reply, and the workflow goes on with the answer."""
    pytest.importorskip("agent_framework")
    run = fairtrial.evaluate(saying("a lamp", "large"), f"agent-framework:{__name__}:framework_question", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure
    assert [own.reply for own in recording.trace.invocations] == ["Which size?", "A large one."]
