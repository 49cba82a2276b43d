"""Runs of Agno that wait for a decision, a value, a choice or a result go on, also inside workflows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kinds import recorded
from shop import saying

import fairtrial
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("agno")

from agno.agent import Agent  # noqa: E402
from agno.db.in_memory import InMemoryDb  # noqa: E402
from agno.models.response import ModelResponse  # noqa: E402
from agno.team import Team  # noqa: E402
from agno.tools import tool  # noqa: E402
from agno.tools.user_feedback import UserFeedbackTools  # noqa: E402
from agno.workflow import HumanReview, Router, Step, Workflow  # noqa: E402
from agno_shop import ScriptedModel  # noqa: E402

RAN: list[Any] = []


class Calling(ScriptedModel):
    """Calls the tool of the agent once, then tells its result."""

    async def ainvoke(self, messages: Any, **options: Any) -> Any:
        """Answer a request."""
        response = await super().ainvoke(messages, **options)
        if messages[-1].role == "tool":
            return ModelResponse(role="assistant", content=f"Result: {messages[-1].get_content_string()}")
        function = {"name": options["tools"][0]["function"]["name"], "arguments": json.dumps(self.arguments())}
        response.content, response.tool_calls = None, [{"id": "1", "type": "function", "function": function}]
        return response

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call."""
        return {"to": "Kim"}


@tool(requires_user_input=True, user_input_fields=["to"])  # type: ignore[untyped-decorator]
def send(to: str) -> str:
    """Send a letter."""
    RAN.append(to)
    return f"sent to {to}"


@tool(requires_user_input=True, user_input_fields=["to", "copies"])  # type: ignore[untyped-decorator]
def post(to: str, copies: int) -> str:
    """Send letters."""
    RAN.append((to, copies))
    return f"sent {copies} to {to}"


@tool(requires_confirmation=True)  # type: ignore[untyped-decorator]
def cancel(to: str) -> str:
    """Cancel a letter."""
    RAN.append(to)
    return f"cancelled {to}"


@tool(external_execution=True)  # type: ignore[untyped-decorator]
def look_up(to: str) -> str:
    """Look up an address."""
    return to


class LeavingOut(Calling):
    """Leaves the values to the user."""

    def arguments(self) -> dict[str, Any]:
        """No arguments."""
        return {}


def make_agent(*tools: Any, model: type[ScriptedModel] = Calling) -> Any:
    """An agent with tools."""
    RAN.clear()
    return Agent(name="shop", model=model(), tools=list(tools), telemetry=False)


def make_flow(*steps: Any, **options: Any) -> Any:
    """A workflow with a database."""
    return Workflow(name="flow", steps=list(steps), telemetry=False, **{"db": InMemoryDb(), **options})


def replies(recording: Any) -> list[str]:
    """The replies of a conversation that did not break."""
    assert recording.failure is None, recording.failure
    return [invocation.reply for invocation in recording.trace.invocations]


@pytest.mark.parametrize("is_inside", [False, True])
def test_the_user_gives_the_value_that_a_tool_asks_for(is_inside: bool) -> None:
    """The question is the reply, and the next message is the value."""
    agent = make_agent(send, model=LeavingOut)
    target = make_flow(Step(name="step", agent=agent)) if is_inside else agent
    recording = recorded(target, "Write a letter.", "Lee")
    assert replies(recording) == ["send needs to (str)", "Result: sent to Lee"]
    assert RAN == ["Lee"]
    steps = [step for invocation in recording.trace.invocations for step in invocation.steps or ()]
    assert [type(step) for step in steps if not isinstance(step, Message)] == [ToolCall, ToolResult]
    assert [step.response for step in steps if isinstance(step, ToolResult)] == ["sent to Lee"]


def test_a_value_that_the_model_gives_is_not_asked_for() -> None:
    """So do the examples of Agno."""
    assert replies(recorded(make_agent(send), "Write a letter.")) == ["Result: sent to Kim"]


def test_several_values_come_as_json() -> None:
    """The question says so."""
    recording = recorded(make_agent(post, model=LeavingOut), "Write letters.", '{"to": "Lee", "copies": 3}')
    assert replies(recording) == ["post needs to (str); copies (int) (a JSON object)", "Result: sent 3 to Lee"]


@pytest.mark.parametrize("message", ["Lee", '{"to": "Lee"}', '{"to": "Lee", "copies": "3"}', '{"to": 1, "copies": 3}'])
def test_a_message_without_the_values_is_no_fault_of_the_agent(message: str) -> None:
    """The case does not fit the question."""
    failure = recorded(make_agent(post, model=LeavingOut), "Write letters.", message).failure
    assert failure is not None
    assert failure.side == "expectation"
    assert "to (str), copies (int)" in failure.cause
    assert RAN == []


