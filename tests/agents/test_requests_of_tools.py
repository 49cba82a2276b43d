"""A request that a tool makes to a model itself is a model call, although no agent reports it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import importlib.util
import threading
from functools import partial
from types import FunctionType
from typing import Any

import pytest
import shop
from kinds import every, reached

import fairtrial
from fairtrial.agents.nested_runs import ToolAtWork, open_conversation, tool_at_work
from fairtrial.records.trace import Invocation, ToolCall, Usage
from fairtrial.system.replaced_methods import ORIGINAL
from loopback import Action, Loopback, Request, Say, Status
from wires import Call, Piece, answer

requests: Any = importlib.import_module("requests") if importlib.util.find_spec("requests") else None
http: Any = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
ASK = {"model": "m", "messages": [{"role": "user", "content": "Is it safe?"}]}
MODELS = {
    "v1/chat/completions": ASK,
    "v1/responses": ASK,
    "v1/messages": ASK,
    "v1beta/models/gemini:generateContent": {"contents": []},
    "model/nova/converse": {"messages": []},
    "model/arn:aws:bedrock:eu-west-1:7:inference-profile%2Feu.nova/invoke": {"messages": []},
}
SENT = {"to": "+49 30 1234", "messages": [{"content": "Your order is on its way."}]}
OTHERS = {
    "v1/models": ASK,
    "chat/completions/7": ASK,
    "surveys/7/answers": ASK,
    "surveys/7/responses": {"answers": [1]},
    "cars/7/responses": {"model": "Golf"},
    "conversations/7/converse": {"messages": []},
    "v1/messages": SENT,
    "api/chat": SENT,
}


def reply(_: Request) -> Say:
    """Answer any request."""
    return Say(raw=b"{}")


def usages(tool: ToolAtWork) -> tuple[Usage, ...] | None:
    """The model calls that the result of the tool holds."""
    return tool.inner.invocations[0].usages if tool.inner else ()


@pytest.mark.parametrize("path", MODELS)
def test_a_request_to_a_model_is_a_call_of_unknown_tokens(path: str) -> None:
    """The price and the tokens of the turn would be too low without it."""
    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        http.post(f"{server.url}/{path}", json=MODELS[path])
    assert usages(tool) == (Usage(),)
    assert tool.inner is not None
    assert tool.inner.incomplete == ""


@pytest.mark.parametrize("path", OTHERS)
def test_another_request_is_no_call(path: str) -> None:
    """Most tools ask services that are no models."""
    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        http.post(f"{server.url}/{path}", json=OTHERS[path])
        http.get(f"{server.url}/v1/responses")
    assert tool.inner is None


def test_a_refused_request_costs_nothing() -> None:
    """Clients try it again, and the second request counts."""
    refusing: list[Action] = [Status(503), Say(raw=b"{}")]
    with (
        Loopback(lambda _: refusing.pop(0), keeps_open=False) as server,
        tool_at_work(ToolCall("ask", {}), None, {}) as tool,
    ):
        for _ in range(2):
            http.post(f"{server.url}/v1/responses", json=ASK)
    assert usages(tool) == (Usage(),)


def test_a_request_that_an_agent_reports_counts_once() -> None:
    """Agents inside tools report their tokens."""
    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        http.post(f"{server.url}/v1/responses", json=ASK)
        tool.items.append(Usage(5, 2))
        http.post(f"{server.url}/v1/responses", json=ASK)
    assert usages(tool) == (Usage(5, 2), Usage())


@pytest.mark.parametrize("body", [b"{}", iter([b"{}"])])
def test_a_model_is_named_by_a_path_or_by_a_body_that_may_name_it(body: Any) -> None:
    """A deployment of Azure is a model. A body that is streamed cannot be read twice."""
    path = "openai/deployments/m/chat/completions" if isinstance(body, bytes) else "v1/responses"
    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        http.post(f"{server.url}/{path}", content=body, headers={"Content-Length": "2"})
    assert usages(tool) == (Usage(),)


class ThroughRequests(http.BaseTransport):  # type: ignore[misc]
    """Sends by the client of another library, as LiteLLM sends by aiohttp."""

    def handle_request(self, request: Any) -> Any:
        """Send a request, and return its response."""
        response = requests.post(str(request.url), request.read(), headers=dict(request.headers), timeout=9)
        return http.Response(response.status_code, content=response.content)


@pytest.mark.skipif(requests is None, reason="needs requests")
def test_a_client_that_sends_by_another_one_counts_once() -> None:
    """Both clients are watched, and see the same request."""
    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        with http.Client(transport=ThroughRequests()) as client:
            for _ in range(2):
                client.post(f"{server.url}/v1/responses", json=ASK)
        requests.post(f"{server.url}/v1/responses", json=ASK, timeout=9)
    assert usages(tool) == (Usage(), Usage(), Usage())


def test_tools_at_once_keep_their_requests_apart() -> None:
    """Each tool has a context of its own."""

    async def ask(url: str, number: int) -> int:
        with tool_at_work(ToolCall("ask", {}), None, {}) as tool:
            async with http.AsyncClient() as client:
                for _ in range(number):
                    await client.post(f"{url}/v1/responses", json=ASK)
        return len(usages(tool) or ())

    async def ask_all(url: str) -> list[int]:
        return await asyncio.gather(*(ask(url, number) for number in range(4)))

    with Loopback(reply, keeps_open=False) as server:
        assert asyncio.run(ask_all(server.url)) == [0, 1, 2, 3]


def test_a_played_tool_asks_no_model_of_the_agent() -> None:
    """The model of a simulated environment has a client of ours, whose tokens are the environment's."""
    pytest.importorskip("httpx2")
    from fairtrial.llm.address import address
    from fairtrial.llm.guarded_client import guarded_client

    async def ask(url: str) -> None:
        async with guarded_client(address("openai/m")) as client:
            await client.post(f"{url}/v1/responses", json=ASK)

    with Loopback(reply, keeps_open=False) as server, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
        contextvars.copy_context().run(asyncio.run, ask(server.url))
    assert tool.inner is None


