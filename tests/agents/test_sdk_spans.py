"""Functions that call the OpenAI SDKs directly are recorded by their spans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import pytest
from chat_server import ChatServer, Status, Streamed, completion, model
from shop import CRITERIA, EVAL_SET, TOOLS, saying

import fairtrial

pytestmark = pytest.mark.agents
openai = pytest.importorskip("openai")
pytest.importorskip("agents")
pytest.importorskip("openinference.instrumentation.openai")

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled  # noqa: E402

SOURCES: tuple[Literal["messages", "spans"], ...] = ("messages", "spans")
AT: dict[str, str] = {}
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


@pytest.fixture(autouse=True)
def _tracing() -> Iterator[None]:
    set_tracing_disabled(disabled=False)
    yield
    set_tracing_disabled(disabled=True)


def loop_of_tools(url: str) -> Any:
    """Return a function with the loop of OpenAI's guide to function calling: ask, run the tools, ask again."""

    def shop(query: str) -> str:
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
        messages: list[Any] = [{"role": "user", "content": query}]
        while True:
            with openai.OpenAI(base_url=url, api_key="none") as client:
                answer = client.chat.completions.create(model="scripted", messages=messages, tools=tools)
            message = answer.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message)
            for call in message.tool_calls:
                result = TOOLS[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})

    return shop


def make_clerk(client: Any) -> Agent:
    """Return the agent that has the tools."""
    tools = [function_tool(tool) for tool in TOOLS.values()]
    return Agent(name="clerk", model=OpenAIChatCompletionsModel("scripted", client), tools=tools)


async def open_clerk() -> AsyncIterator[Agent]:
    """Open the agent of a conversation with a client of its own."""
    async with openai.AsyncOpenAI(base_url=AT["url"], api_key="none", max_retries=0) as client:
        yield make_clerk(client)


def test_a_loop_around_the_openai_sdk_is_recorded_whole() -> None:
    """The function reports nothing but its reply. Results come from the requests that repeat them."""
    with ChatServer(model) as server:
        run = fairtrial.evaluate(EVAL_SET, loop_of_tools(server.url), CRITERIA, record="spans")
    assert run.summary.verdict == "passed"
    ((_, recording),) = run.recordings
    first, second = recording.trace.invocations
    assert [step.response for step in first.steps or () if isinstance(step, fairtrial.ToolResult)] == [
        {"item": "teapot", "state": "shipped"}
    ]
    assert len(second.usages or ()) == 3
    assert recording.trace.incomplete == ""


def test_a_parsed_answer_of_the_openai_sdk_is_the_reply() -> None:
    """The function returns what the SDK parsed, as JSON, and its tokens come from the spans."""
    from pydantic import BaseModel

    class Order(BaseModel):
        item: str
        state: str

    text = '{"item": "teapot", "state": "shipped"}'
    with ChatServer(lambda _: completion({"role": "assistant", "content": text})) as server:

        def shop(query: str) -> str:
            messages: list[Any] = [{"role": "user", "content": query}]
            with openai.OpenAI(base_url=server.url, api_key="none") as client:
                answer = client.chat.completions.parse(model="scripted", messages=messages, response_format=Order)
            return str(answer.choices[0].message.parsed.model_dump_json())

        run = fairtrial.evaluate(saying("Where is A-17?"), shop, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert json.loads(invocation.reply) == json.loads(text)
    assert invocation.tool_calls == ()
    assert len(invocation.usages or ()) == 1


def test_a_stream_of_the_openai_sdk_says_when_its_first_token_came() -> None:
    """The instrumentation writes it, and the function reports its reply only."""
    rows = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("It is ", "shipped.")]
    body = "".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n"
    with ChatServer(lambda _: Streamed(body.encode())) as server:

        def shop(query: str) -> str:
            messages = [{"role": "user", "content": query}]
            with openai.OpenAI(base_url=server.url, api_key="none") as client:
                chunks = client.chat.completions.create(model="scripted", messages=messages, stream=True)
                return "".join(chunk.choices[0].delta.content for chunk in chunks)

        run = fairtrial.evaluate(saying("Where is A-17?"), shop, {"time_to_first_token_v1": 60}, record="spans")
    assert (run.summary.verdict, run.cases[0].failure) == ("passed", None)