def test_a_failure_of_the_case_leaves_its_criteria_unscored() -> None:
    """The evidence speaks against the expectation."""
    case = EvalCase("one", (Invocation(Message("Write letters.")), Invocation(Message("Lee"))))
    run = fairtrial.evaluate(
        fairtrial.EvalSet("set", (case,)), make_agent(post, model=LeavingOut), {"tool_call_count_v1": 1}
    )
    (result,) = run.cases
    assert [fault.side for fault in result.invalidations or ()] == ["expectation"]
    assert result.verdict.value == "error"


@pytest.mark.parametrize(("answer", "chosen"), [("Thai, please", "Thai"), ("thai", "Thai"), ("neither", "neither")])
def test_the_user_chooses_what_a_tool_asks(answer: str, chosen: str) -> None:
    """A message that names no option is an answer in own words."""

    class Asking(Calling):
        def arguments(self) -> dict[str, Any]:
            options = [{"label": "Thai"}, {"label": "Greek"}]
            return {"questions": [{"question": "Which?", "header": "Food", "options": options}]}

    recording = recorded(make_agent(UserFeedbackTools(), model=Asking), "Dinner.", answer)
    first, second = replies(recording)
    assert first == "Which? (Thai, Greek)"
    assert chosen in second


@pytest.mark.parametrize(("answer", "ran"), [("yes", ["Kim"]), ('{"to": "Lee"}', ["Lee"]), ("no", [])])
def test_the_user_decides_about_a_call_inside_a_workflow(answer: str, ran: list[str]) -> None:
    """As about a call of an agent alone."""
    flow = make_flow(Step(name="step", agent=make_agent(cancel)))
    recording = recorded(flow, "Cancel it.", answer)
    first, second = replies(recording)
    assert first == 'May I call cancel({"to": "Kim"})? (yes, no, or other arguments as JSON)'
    assert ran == RAN
    assert second.startswith("Result: ")
    (result,) = [step for step in recording.trace.invocations[1].steps or () if isinstance(step, ToolResult)]
    assert result.approval is not None
    assert result.approval.decision == {"yes": "approve", "no": "reject"}.get(answer, "edit")


def test_the_case_decides_inside_a_workflow() -> None:
    """No message of the user is needed."""
    flow = make_flow(Step(name="step", agent=make_agent(cancel)))
    case = EvalCase("one", (Invocation(Message("Cancel it.")),), approvals={"cancel": "approve"})
    (_, recording), *_ = fairtrial.evaluate(
        fairtrial.EvalSet("set", (case,)), flow, {"tool_call_count_v1": 1}
    ).recordings
    assert replies(recording) == ["Result: cancelled Kim"]


class Leader(ScriptedModel):
    """Delegates once, then ends."""

    async def ainvoke(self, messages: Any, **options: Any) -> Any:
        """Answer a request."""
        response = await super().ainvoke(messages, **options)
        if any(message.role == "tool" for message in messages):
            response.content, response.tool_calls = "Leader: done", []
            return response
        task = json.dumps({"member_id": "shop", "task": "cancel"})
        function = {"name": "delegate_task_to_member", "arguments": task}
        response.content, response.tool_calls = None, [{"id": "L1", "type": "function", "function": function}]
        return response


class Counted(Calling):
    """Tells the tokens of each request."""

    async def ainvoke(self, messages: Any, **options: Any) -> Any:
        """Answer a request."""
        usage = (await ScriptedModel.ainvoke(self, messages, **options)).response_usage
        response = await super().ainvoke(messages, **options)
        response.response_usage = usage
        return response


@pytest.mark.parametrize(("decision", "ran"), [("approve", ["Kim"]), ("reject", [])])
def test_a_decision_about_a_call_of_a_member_is_recorded_with_what_follows(decision: Any, ran: list[str]) -> None:
    """Agno goes on with the member outside of the call by which the team asked it. Its request has tokens, too."""
    member = make_agent(cancel, model=Counted)
    team = Team(name="desk", model=Leader(), members=[member], telemetry=False, db=InMemoryDb())
    case = EvalCase("one", (Invocation(Message("Cancel it.")),), approvals={"cancel": decision})
    (_, recording), *_ = fairtrial.evaluate(
        fairtrial.EvalSet("set", (case,)), team, {"tool_call_count_v1": 1}
    ).recordings
    assert replies(recording) == ["Leader: done"]
    assert ran == RAN
    (turn,) = recording.trace.invocations
    (result,) = [step for step in turn.steps or () if isinstance(step, ToolResult) and step.name == "cancel"]
    assert result.approval is not None
    assert result.approval.decision == decision
    assert [usage.total_tokens for usage in turn.all_usages or ()] == [15] * 4


