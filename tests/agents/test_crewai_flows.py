"""CrewAI flows are recorded whole, with the crews, agents and models that their steps use."""

from __future__ import annotations

from typing import Annotated, Any, NewType

import pytest
from kinds import recorded
from shop import TOOLS, get_order, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import ToolCall, ToolResult, Usage

pytestmark = [pytest.mark.agents, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
pytest.importorskip("crewai")

from crewai import Agent, Crew, Flow, Task  # noqa: E402
from crewai.flow import human_feedback, listen, start  # noqa: E402
from crewai.flow.flow import FlowState  # noqa: E402
from crewai.tools import tool  # noqa: E402
from crewai_shop import ScriptedLLM  # noqa: E402
from pydantic import BaseModel, StringConstraints, create_model  # noqa: E402
from pydantic_core import core_schema  # noqa: E402
from typing_extensions import TypeAliasType  # noqa: E402


class State(BaseModel):
    """The memory of the flow."""

    id: str = ""
    message: str = ""
    name: str = ""
    greetings: int = 0
    heard: list[str] = []


def agent(role: str = "finder", llm: Any = None) -> Any:
    """An agent with the tools of the shop."""
    tools = [tool(function) for function in TOOLS.values()]
    return Agent(role=role, goal="Sell.", backstory="You are kind.", llm=llm or ScriptedLLM(), tools=tools)


class Shop(Flow[State]):  # type: ignore[misc]
    """A crew looks, an agent greets."""

    @start()  # type: ignore[untyped-decorator]
    def look(self) -> Any:
        """Let a crew look."""
        self.state.heard.append(self.state.message)
        finder = agent()
        task = Task(description="{question}", expected_output="Facts", agent=finder)
        return Crew(agents=[finder], tasks=[task]).kickoff(inputs={"question": self.state.message}).raw

    @listen(look)  # type: ignore[untyped-decorator]
    def greet(self, facts: str) -> str:
        """Let an agent greet."""
        self.state.greetings += 1
        greeting = agent("greeter").kickoff(f"greet {self.state.name}").raw
        return f"{greeting} {facts} ({len(self.state.heard)})"


def recorded_with(make: Any, *queries: str, **options: Any) -> Any:
    """What is recorded with flows that a function makes."""
    globals()["make"] = make
    return recorded(f"crewai:{__name__}:make", *queries, **options)


def test_the_crews_and_agents_of_the_steps_are_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    """The output of the last step is the reply, and the state lasts from message to message."""
    state = SessionInput(state={"name": "Kim", "greetings": 5})
    recording = recorded_with(Shop, "Where is A-17?", "hello", session=state)
    assert recording.failure is None, recording.failure.traceback
    first, second = recording.trace.invocations
    assert first.reply == "You said: greet Kim Your teapot is shipped. (1)"
    assert second.reply == "You said: greet Kim You said: hello (2)"
    (call,) = [step for step in first.steps if isinstance(step, ToolCall)]
    (result,) = [step for step in first.steps if isinstance(step, ToolResult)]
    assert (call.name, call.args, call.author) == ("get_order", {"order_id": "A-17"}, "finder")
    assert (result.response, result.id) == (get_order("A-17"), call.id)
    assert [one.name for one in first.about.agents] == ["finder", "greeter"]
    assert first.usages == (Usage(10, 5, model="scripted"),) * 3
    assert recording.trace.final_state["heard"] == ["Where is A-17?", "hello"]
    assert recording.trace.final_state["greetings"] == 7
    assert capfd.readouterr().out == ""


def test_an_environment_answers_for_the_tools_of_the_steps() -> None:
    """The real tool is not asked."""
    injection = {"injected_response": {"item": "nothing"}}
    config = {"tool_simulation_configs": [{"tool_name": "get_order", "injection_configs": [injection]}]}
    globals()["make"] = Shop
    run = fairtrial.evaluate(
        saying("Where is A-17?"), f"crewai:{__name__}:make", {"response_match_score": 0.5}, environment=config
    )
    ((_, recording),) = run.recordings
    (result,) = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert result.response == {"item": "nothing"}


def test_flows_at_once_do_not_mix() -> None:
    """Each conversation has the state and the calls of its own."""
    globals()["make"] = Shop
    cases = tuple(saying(f"hello {i}", f"again {i}", name=str(i)).cases[0] for i in range(8))
    run = fairtrial.evaluate(
        fairtrial.EvalSet("many", cases), f"crewai:{__name__}:make", {"response_match_score": 0.0}, concurrency=8
    )
    for _, recording in run.recordings:
        assert recording.failure is None, recording.failure.traceback
        assert [turn.reply for turn in recording.trace.invocations] == [
            f"You said: greet You said: hello {recording.case_id} (1)",
            f"You said: greet You said: again {recording.case_id} (2)",
        ]
        assert [len(turn.usages or ()) for turn in recording.trace.invocations] == [2, 2]


def test_a_question_of_a_step_is_the_reply() -> None:
    """The next message is the answer, and the step goes on. So is the feedback that a step asks for."""

    class Asking(Flow):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def ask_colour(self) -> str:
            return f"{self.state['message']}: {self.ask('Which colour?')}"

        @listen(ask_colour)  # type: ignore[untyped-decorator]
        @human_feedback(message="Is this right?")  # type: ignore[untyped-decorator]
        def check(self, text: str) -> str:
            return text

        @listen(check)  # type: ignore[untyped-decorator]
        def close(self, result: Any) -> str:
            return f"{result.output}, {result.feedback}"

    recording = recorded_with(Asking, "paint", "green", "yes")
    assert recording.failure is None, recording.failure.traceback
    assert [turn.reply for turn in recording.trace.invocations] == [
        "Which colour?",
        "paint: green\n\nIs this right?",
        "paint: green, yes",
    ]


def test_the_factory_names_the_field_of_the_message() -> None:
    """Without a name and without `message`, the fields are named once for the run."""

    class Fields(BaseModel):
        id: str = ""
        topic: str = ""
        draft: str = ""

    class Writing(Flow[Fields]):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def write(self) -> str:
            return f"About {self.state.topic}"

    assert recorded_with(lambda: (Writing(), {"message": "topic"}), "cats").trace.invocations[0].reply == "About cats"
    with pytest.raises(UsageError, match="its fields are topic, draft"):
        recorded_with(Writing, "cats")


class Titled(BaseModel):
    """A state with one field for a text."""

    question: str | None = None
    count: int = 0


@pytest.mark.parametrize(
    ("base", "initial"),
    [(Flow, None), (Flow[dict], None), (Flow, {"count": 3}), (Flow[Titled], None), (Flow, Titled), (Flow, Titled())],
    ids=["no type", "dict", "a dict", "a model", "the class of a model", "a model that exists"],
)
def test_a_state_of_any_type_gets_the_message(base: Any, initial: Any) -> None:
    """In a dict it is `message`, and in a model the only field that takes a text. A number takes none."""

    class Echo(base):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def say(self) -> str:
            state = self.state if isinstance(self.state, dict) else self.state.model_dump()
            return str(state.get("message") or state.get("question"))

    if initial is not None:
        Echo.initial_state = initial
    turns = recorded_with(Echo, "hello", "again").trace.invocations
    assert [turn.reply for turn in turns] == ["hello", "again"]


class Shouted:
    """A class of the user that makes itself from a text."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        """Return the schema of a text that is written in capitals."""
        return core_schema.no_info_after_validator_function(str.upper, core_schema.str_schema())


Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]
TEXTS: dict[str, tuple[Any, str]] = {
    "an optional text with constraints": (Stripped | None, "hello"),
    "a name for a text": (NewType("Query", str), "hello"),
    "an alias of a text": (TypeAliasType("Line", str | None), "hello"),
    "a class that takes a text": (Shouted, "HELLO"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_field_named_message_may_have_any_type_that_takes_a_text(name: str) -> None:
    """A type that is not known is no reason to refuse the flow."""
    annotation, reply = TEXTS[name]
    fields: Any = create_model("Fields", id=(str, ""), message=(annotation, ""), count=(int, 0))

    class Echo(Flow[fields]):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def say(self) -> str:
            return str(self.state.message)

    assert recorded_with(Echo, "hello").trace.invocations[0].reply == reply


@pytest.mark.parametrize("annotation", [int, bool, list[str], Annotated[dict[str, str], "fields"], Titled])
def test_a_message_that_takes_no_text_is_passed_over(annotation: Any) -> None:
    """The only field that takes a text gets it."""
    fields: Any = create_model("Fields", id=(str, ""), message=(annotation | None, None), topic=(Stripped, ""))

    class Echo(Flow[fields]):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def say(self) -> str:
            return f"{self.state.message} {self.state.topic}"

    assert recorded_with(Echo, "hello").trace.invocations[0].reply == "None hello"


def test_a_state_without_a_field_for_a_text_is_refused() -> None:
    """CrewAI would refuse the text for a number, as an error of the agent."""

    class Counted(BaseModel):
        count: int = 0

    class Counting(Flow[Counted]):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def say(self) -> str:
            return str(self.state.count)

    with pytest.raises(UsageError, match=r"needs a field for the text of the user's message.*its fields are count"):
        recorded_with(Counting, "hello")


class Ordered(BaseModel):
    """A state that CrewAI cannot begin with."""

    message: str
    order: int


class Ordering(Flow[Ordered]):  # type: ignore[misc]
    """A flow that needs a state."""

    @start()  # type: ignore[untyped-decorator]
    def say(self) -> str:
        """Echo the message."""
        return f"{self.state.message} {self.state.order}"


def test_a_class_whose_state_needs_values_is_refused_before_anything_runs() -> None:
    """CrewAI makes the state before the first message, so that every conversation would fail."""
    with pytest.raises(
        UsageError, match=r"the flow Ordering needs values for message, order, .*initial_state="
    ) as told:
        find_agent(f"crewai:{__name__}:Ordering")
    assert told.value.code == "unusable-agent"


class BegunOrdering(Flow[Ordered]):  # type: ignore[misc]
    """A flow that gives its state itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(initial_state=Ordered(message="", order=7), **options)

    @start()  # type: ignore[untyped-decorator]
    def say(self) -> str:
        """Echo the message."""
        return f"{self.state.message} {self.state.order}"


def test_a_class_that_gives_its_state_itself_is_not_refused() -> None:
    """CrewAI makes no state then."""
    assert recorded_with(BegunOrdering, "hello").trace.invocations[0].reply == "hello 7"
    assert callable(find_agent(f"crewai:{__name__}:BegunOrdering"))


class Begun(FlowState):  # type: ignore[misc]
    """A state that needs a value."""

    message: str


class Echo(Flow):  # type: ignore[misc]
    """A flow that names the class of its state in an attribute."""

    initial_state = Begun

    @start()  # type: ignore[untyped-decorator]
    def say(self) -> str:
        """Echo the message."""
        return str(self.state.message)


def test_a_class_of_a_state_in_an_attribute_is_refused_alike() -> None:
    """CrewAI keeps it as the default of a field."""
    with pytest.raises(UsageError, match="the flow Echo needs values for message,"):
        find_agent(f"crewai:{__name__}:Echo")


def test_a_factory_whose_state_needs_values_ends_the_run() -> None:
    """It is a mistake of the setup, and not of the agent."""
    with pytest.raises(UsageError, match="the flow Ordering needs values for message, order"):
        recorded_with(lambda: Ordering(), "hello")  # noqa: PLW0108


def test_a_factory_gives_the_values_of_the_state() -> None:
    """As the refusal says."""
    found = recorded_with(lambda: Ordering(initial_state=Ordered(message="", order=7)), "hello")
    assert found.trace.invocations[0].reply == "hello 7"


def test_a_model_that_a_step_asks_itself_is_counted() -> None:
    """CrewAI counts its tokens for all flows together, so that they are not recorded."""

    class Direct(ScriptedLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> Any:
            self._invoke_before_llm_call_hooks(messages, None)
            return self._invoke_after_llm_call_hooks(messages, "Fine.", None)

    class Plain(Flow):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def think(self) -> Any:
            return Direct().call([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}])

    (turn,) = recorded_with(Plain, "hello").trace.invocations
    assert (turn.reply, turn.usages) == ("Fine.", (Usage(model="scripted"),))
    assert [(one.name, one.instructions) for one in turn.about.agents] == [("Plain", "Be kind.")]


def test_an_agent_that_conversations_share_is_refused() -> None:
    """Its calls would be recorded in the wrong conversation."""
    shared = agent("shared")

    class Sharing(Flow):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def say(self) -> Any:
            return shared.kickoff(self.state["message"]).raw

    globals()["make"] = Sharing
    cases = tuple(saying(f"hello {i}", name=str(i)).cases[0] for i in range(2))
    run = fairtrial.evaluate(
        fairtrial.EvalSet("two", cases), f"crewai:{__name__}:make", {"response_match_score": 0.0}, concurrency=1
    )
    first, second = (recording for _, recording in run.recordings)
    assert first.failure is None, first.failure.traceback
    assert second.failure is not None
    assert "the agent 'shared' is shared by conversations" in second.failure.cause
