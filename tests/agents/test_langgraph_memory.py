"""Chains with a memory of LangChain get each message once, and no memory of another conversation."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded

from fairtrial.records.attempt import Recording
from fairtrial.records.case import SessionInput

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated"),
]
pytest.importorskip("langgraph")

from langchain_core.chat_history import InMemoryChatMessageHistory  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder  # noqa: E402
from langchain_core.runnables import ConfigurableFieldSpec, RunnableLambda, RunnablePassthrough  # noqa: E402
from langchain_core.runnables.history import RunnableWithMessageHistory  # noqa: E402


def _repeat(messages: Any) -> AIMessage:
    """Answer with all texts that the users of a conversation sent to the model."""
    messages = messages.to_messages() if hasattr(messages, "to_messages") else messages
    return AIMessage(" | ".join(message.text for message in messages if message.type == "human"))


class Memory:
    """The histories of an application, by the keys of a conversation."""

    def __init__(self) -> None:
        self.histories: dict[Any, InMemoryChatMessageHistory] = {}

    def open(self, session_id: str) -> InMemoryChatMessageHistory:
        """Return the history of a session."""
        return self.histories.setdefault(session_id, InMemoryChatMessageHistory())

    def open_for_user(self, user_id: str, talk_id: str) -> InMemoryChatMessageHistory:
        """Return the history of a user's talk."""
        return self.histories.setdefault((user_id, talk_id), InMemoryChatMessageHistory())


MODEL = RunnableLambda(_repeat)
IN_MESSAGES = ChatPromptTemplate.from_messages([("system", "{tone}"), MessagesPlaceholder("messages")])
IN_FIELDS = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])


def _remember(memory: Memory, runnable: Any = MODEL, **options: Any) -> Any:
    return RunnableWithMessageHistory(runnable, memory.open, **options)


def _in_fields(memory: Memory) -> Any:
    return _remember(memory, IN_FIELDS | MODEL, input_messages_key="question", history_messages_key="history")


CHAINS: dict[str, Any] = {
    "a model": _remember,
    "a list of messages": lambda memory: _remember(memory).with_types(input_type=list[AIMessage]),
    "a chain": lambda memory: _remember(memory) | RunnablePassthrough(),
    "a later step": lambda memory: RunnablePassthrough() | _remember(memory),
    "tags": lambda memory: _remember(memory).with_config({"tags": ["shop"]}),
    "retries": lambda memory: _remember(memory).with_retry(),
    "fallbacks": lambda memory: _remember(memory).with_fallbacks([_remember(memory)]),
    "a field": _in_fields,
}


def replies(recording: Recording) -> list[str | None]:
    """Return the replies of a conversation that did not break."""
    assert recording.failure is None, recording.failure
    return [invocation.reply for invocation in recording.trace.invocations]


@pytest.mark.parametrize("name", CHAINS)
def test_the_model_gets_each_message_once_and_only_of_its_conversation(name: str) -> None:
    """The chain adds the earlier messages itself. It gets the new message only, and a session for a conversation."""
    memory = Memory()
    chain = CHAINS[name](memory)
    assert replies(recorded(chain, "I am Kim.", "I live in Bern.", "And?")) == [
        "I am Kim.",
        "I am Kim. | I live in Bern.",
        "I am Kim. | I live in Bern. | And?",
    ]
    assert replies(recorded(chain, "I am Lee.", "And?")) == ["I am Lee.", "I am Lee. | And?"]
    assert sorted(len(history.messages) for history in memory.histories.values()) == [4, 6]


def test_a_field_of_messages_gets_the_new_message_and_the_state_of_the_case() -> None:
    """The field `messages` gets the new message only. The other fields of the state come with each message."""
    chain = _remember(Memory(), IN_MESSAGES | MODEL, input_messages_key="messages")
    one = recorded(chain, "I am Kim.", "And?", session=SessionInput(state={"tone": "kind"}))
    assert replies(one) == ["I am Kim.", "I am Kim. | And?"]


def test_a_conversation_gets_each_key_that_the_memory_declares() -> None:
    """A memory may be found by two keys. Each conversation gets a value of its own for both."""
    memory = Memory()
    specs = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "talk_id")]
    chain = RunnableWithMessageHistory(MODEL, memory.open_for_user, history_factory_config=specs)
    for _ in range(2):
        assert replies(recorded(chain, "I am Kim.", "And?")) == ["I am Kim.", "I am Kim. | And?"]
    (first, first_talk), (second, second_talk) = memory.histories
    assert len({first, first_talk, second, second_talk}) == 4


def test_a_session_that_the_application_names_is_kept() -> None:
    """A factory names the session, or the chain is bound to it."""
    memory = Memory()
    bound = _remember(memory).with_config({"configurable": {"session_id": "bound"}})
    assert replies(recorded(bound, "I am Kim.", "And?")) == ["I am Kim.", "I am Kim. | And?"]
    assert replies(recorded(f"langgraph:{__name__}:named_session", "hello", "again")) == ["hello", "hello | again"]
    assert list(memory.histories) == ["bound"]
    assert list(NAMED.histories) == ["named"]


NAMED = Memory()


def named_session() -> Any:
    """Return a chain with a memory, and the name of its session."""
    return _remember(NAMED), {"configurable": {"session_id": "named"}}
