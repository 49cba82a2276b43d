"""Graphs and chains without messages: a field takes the text of the user, and a field is the reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NewType, TypedDict

import pytest
from kinds import recorded
from msgspec.structs import replace
from shop import CRITERIA, TOOLS, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Invocation, Message, Part

pytestmark = [pytest.mark.agents, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage, BaseMessage  # noqa: E402
from langchain_core.output_parsers import StrOutputParser  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder  # noqa: E402
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnablePassthrough, RunnableSequence  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import START, StateGraph  # noqa: E402
from langgraph.types import interrupt  # noqa: E402
from langgraph_shop import ScriptedChat  # noqa: E402


def replies(recording: Recording) -> list[str | None]:
    """Return the replies of a conversation that did not break."""
    assert recording.failure is None, recording.failure
    return [invocation.reply for invocation in recording.trace.invocations]


class Joke(TypedDict):
    """The state of LangGraph's tutorial on prompt chaining."""

    topic: str
    joke: str
    improved_joke: str


def joke_chain(**options: Any) -> Any:
    """Write a joke, and then a better one."""
    graph = StateGraph(Joke)
    graph.add_node("write", lambda state: {"joke": f"A {state['topic']} walks in."})
    graph.add_node("improve", lambda state: {"improved_joke": f"{state['joke']} Twice!"})
    graph.add_edge(START, "write").add_edge("write", "improve")
    return graph.compile(**options)


def test_the_last_field_that_a_graph_writes_is_the_reply() -> None:
    """The field `topic` takes the text, and the whole state is the final state."""
    one = recorded(joke_chain(), "cat", "dog")
    assert replies(one) == ["A cat walks in. Twice!", "A dog walks in. Twice!"]
    assert one.trace.final_state == {
        "topic": "dog",
        "joke": "A dog walks in.",
        "improved_joke": "A dog walks in. Twice!",
    }


def test_a_checkpointer_keeps_the_state() -> None:
    """The second message goes to the same thread."""
    assert replies(recorded(joke_chain(checkpointer=InMemorySaver()), "cat", "dog"))[1] == "A dog walks in. Twice!"


@dataclass
class Rag:
    """The state of LangChain's tutorial on retrieval."""

    question: str
    context: list[str]
    answer: str
    steps: int = 0


def test_question_context_and_answer_are_mapped() -> None:
    """The answer is the reply although another field is written last, and the model's tokens are counted."""
    graph = StateGraph(Rag)
    graph.add_node("retrieve", lambda state: {"context": [f"about {state.question}"]})
    graph.add_node("generate", lambda state: {"answer": ScriptedChat().invoke(state.question).text})
    graph.add_node("count", lambda _: {"steps": 3})
    graph.add_edge(START, "retrieve").add_edge("retrieve", "generate").add_edge("generate", "count")
    one = recorded(graph.compile(), "hello", session=SessionInput(state={"context": [], "answer": ""}))
    assert replies(one) == ["You said: hello"]
    assert one.trace.final_state is not None
    assert one.trace.final_state["context"] == ["about hello"]
    assert len(one.trace.invocations[0].usages or ()) == 1


Query = NewType("Query", str)


def test_a_name_for_a_text_is_a_text() -> None:
    """The field was passed over, because its type was none of those known."""

    class Search(TypedDict):
        query: Query
        limit: int

    graph = StateGraph(Search).add_node("find", lambda state: {"limit": len(state["query"])})
    assert replies(recorded(graph.add_edge(START, "find").compile(), "lamp")) == ["4"]


def named_fields() -> Any:
    """A state whose fields say nothing."""

    class State(TypedDict):
        a: str
        b: str
        c: str

    graph = StateGraph(State).add_node("work", lambda state: {"b": f"b of {state['a']}", "c": "no"})
    return graph.add_edge(START, "work").compile()


def mapped_fields() -> Any:
    """The same, with its fields named."""
    return named_fields(), {"input": "a", "output": "b"}


def misspelt_field() -> Any:
    """A field that the state does not have."""
    return named_fields(), {"input": "aa"}


def test_fields_that_say_nothing_are_refused_and_can_be_named() -> None:
    """Nothing is guessed. The message says how to name them."""
    with pytest.raises(UsageError, match=r"its fields are 'a', 'b', 'c'; name the field in a function"):
        find_agent(named_fields())
    assert replies(recorded(f"langgraph:{__name__}:mapped_fields", "x")) == ["b of x"]
    with pytest.raises(UsageError, match="must be a field of the state, 'a', 'b', 'c', got 'aa'"):
        fairtrial.evaluate(saying("x"), f"langgraph:{__name__}:misspelt_field", CRITERIA)


