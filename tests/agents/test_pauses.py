"""A run that waits for something that nobody gives here is never the agent's fault."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded

from fairtrial import Holding
from fairtrial.records.attempt import Failure
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import ToolCall

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def broken(target: Any, *queries: str, **options: Any) -> Failure:
    """The failure of a conversation."""
    failure = recorded(target, *queries, **options).failure
    assert failure is not None
    return failure


# Microsoft Agent Framework


def counting() -> Any:
    """A workflow that asks for a number."""
    from agent_framework import WorkflowBuilder
    from asking_executor import Counting

    own = Counting(id="counting")
    return WorkflowBuilder(start_executor=own, output_from=[own]).build()


def test_a_question_for_a_number_is_answered_by_json() -> None:
    """The author of the question has no random name."""
    pytest.importorskip("agent_framework")
    recording = recorded(f"agent-framework:{__name__}:counting", "lamps", "3")
    assert recording.failure is None
    first, second = recording.trace.invocations
    assert (first.reply, second.reply) == ("How many?", "4.")
    assert first.final_response is not None
    assert first.final_response.author == "WorkflowBuilder"


def test_a_message_that_is_no_number_is_a_fault_of_the_case() -> None:
    """The workflow cannot go on."""
    pytest.importorskip("agent_framework")
    failure = broken(f"agent-framework:{__name__}:counting", "lamps", "three")
    assert failure.side == "expectation"
    assert failure.cause == "the workflow asks for int as JSON, and the message is 'three'"


def test_a_tool_that_the_caller_runs_is_no_fault_of_the_agent() -> None:
    """Agent Framework returns calls of tools that are only declared."""
    pytest.importorskip("agent_framework")
    from agent_framework import Agent, FunctionTool
    from agent_framework_shop import ScriptedClient

    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    declared = FunctionTool(name="get_order", description="Look up.", func=None, input_model=schema)
    failure = broken(Agent(ScriptedClient(), name="shop", tools=[declared]), "Where is A-17?")
    assert failure.side == "infrastructure"
    assert failure.cause == "shop: the results of get_order come from elsewhere, and nobody gives them here"


# Pydantic AI


def deferring() -> Any:
    """An agent whose tool defers its call."""
    from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
    from pydantic_ai_shop import model

    agent = Agent(model, name="shop", output_type=[str, DeferredToolRequests])

    @agent.tool_plain(name="get_order")
    def get_order_later(order_id: str) -> str:  # noqa: ARG001
        raise CallDeferred

    return agent


def test_deferred_calls_are_no_fault_of_the_agent() -> None:
    """Their results come from elsewhere."""
    pytest.importorskip("pydantic_ai")
    failure = broken(deferring(), "Where is A-17?")
    assert failure.side == "infrastructure"
    assert failure.cause.startswith("the results of get_order come from elsewhere (deferred calls)")


def test_a_state_that_is_no_dependency_is_a_fault_of_the_case() -> None:
    """The agent declares the type."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai_shop import model

    agent = Agent(model, name="shop", deps_type=int)
    assert broken(agent, "Hello", session=SessionInput(state={"a": 1})).side == "expectation"


def test_a_need_of_an_agent_in_a_process_of_its_own_is_none_of_its_faults() -> None:
    """The side survives the way to another process."""
    pytest.importorskip("pydantic_ai")
    failure = broken(f"pydantic-ai:{__name__}:deferring", "Where is A-17?", holding=Holding("process"))
    assert failure.side == "infrastructure"
    assert failure.cause.startswith("the results of get_order come from elsewhere (deferred calls)")


# smolagents


def asking() -> Any:
    """An agent whose tool asks on the terminal."""
    from smolagents import ToolCallingAgent, UserInputTool
    from smolagents_shop import ScriptedModel

    asking_tool = UserInputTool()
    asking_tool.name = "get_order"
    asking_tool.inputs = {"order_id": {"type": "string", "description": "An order."}}
    return ToolCallingAgent(tools=[asking_tool], model=ScriptedModel(), name="shop")


def test_a_question_on_the_terminal_is_no_fault_of_the_agent() -> None:
    """Nobody answers there."""
    pytest.importorskip("smolagents")
    failure = broken(f"smolagents:{__name__}:asking", "Where is A-17?")
    assert failure.side == "infrastructure"
    assert failure.cause.startswith("get_order asks the user on the terminal")


# ADK


def _adk(*calls: ToolCall, tools: Any = ()) -> Any:
    from google.adk.agents import Agent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    moves = list(calls)

    class Model(BaseLlm):  # type: ignore[misc]
        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:  # noqa: ARG002
            if moves:
                part = types.Part(function_call=types.FunctionCall(name=moves[0].name, args=moves.pop(0).args))
            else:
                part = types.Part(text=f"It is {request.contents[-1].parts[-1].function_response.response}.")
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    return Agent(name="shop", model=Model(model="scripted"), tools=list(tools))


def test_a_question_of_adk_is_answered_by_the_next_message() -> None:
    """The tool of ADK waits for the user."""
    pytest.importorskip("google.adk")
    from google.adk.tools import request_input

    call = ToolCall("adk_request_input", {"message": "Which size?"})
    recording = recorded(_adk(call, tools=[request_input]), "A lamp.", "large")
    assert recording.failure is None, recording.failure.traceback
    assert [invocation.reply for invocation in recording.trace.invocations] == [
        "Which size?",
        "It is {'result': 'large'}.",
    ]


def test_a_credential_that_adk_asks_for_is_no_fault_of_the_agent() -> None:
    """Nobody gives it."""
    pytest.importorskip("google.adk")
    models: Any = pytest.importorskip("fastapi.openapi.models")
    from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
    from google.adk.auth.auth_schemes import OAuth2
    from google.adk.auth.auth_tool import AuthConfig
    from google.adk.tools.tool_context import ToolContext

    flow = models.OAuthFlowAuthorizationCode(
        authorizationUrl="https://a.test/a", tokenUrl="https://a.test/t", scopes={"a": "b"}
    )
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="client", client_secret="none"),  # noqa: S106
    )
    config = AuthConfig(
        auth_scheme=OAuth2(flows=models.OAuthFlows(authorizationCode=flow)), raw_auth_credential=credential
    )

    def get_secret_order(tool_context: ToolContext) -> str:
        """Look up."""
        tool_context.request_credential(config)
        return "waiting"

    failure = broken(_adk(ToolCall("get_secret_order", {}), tools=[get_secret_order]), "A lamp.")
    assert failure.side == "infrastructure"
    assert (
        failure.cause == "shop: ADK asks the user for a credential (adk_request_credential), and nobody gives it here"
    )