def test_hand_written_orchestration_of_agents_is_recorded() -> None:
    """Two runs of the OpenAI Agents SDK in one function, as in its examples of agent patterns."""
    with ChatServer(model) as server:
        url = server.url

        async def orchestrate(query: str) -> str:
            async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
                found = await Runner.run(make_clerk(client), query)
                polite = Agent(name="polite", model=OpenAIChatCompletionsModel("scripted", client))
                last = await Runner.run(polite, f"Say politely: {found.final_output}")
            return str(last.final_output)

        run = fairtrial.evaluate(saying("Where is A-17?"), orchestrate, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls] == ["get_order"]
    assert invocation.reply == "You said: Say politely: Your teapot is shipped."
    assert len(invocation.usages or ()) == 3
    assert recording.trace.incomplete == ""


@pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")  # the SDK shuts them down in each run
@pytest.mark.parametrize("source", SOURCES)
def test_a_sync_function_keeps_the_loop_of_its_client_between_messages(source: Literal["messages", "spans"]) -> None:
    """`Runner.run_sync` uses the event loop of its thread, and connections of the client belong to that loop."""
    with ChatServer(model) as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="none")
        clerk = make_clerk(client)

        def shop(query: str) -> str:
            reply = str(Runner.run_sync(clerk, query).final_output)
            if "B-42" in query:
                asyncio.get_event_loop().run_until_complete(client.close())
            return reply

        run = fairtrial.evaluate(EVAL_SET, shop, CRITERIA, record=source, concurrency=1)
    ((_, recording),) = run.recordings
    assert recording.failure is None
    assert [turn.reply for turn in recording.trace.invocations] == [
        "Your teapot is shipped.",
        "Order B-42 is cancelled.",
    ]


def test_a_client_of_another_loop_is_infrastructure_and_says_what_to_write() -> None:
    """The connection that is kept belongs to the loop of the first message, and each message has a loop of its own."""
    with ChatServer(model) as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)
        clerk = make_clerk(client)
        loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]  # the first one stays open, as that of a thread

        def shop(query: str) -> str:
            return str(loops["B-42" in query].run_until_complete(Runner.run(clerk, query)).final_output)

        run = fairtrial.evaluate(EVAL_SET, shop, CRITERIA)
        loops[0].run_until_complete(client.close())
    for loop in loops:
        loop.close()
    ((_, recording),) = run.recordings
    assert recording.failure is not None
    assert recording.failure.side == "infrastructure"
    assert "make the client inside of the function" in recording.failure.cause


@pytest.mark.parametrize("status", [429, 529])
@pytest.mark.parametrize("kind", ["function", "adapter"])
def test_a_refused_first_call_is_tried_again_with_spans(status: int, kind: str) -> None:
    """The span of the refused request is no work of the agent."""
    answers: list[Any] = [Status(status, b'{"error": {"message": "slow"}}', {"retry-after": "0"})]
    with ChatServer(lambda body: answers.pop() if answers else model(body)) as server:

        async def shop(query: str) -> str:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
                return str((await Runner.run(make_clerk(client), query)).final_output)

        AT["url"] = server.url
        agent: Any = shop if kind == "function" else f"openai-agents:{__name__}:open_clerk"
        run = fairtrial.evaluate(saying("Where is A-17?"), agent, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls] == ["get_order"]
    assert len(invocation.usages or ()) == 2


def test_spans_beside_an_adapter_change_nothing_that_it_reports() -> None:
    """Both sources hold the same calls, so that the adapter's steps stay."""
    with ChatServer(model) as server:
        AT["url"] = server.url
        agent = f"openai-agents:{__name__}:open_clerk"
        runs = [fairtrial.evaluate(EVAL_SET, agent, CRITERIA, record=source) for source in SOURCES]
    recordings = [recording for run in runs for _, recording in run.recordings]
    plain, with_spans = ([own.steps for own in each.trace.invocations] for each in recordings)
    assert [[(type(step), getattr(step, "name", "")) for step in own or ()] for own in plain] == [
        [(type(step), getattr(step, "name", "")) for step in own or ()] for own in with_spans
    ]
    assert recordings[1].trace.incomplete == ""