def test_a_chain_of_prompt_and_model_takes_the_variable_of_its_prompt() -> None:
    """LangChain's first chain."""
    chain = ChatPromptTemplate.from_template("{question}") | ScriptedChat() | StrOutputParser()
    assert replies(recorded(chain, "hello", "again")) == ["You said: hello", "You said: again"]


def test_a_chain_that_retrieves_takes_the_text_itself() -> None:
    """`{"context": retriever, "question": RunnablePassthrough()} | prompt | model`."""
    first: Any = {"context": RunnableLambda(lambda text: f"context of {text}"), "question": RunnablePassthrough()}
    chain = first | ChatPromptTemplate.from_template("{question}; {context}") | ScriptedChat()
    assert replies(recorded(chain, "hello")) == ["You said: hello; context of hello"]


def test_an_interrupt_of_a_graph_without_messages_is_answered() -> None:
    """Its question is the reply, and the next message is the answer."""

    class Order(TypedDict):
        request: str
        answer: str

    graph = StateGraph(Order).add_node("ask", lambda _: {"answer": f"A {interrupt('Which size?')} one."})
    compiled = graph.add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    assert replies(recorded(compiled, "a lamp", "large")) == ["Which size?", "A large one."]


def test_a_message_in_a_field_is_its_text() -> None:
    """A node may put the answer of a model into the state as it is."""

    class State(TypedDict):
        question: str
        answer: Any

    graph = StateGraph(State).add_node("say", lambda _: {"answer": AIMessage("hi")})
    assert replies(recorded(graph.add_edge(START, "say").compile(), "hello")) == ["hi"]


def _shout(text: str) -> str:
    return text.upper()


async def _repeat(messages: list[BaseMessage]) -> BaseMessage:
    return AIMessage(" | ".join(str(message.text) for message in messages))


def _join_prompt(prompt: Any) -> str:
    return " | ".join(str(message.text) for message in prompt.to_messages())


def _count(number: int) -> int:
    return number + 1


def _read_name(fields: dict[str, str]) -> str:
    return fields["client"]


RUNNABLES: dict[str, tuple[Any, list[str]]] = {
    "a chat model": (ScriptedChat(), ["You said: hello", "You said: again"]),
    "a model that may try again": (ScriptedChat().with_retry(), ["You said: hello", "You said: again"]),
    "a model and a parser": (ScriptedChat() | StrOutputParser(), ["You said: hello", "You said: again"]),
    "a passthrough and a model": (RunnablePassthrough() | ScriptedChat(), ["You said: hello", "You said: again"]),
    "a branch": (RunnableBranch((bool, ScriptedChat()), ScriptedChat()), ["You said: hello", "You said: again"]),
    "a function of a text": (RunnableLambda(_shout), ["HELLO", "AGAIN"]),
    "a function whose parameter tells": (RunnableLambda(lambda text: f"{text}!"), ["hello!", "again!"]),
    "a function whose type is said": (RunnableLambda(len).with_types(input_type=str), ["5", "5"]),
    "a function of messages": (RunnableLambda(_repeat), ["hello", "hello | hello | again"]),
    "a function that reads a field": (RunnableLambda(_read_name), ["hello", "again"]),
}


@pytest.mark.parametrize("name", RUNNABLES)
def test_a_runnable_gets_what_it_takes(name: str) -> None:
    """The type of its input tells, and a chat model gets the whole conversation."""
    runnable, expected = RUNNABLES[name]
    assert replies(recorded(runnable, "hello", "again")) == expected


def test_calls_of_a_model_alone_are_recorded() -> None:
    """`bind_tools` returns a message with a call and no text. Nobody runs the tool."""
    one = recorded(ScriptedChat().bind_tools([TOOLS["get_order"]]), "Where is A-17?")
    assert replies(one) == [""]
    (call,) = one.trace.invocations[0].tool_calls
    assert (call.name, call.args) == ("get_order", {"order_id": "A-17"})


@pytest.mark.parametrize(
    ("function", "problem"), [(_count, "it takes <class 'int'>"), (lambda x: x, "its parameter 'x' takes")]
)
def test_a_runnable_of_another_kind_is_refused_before_the_run(function: Any, problem: str) -> None:
    """Nothing is guessed. The message says how to name the type."""
    with pytest.raises(UsageError, match=problem):
        find_agent(RunnableLambda(function))