def test_a_workflow_without_a_database_is_no_fault_of_the_agent() -> None:
    """Agno itself cannot go on with it."""
    flow = make_flow(Step(name="step", agent=make_agent(cancel)), db=None)
    failure = recorded(flow, "Cancel it.", "yes").failure
    assert failure is not None
    assert (failure.side, RAN) == ("infrastructure", [])
    assert "InMemoryDb" in failure.cause


def write(step_input: Any) -> Any:
    """A step."""
    from agno.workflow import StepOutput

    RAN.append(step_input.input)
    return StepOutput(content=f"written: {step_input.additional_data or step_input.input}")


@pytest.mark.parametrize(
    ("answer", "reply"), [("yes", "written: Go."), ("no", "Workflow cancelled: Step 'write' was rejected")]
)
def test_a_step_stands_for_a_call(answer: str, reply: str) -> None:
    """The user sees the message of the step."""
    review = HumanReview(requires_confirmation=True, confirmation_message="Publish?", on_reject="cancel")
    RAN.clear()
    recording = recorded(make_flow(Step(name="write", executor=write, human_review=review)), "Go.", answer)
    assert replies(recording) == [
        'May I call write({"message": "Publish?"})? (yes, no, or other arguments as JSON)',
        reply,
    ]


def test_the_user_changes_the_output_of_a_step() -> None:
    """The arguments of the call are the output."""
    review = HumanReview(requires_output_review=True, output_review_message="Well?")
    flow = make_flow(Step(name="write", executor=write, human_review=review))
    first, second = replies(recorded(flow, "Go.", '{"output": "better"}'))
    assert first.startswith('May I call write({"message": "Well?", "output": "written: Go."})?')
    assert second == "better"


def test_the_user_gives_the_values_of_a_step() -> None:
    """They reach the step."""
    schema = [{"name": "tone", "field_type": "str", "description": "how it sounds", "required": True}]
    review = HumanReview(requires_user_input=True, user_input_message="Which tone?", user_input_schema=schema)
    flow = make_flow(Step(name="write", executor=write, human_review=review))
    first, second = replies(recorded(flow, "Go.", "warm"))
    assert first == "Which tone? needs tone (str), how it sounds"
    assert "warm" in second


@pytest.mark.parametrize("answer", ["second", "neither"])
def test_the_user_chooses_a_route(answer: str) -> None:
    """A message that names no route does not fit the question."""
    routes = [Step(name=name, executor=lambda _, name=name: name) for name in ("first", "second")]
    review = HumanReview(requires_user_input=True, user_input_message="Which route?")
    recording = recorded(make_flow(Router(name="route", choices=routes, human_review=review)), "Go.", answer)
    assert recording.trace.invocations[0].reply == "Which route? (first, second)"
    if answer == "second":
        assert replies(recording)[1].endswith("second")
    else:
        assert recording.failure is not None
        assert recording.failure.side == "expectation"


@pytest.mark.parametrize(("answer", "reply"), [("retry", "done"), ("skip", "")])
def test_the_user_decides_about_a_step_that_failed(answer: str, reply: str) -> None:
    """The question tells the error."""
    failures = [ValueError("no paper")]

    def fail_once(_: Any) -> str:
        if failures:
            raise failures.pop()
        return "done"

    review = HumanReview(on_error="pause")
    recording = recorded(
        make_flow(Step(name="write", executor=fail_once, human_review=review, max_retries=0)), "Go.", answer
    )
    first, second = replies(recording)
    assert "no paper" in first
    assert first.endswith("(retry, skip)")
    assert reply in second


def test_a_tool_that_runs_elsewhere_is_answered_by_an_environment() -> None:
    """The injected answer is the result of the call."""
    injection = {"injected_response": {"street": "Main Street"}}
    environment = {"tool_simulation_configs": [{"tool_name": "look_up", "injection_configs": [injection]}]}
    (_, recording), *_ = fairtrial.evaluate(
        saying("Where is Kim?"), make_agent(look_up), {"tool_call_count_v1": 1}, environment=environment
    ).recordings
    assert replies(recording) == ['Result: {"street":"Main Street"}']


def test_a_tool_that_runs_elsewhere_is_no_fault_of_the_agent() -> None:
    """The message says what can answer it."""
    failure = recorded(make_agent(look_up), "Where is Kim?").failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert failure.cause == (
        "shop: look_up runs elsewhere, and nobody gives its result here; a simulated environment can answer it"
    )


def test_a_step_that_cannot_be_recorded_is_no_fault_of_the_agent() -> None:
    """Agno skips a step that fails, so that the workflow itself completes."""
    agent = make_agent(cancel)
    agent.stream = True
    failure = recorded(make_flow(Step(name="step", agent=agent, max_retries=0)), "Cancel it.").failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert failure.cause == "'shop' streams, and a step of a workflow cannot be recorded so"