@every(lambda kind: kind.module not in ("fairtrial", "httpx2", "a2a", "langgraph.graph"))
@pytest.mark.parametrize("is_in_thread", [False, True])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_framework_counts_a_request_of_a_tool(
    kind: str, is_in_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool that looks up C-99 asks a model, with a client of its own, before it answers.

    A thread takes no context over. The classes of all packages are as before in the end.
    """

    class Asking:
        """What the tool waits for."""

        @staticmethod
        def wait() -> None:
            if is_in_thread:
                ask_in_thread(server.url)
            else:
                http.post(f"{server.url}/v1/responses", json=ASK)

    monkeypatch.setattr(shop, "RELEASED", Asking)
    with Loopback(reply, keeps_open=False) as server, reached(kind) as target:
        run = fairtrial.evaluate(shop.saying("Where is C-99?"), target, {"tool_call_count_v1": 1})
    recording = next(run.recordings)[1]
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert invocation.reply.endswith("I waited.")
    assert count_untold(invocation) == 1
    assert recording.trace.incomplete == ""
    assert list_replaced() == []


def list_replaced() -> list[str]:
    """The methods of classes that are replaced now."""
    classes = [one for one in gc.get_objects() if isinstance(one, type)]
    return [
        f"{one.__module__}.{one.__qualname__}.{name}"
        for one in classes
        for name, method in list(vars(one).items())
        if isinstance(method, FunctionType) and ORIGINAL in method.__dict__
    ]


def ask_in_thread(url: str) -> None:
    """Ask a model in a thread without a context."""
    thread = threading.Thread(target=lambda: http.post(f"{url}/v1/responses", json=ASK))
    thread.start()
    thread.join()


def test_a_thread_among_several_conversations_leaves_calls_unknown() -> None:
    """Nobody knows whose request it is. A tool of one conversation is known."""
    with Loopback(reply, keeps_open=False) as server, open_conversation() as first:
        with tool_at_work(ToolCall("ask", {}), None, {}) as tool:
            ask_in_thread(server.url)
        assert (usages(tool), first.gap) == ((Usage(),), "")
        with contextvars.copy_context().run(open_conversation) as second:
            ask_in_thread(server.url)
            assert first.gap == second.gap
        assert "model calls may be missing" in first.gap
    assert list_replaced() == []


def test_a_thread_outside_of_tools_leaves_calls_unknown() -> None:
    """Unless the adapter compares all requests with the calls that its framework reports."""
    with Loopback(reply, keeps_open=False) as server, open_conversation() as conversation:
        requests: list[bool] = []
        conversation.requests = requests
        with tool_at_work(ToolCall("ask", {}), None, {}) as tool:
            ask_in_thread(server.url)
        assert (len(requests), usages(tool), conversation.gap) == (1, (Usage(),), "")
        ask_in_thread(server.url)
        assert (len(requests), conversation.gap) == (2, "")
        conversation.requests = None
        with tool_at_work(ToolCall("ask", {}), None, {}), tool_at_work(ToolCall("ask", {}), None, {}):
            ask_in_thread(server.url)
        assert conversation.gap


def test_a_request_of_a_metric_is_no_call_of_the_agent() -> None:
    """It runs in the thread of the event loop, or in one that takes the context over."""

    async def ask_both(url: str) -> str:
        with open_conversation() as conversation, tool_at_work(ToolCall("ask", {}), None, {}) as tool:
            ask = partial(http.post, f"{url}/v1/responses", json=ASK)
            contextvars.Context().run(ask)
            await asyncio.get_running_loop().run_in_executor(None, contextvars.Context().run, ask)
            assert tool.inner is None
            return conversation.gap

    with Loopback(reply, keeps_open=False) as server:
        assert asyncio.run(ask_both(server.url)) == ""


def count_untold(invocation: Invocation) -> int:
    """Return the number of model calls without tokens, also inside tools."""
    return sum(usage.total_tokens is None for usage in invocation.all_usages or ())


@pytest.mark.agents
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_langgraph_counts_a_request_that_langchain_does_not_report() -> None:
    """LangChain reports the requests of its own models. The others are the difference."""
    openai_models = pytest.importorskip("langchain_openai")
    from langchain.agents import create_agent

    moves: list[Piece] = [Call("ask_advisor", {}), "It is safe."]

    def script(request: Request) -> Action:
        return reply(request) if request.path.endswith("/responses") else answer(request, moves.pop(0))

    def ask_advisor() -> str:
        """Ask the advisor."""
        http.post(f"{server.url}/v1/responses", json=ASK)
        return "It is."

    with Loopback(script, keeps_open=False) as server:
        model = openai_models.ChatOpenAI(model="gpt-4.1", base_url=f"{server.url}/v1", api_key="none")
        agent = create_agent(model, [ask_advisor])
        run = fairtrial.evaluate(shop.saying("Is it safe?"), agent, {"tool_call_count_v1": 1})
    (invocation,) = next(run.recordings)[1].trace.invocations
    assert invocation.reply == "It is safe."
    assert (len(invocation.all_usages or ()), count_untold(invocation)) == (3, 1)
