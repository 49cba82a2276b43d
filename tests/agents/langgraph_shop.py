"""The shop as a LangChain agent, its model scripted at LangChain's own seam for chat models."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain.agents import AgentState, create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, move

_numbers = itertools.count(1)


class ScriptedChat(BaseChatModel):  # type: ignore[misc]
    """A chat model that decides as the shop does."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **more: Any) -> Any:
        """Declare tools as OpenAI's models do."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **more)

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        last = max(i for i, message in enumerate(messages) if message.type == "human")
        results = sum(message.type == "tool" for message in messages[last:])
        query = str(messages[last].text)
        declared = [tool["function"]["description"] for tool in options.get("tools") or ()]
        content: Any = ""
        calls = []
        if "think" in query:
            content = [{"type": "reasoning", "reasoning": "Who knows?"}, {"type": "text", "text": "I do."}]
        else:
            one = move(query, results, str([message.content for message in messages] + declared))
            content = one.text
            calls = [{"name": one.call, "args": one.args, "id": f"c{next(_numbers)}"}] if one.call else []
        usage = {
            "input_tokens": PROMPT_TOKENS,
            "output_tokens": REPLY_TOKENS,
            "total_tokens": PROMPT_TOKENS + REPLY_TOKENS,
        }
        message = AIMessage(
            content, tool_calls=calls, usage_metadata=usage, response_metadata={"model_name": "scripted"}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


_shop: dict[str, Any] = {"tools": list(TOOLS.values()), "system_prompt": INSTRUCTIONS, "name": "shop"}
agent = create_agent(ScriptedChat(), **_shop)
saver = InMemorySaver()
remembering = create_agent(ScriptedChat(), checkpointer=saver, **_shop)
chain = ChatPromptTemplate([("system", INSTRUCTIONS), ("placeholder", "{messages}")]) | ScriptedChat()


class Notes(AgentState[Any]):  # type: ignore[misc]
    """A state into which a tool writes."""

    noted: str


@tool("get_order")  # type: ignore[untyped-decorator]
def note_order(order_id: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Look up an order, and note which."""
    said = ToolMessage(f"{order_id} is lost", tool_call_id=tool_call_id)
    return Command(update={"noted": order_id, "messages": [said]})


noting = create_agent(ScriptedChat(), tools=[note_order], state_schema=Notes)


class State(TypedDict, total=False):
    """A state with more than messages."""

    messages: Annotated[list[AnyMessage], add_messages]
    visits: int


def _visit(state: State) -> dict[str, Any]:
    return {"visits": state.get("visits", 0) + 1, "messages": [AIMessage("Welcome.")]}


def _confirm(_: State) -> dict[str, Any]:
    return {"messages": [AIMessage(f"You chose {interrupt('Which one?')}.")]}


counting = StateGraph(State).add_node("visit", _visit).add_edge(START, "visit").add_edge("visit", END)
asking = (
    StateGraph(State)
    .add_node("confirm", _confirm)
    .add_edge(START, "confirm")
    .add_edge("confirm", END)
    .compile(checkpointer=InMemorySaver())
)
asking_twice = (
    StateGraph(State)
    .add_node("confirm", _confirm)
    .add_node("confirm again", _confirm)
    .add_edge(START, "confirm")
    .add_edge(START, "confirm again")
    .compile(checkpointer=InMemorySaver())
)


class Latest(TypedDict):
    """A state whose messages are replaced by what a node returns."""

    messages: list[AnyMessage]


forgetful = (
    StateGraph(Latest)
    .add_node("greet", lambda _: {"messages": [AIMessage("Welcome.")]})
    .add_edge(START, "greet")
    .add_edge("greet", END)
    .compile()
)


def _fail(_: Any) -> dict[str, Any]:
    calls = [{"name": "get_order", "args": {}, "id": "1"}]
    refusal = ToolMessage("No such order.", name="get_order", tool_call_id="1", status="error")
    return {"messages": [AIMessage("", tool_calls=calls), refusal, AIMessage("Sorry.")]}


failing = StateGraph(State).add_node("fail", _fail).add_edge(START, "fail").add_edge("fail", END).compile()


class Silent(TypedDict):
    """A state without messages."""

    text: str


silent = StateGraph(Silent).add_node("say", lambda _: {"text": "hi"}).add_edge(START, "say").compile()


def _asks(*tools: Any) -> Any:
    """A node that asks a model with these tools only."""
    model = ScriptedChat().bind_tools(tools)
    return lambda state: {"messages": [model.invoke(state["messages"])]}


two_models = (
    StateGraph(State)
    .add_sequence([("look", _asks(TOOLS["get_order"])), ("decide", _asks(TOOLS["cancel_order"]))])
    .add_edge(START, "look")
    .compile()
)