def unknown_runnable() -> Any:
    """A function whose parameter says nothing, with the name of its field."""
    return RunnableLambda(lambda x: [*x]), {"input": "ticket"}


def test_the_field_of_a_runnable_that_says_nothing_can_be_named() -> None:
    """The name was dropped, because no field was known."""
    assert replies(recorded(f"langgraph:{__name__}:unknown_runnable", "x")) == ['["ticket"]']


def test_a_prompt_with_more_variables_is_a_fault_of_the_case() -> None:
    """The state of the case may give them."""
    chain = ChatPromptTemplate([("system", "Speak {language}."), ("human", "{question}")]) | ScriptedChat()
    one = recorded(chain, "hello")
    assert one.failure is not None
    assert one.failure.side == "expectation"
    assert "the prompt needs 'language'" in one.failure.cause
    state = SessionInput("shop", "user", {"language": "German"})
    assert replies(recorded(chain, "hello", session=state)) == ["You said: hello"]


@pytest.mark.parametrize("is_optional", [True, False])
def test_a_chain_with_a_place_for_messages_gets_those_so_far(*, is_optional: bool) -> None:
    """The second turn has the message and the reply of the first one. A case may begin with messages of its own."""
    seen: list[list[str]] = []

    def repeat(prompt: Any) -> str:
        seen.append([str(message.text) for message in prompt.to_messages()])
        return f"reply {len(seen)}"

    place = MessagesPlaceholder("chat_history", optional=is_optional)
    chain = ChatPromptTemplate([place, ("human", "{input}")]) | RunnableLambda(repeat)
    assert replies(recorded(chain, "hello", "again")) == ["reply 1", "reply 2"]
    assert seen == [["hello"], ["hello", "reply 1", "again"]]
    seen.clear()
    state = SessionInput("shop", "user", {"chat_history": [("ai", "Welcome.")]})
    recorded(chain, "hello", "again", session=state)
    assert seen == [["Welcome.", "hello"], ["Welcome.", "hello", "reply 1", "again"]]


@pytest.mark.parametrize("name", ["agent_scratchpad", "examples"])
def test_an_optional_place_for_other_messages_stays_empty(name: str) -> None:
    """The messages so far would stand behind the question, or among the examples."""
    place = MessagesPlaceholder(name, optional=True)
    chain = ChatPromptTemplate([("human", "{input}"), place]) | RunnableLambda(_join_prompt)
    assert replies(recorded(chain, "one", "two")) == ["one", "two"]


def test_the_history_is_found_beside_a_scratchpad() -> None:
    """A prompt of LangChain's agents has both."""
    places = ("placeholder", "{chat_history}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")
    chain = ChatPromptTemplate(list(places)) | RunnableLambda(_join_prompt)
    assert replies(recorded(chain, "one", "two")) == ["one", "one | one | two"]


@pytest.mark.parametrize("given", ["you_are_kind", None, {"ai": "Welcome."}])
def test_a_history_that_is_no_list_is_refused_by_the_prompt(given: Any) -> None:
    """A text was split into one message for each character, and None was called a defect of fairtrial."""
    chain = ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{input}")]) | RunnableLambda(_join_prompt)
    one = recorded(chain, "one", session=SessionInput("shop", "user", {"history": given}))
    assert one.failure is not None
    assert "should be a list of base messages" in one.failure.cause
    assert "fairtrial" not in one.failure.cause


def test_the_schema_of_a_chain_is_not_made_again_for_each_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain takes milliseconds for it."""
    made: list[Any] = []
    original = RunnableSequence.get_input_jsonschema

    def make(chain: Any, **options: Any) -> Any:
        made.append(chain)
        return original(chain, **options)

    monkeypatch.setattr(RunnableSequence, "get_input_jsonschema", make)
    chain = ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{input}")]) | RunnableLambda(_join_prompt)
    recorded(chain, "one")
    once = len(made)
    recorded(chain, "one", "two", "three")
    assert once > 0
    assert len(made) == 2 * once


@pytest.mark.parametrize("name", ["a chat model", "a function of a text", "a function of messages"])
def test_a_state_that_a_runnable_has_no_place_for_is_a_fault_of_the_case(name: str) -> None:
    """It was dropped without a word."""
    one = recorded(RUNNABLES[name][0], "hello", session=SessionInput("shop", "user", {"language": "German"}))
    assert one.failure is not None
    assert one.failure.side == "expectation"
    assert "the state of session_input has 'language'" in one.failure.cause


def test_a_picture_does_not_fit_into_a_field() -> None:
    """It was dropped without a word."""
    message = Message("Look", parts=(Part("image/png", "https://example.com/cat.png"),))
    eval_set = saying("Look")
    case = replace(eval_set.cases[0], conversation=(Invocation(message),))
    for runnable in (joke_chain(), RunnableLambda(_shout)):
        ((_, one),) = fairtrial.evaluate(replace(eval_set, cases=(case,)), runnable, CRITERIA).recordings
        assert one.failure is not None
        assert one.failure.side == "expectation"
        assert one.failure.cause.startswith("the message is for a field that takes a text, ")


def _ask_model(input: Any) -> dict[str, Any]:  # noqa: A002
    return {"question": input["messages"][-1].content}


def _get_latest(input: Any) -> Any:  # noqa: A002
    return input.get("messages")[-1].content


async def _wait(data: Any) -> Any:
    return data["messages"][-1].content


class _Callable:
    """An object whose method is the function."""

    def __call__(self, x: Any) -> Any:
        return x["messages"][-1].content


def _read_dictionary(input: dict[str, Any]) -> str:  # noqa: A002
    return f"{input['messages'][-1].content}"


def _hand_on(input: dict[str, Any]) -> str:  # noqa: A002
    return str(_read_latest(input))


def _read_latest(x: Any) -> Any:
    return x["messages"][-1].content


def _strip(input: Any) -> str:  # noqa: A002
    return str(input["question"].strip())


def _delegate(text: Any) -> Any:
    output = {"messages": [text]}
    return output["messages"][-1]


_QUESTION = ChatPromptTemplate.from_template("{question}") | ScriptedChat() | StrOutputParser()
_LATEST: Any = {"question": lambda x: x["messages"][-1].content}
_RETRIEVING = RunnablePassthrough.assign(question=lambda x: x["messages"][-1].content)
_IS_LONG = RunnableBranch((lambda x: len(x["messages"]) > 1, lambda _: "long"), lambda _: "short")
READERS: dict[str, tuple[Any, list[str]]] = {
    "a function before a prompt": (
        RunnableLambda(_ask_model) | _QUESTION,
        ["You said: hello", "You said: again"],
    ),
    "get": (RunnableLambda(_get_latest), ["hello", "again"]),
    "an async function": (RunnableLambda(_wait), ["hello", "again"]),
    "a bound method": (RunnableLambda(_Callable().__call__), ["hello", "again"]),
    "a function of a dictionary": (RunnableLambda(_read_dictionary), ["hello", "again"]),
    "a dictionary for a helper": (RunnableLambda(_hand_on), ["hello", "again"]),
    "a comprehension": (RunnableLambda(lambda x: [one.text for one in x["messages"]][-1]), ["hello", "again"]),
    "a parallel step": (_LATEST | _QUESTION, ["You said: hello", "You said: again"]),
    "an assignment": (_RETRIEVING | _QUESTION, ["You said: hello", "You said: again"]),
    "a condition": (_IS_LONG, ["short", "long"]),
    "a field inside a longer expression": (RunnableLambda(_strip), ["hello", "again"]),
    "messages of another dictionary": (RunnableLambda(_delegate), ["hello", "again"]),
}


@pytest.mark.parametrize("name", READERS)
def test_a_function_gets_the_keys_that_its_code_reads(name: str) -> None:
    """Code that reads `messages` of its parameter gets a state with `messages`, whatever the parameter's name."""
    runnable, expected = READERS[name]
    assert replies(recorded(runnable, "hello", "again")) == expected


def test_a_model_alone_takes_no_message_after_a_call() -> None:
    """Providers refuse a conversation in which a call has no result. Nobody runs the tool."""
    prompt = ChatPromptTemplate([("placeholder", "{messages}")])
    model = ScriptedChat().bind_tools([TOOLS["get_order"]])
    for runnable in (model, prompt | model):
        one = recorded(runnable, "Where is A-17?", "And now?")
        assert one.failure is not None
        assert one.failure.side == "expectation"
        assert "'get_order'" in one.failure.cause
        assert "nothing runs its tools" in one.failure.cause
