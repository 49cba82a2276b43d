"""Outages count against the infrastructure, whatever agent they stop, and a first call is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import os
import socket
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Reset, Silence
from down_servers import refusing
from kinds import KINDS, every, reached
from shop import Outage, ProviderError, saying

import fairtrial
from fairtrial import api
from fairtrial.agents.outages import find_outage, outage_named
from fairtrial.errors import AgentError, UsageError
from fairtrial.text.languages import speaking
from fairtrial.text.translated_lines import say_sentence

CRITERIA = {"response_match_score": 0.5}
every_local_kind = every(lambda kind: not kind.remote)
every_remote_kind = every(lambda kind: kind.remote)

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second try comes at once."""
    monkeypatch.setattr("fairtrial.agents.restarts._PAUSE", 0.0)


def make_run(target: Any, *queries: str, **options: Any) -> fairtrial.Run:
    """The run of one case."""
    return fairtrial.evaluate(saying(*queries), target, CRITERIA, **options)


@every_local_kind
@pytest.mark.parametrize("status", [429, 503])
def test_an_outage_of_the_provider_is_not_the_agents(kind: str, status: int) -> None:
    """The exception has a status of its own, and passes through the framework. The attempt is invalid."""
    Outage.begin(status)
    with reached(kind) as target:
        run = make_run(target, "outage")
    failure = run.cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert f"HTTP {status}" in failure.cause
    assert failure.cause.endswith("(tried 4 times)")
    assert Outage.calls == 4
    assert run.verdict == "unscored"
    assert run.summary.invalid == {"infrastructure": 1}
    assert run.summary.criteria[0].valid is not None
    assert run.summary.criteria[0].valid.n == 0


@every_local_kind
def test_a_first_call_is_tried_again(kind: str) -> None:
    """Two failures, then a reply: the recording is as it would be without the failures, and the run has a note."""
    Outage.begin(503, calls=2)
    with reached(kind) as target:
        run = make_run(target, "outage", "hello")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    assert [invocation.reply for invocation in recording.trace.invocations] == ["You said: outage", "You said: hello"]
    (note,) = run.summary.notes
    assert note.startswith("1 conversation began again, because the first call failed with a status that may pass")


@every_local_kind
def test_a_later_call_is_not_tried_again(kind: str) -> None:
    """After a tool was called, a second try could call it twice."""
    Outage.begin(503)
    with reached(kind) as target:
        run = make_run(target, "later")
    failure = run.cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert Outage.calls == 1 or KINDS[kind].untold >= {"usages"}


@every_local_kind
def test_a_status_about_the_request_is_the_agents(kind: str) -> None:
    """The agent made the request that the provider does not take. Nothing is tried again."""
    Outage.begin(400)
    with reached(kind) as target:
        run = make_run(target, "outage")
    assert run.verdict == "failed"
    assert run.cases[0].failure is not None
    assert run.cases[0].failure.side == "agent"
    assert "fairtrial/agents/" not in run.cases[0].failure.cause, "an adapter is no code of the user"
    assert Outage.calls == 1


def test_an_outage_that_the_agent_replaces_by_an_error_of_its_own_is_named() -> None:
    """The agent caught the outage, so that it is responsible. The reader sees what happened."""

    def careless(message: str) -> str:
        try:
            raise ProviderError(503)  # noqa: TRY301
        except ProviderError:
            raise KeyError(message)  # noqa: B904  (the handler is what is tested)

    failure = make_run(careless, "hello").cases[0].failure
    assert failure is not None
    assert failure.side == "agent"
    assert failure.cause.endswith("; raised while handling ProviderError: HTTP 503)")


@every_remote_kind
def test_a_target_that_does_not_answer_is_one_error_before_the_run(kind: str, tmp_path: Path) -> None:
    """The server is down: nothing is recorded, and no run is stored."""
    with reached(kind) as target:
        pass
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    with pytest.raises(UsageError, match=r"does not answer.*is the server running\?"):
        make_run(target, "hello", store=store)
    assert not list(api.runs(store))


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (429, 4), (503, 4)])
def test_a_chat_endpoint_that_refuses_is_an_outage(status: int, calls: int) -> None:
    """A refused key is not tried again."""
    with ChatServer(lambda _: status) as server:
        run = make_run(server.url, "hello")
        assert len(server.requests) == calls
    assert run.verdict == "unscored"
    assert run.cases[0].failure is not None
    assert run.cases[0].failure.side == "infrastructure"


def _caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def _reads_from(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=0.05) as connection:
        connection.recv(1)


def _gives_up() -> None:
    raise TimeoutError("timed out")


async def _own_limit() -> None:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()


class _BotocoreError(Exception):
    response = {"ResponseMetadata": {"HTTPStatusCode": 503}}


class _GoogleError(Exception):
    code = HTTPStatus.TOO_MANY_REQUESTS


class _GrpcError(Exception):
    def code(self) -> Any:
        return HTTPStatusLike


class HTTPStatusLike:
    """A member of gRPC's enum."""

    name = "UNAVAILABLE"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (_caused(RuntimeError("the node failed"), ProviderError(529)), 529),
        (ExceptionGroup("all models failed", [ProviderError(500), ProviderError(429)]), 429),
        (_BotocoreError(), 503),
        (_GoogleError(), 429),
        (_GrpcError(), 503),
        (urllib.error.HTTPError("http://x", 502, "bad gateway", None, None), 502),  # type: ignore[arg-type]
        (urllib.error.URLError(ConnectionRefusedError()), None),
        (ConnectionResetError(), None),
        (TimeoutError(110, "the connection timed out"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_exceptions_of_clients_are_outages(error: Exception, status: int | None) -> None:
    """Every client has its own name for the status. Some have none, if no response came."""
    outage = find_outage(error)
    assert outage is not None
    assert outage.status == status


@pytest.mark.parametrize(
    "error",
    [
        _caused(ProviderError(400), ConnectionResetError()),
        ExceptionGroup("two", [ProviderError(503), KeyError("x")]),
        KeyError("x"),
        SystemExit(3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_exceptions_are_the_agents(error: BaseException) -> None:
    """The outermost status decides, and each exception of a group must be an outage."""
    assert find_outage(error) is None


def test_a_limit_of_the_agents_own_is_no_outage() -> None:
    """`asyncio.timeout` in the agent's code."""
    with pytest.raises(TimeoutError) as caught:
        asyncio.run(_own_limit())
    assert find_outage(caught.value) is None


def test_a_response_that_does_not_come_in_time_is_an_outage() -> None:
    """The limit of the socket, as `urllib` sets it."""
    with ChatServer(lambda _: Silence()) as server:
        request = urllib.request.Request(server.url, b"{}", {"content-length": "2"})  # noqa: S310
        with pytest.raises(TimeoutError) as caught:
            urllib.request.urlopen(request, timeout=0.05)  # noqa: S310
    assert find_outage(caught.value) is not None


def test_a_timeout_of_a_socket_in_a_thread_of_an_event_loop_is_an_outage() -> None:
    """Frameworks run functions that block in threads. Python 3.11 hands on a copy without the traceback."""
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(TimeoutError) as caught:
        asyncio.run(asyncio.to_thread(_reads_from, server.getsockname()[:2]))
    assert find_outage(caught.value) is not None


def test_a_timeout_that_the_agent_raises_in_the_words_of_a_socket_is_no_outage() -> None:
    """A statement of the agent raises it."""
    with pytest.raises(TimeoutError) as caught:
        _gives_up()
    assert find_outage(caught.value) is None


@pytest.mark.agents
@pytest.mark.parametrize(("status", "side"), [(429, "infrastructure"), (401, "infrastructure"), (400, "agent")])
def test_a_status_passes_through_the_openai_sdk(status: int, side: str) -> None:
    """The exception of OpenAI's client, with the response of a provider on a socket."""
    sdk: Any = pytest.importorskip("agents.lifecycle") and importlib.import_module("agents")
    openai: Any = importlib.import_module("openai")
    base: Any = importlib.import_module("agents.models.interface").Model
    with ChatServer(lambda _: status) as server:

        class Failing(base):  # type: ignore[misc]
            async def get_response(self, *_: Any, **__: Any) -> Any:
                async with openai.AsyncOpenAI(api_key="none", base_url=server.url, max_retries=0) as client:
                    await client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "hi"}])

            def stream_response(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        run = make_run(sdk.Agent(name="shop", model=Failing()), "hello")
    assert run.cases[0].failure is not None
    assert run.cases[0].failure.side == side


@pytest.mark.agents
@pytest.mark.parametrize(("status", "side"), [(503, "infrastructure"), (403, "agent")])
def test_a_status_passes_through_adk(status: int, side: str) -> None:
    """The exception of Google's client, whose `status` is a word and whose `code` is the status."""
    adk: Any = pytest.importorskip("google.adk.agents")
    base: Any = importlib.import_module("google.adk.models.base_llm").BaseLlm
    errors: Any = importlib.import_module("google.genai.errors")

    class Failing(base):  # type: ignore[misc]
        async def generate_content_async(self, *_: Any, **__: Any) -> Any:
            if status:
                raise errors.APIError(status, {"error": {"status": "SOME_WORD"}})
            yield

    run = make_run(adk.Agent(name="shop", model=Failing(model="scripted")), "hello")
    assert run.cases[0].failure is not None
    assert run.cases[0].failure.side == side


@pytest.mark.agents
@pytest.mark.parametrize(("statuses", "side"), [((503, 429), "infrastructure"), ((503, 400), "agent")])
def test_a_group_of_statuses_passes_through_pydantic_ai(statuses: tuple[int, int], side: str) -> None:
    """A model with a fallback fails with the failures of both models."""
    library: Any = pytest.importorskip("pydantic_ai")
    models: Any = importlib.import_module("pydantic_ai.models.function")
    fallback: Any = importlib.import_module("pydantic_ai.models.fallback")

    def failing(status: int) -> Any:
        def answer(*_: Any) -> Any:
            raise library.ModelHTTPError(status, "scripted")

        return models.FunctionModel(answer)

    agent = library.Agent(fallback.FallbackModel(*map(failing, statuses)))
    failure = make_run(agent, "hello").cases[0].failure
    assert failure is not None
    assert failure.side == side


@pytest.mark.agents
@pytest.mark.parametrize(("status", "side"), [(502, "infrastructure"), (422, "agent")])
def test_a_status_passes_through_langgraph(status: int, side: str) -> None:
    """A node that asks a provider on a socket with httpx."""
    graphs: Any = pytest.importorskip("langgraph.graph")
    httpx: Any = importlib.import_module("httpx")
    with ChatServer(lambda _: status) as server:

        def ask(_: Any) -> Any:
            httpx.post(server.url, json={}).raise_for_status()

        graph = graphs.StateGraph(graphs.MessagesState).add_node("ask", ask).add_edge(graphs.START, "ask").compile()
        failure = make_run(graph, "hello").cases[0].failure
    assert failure is not None
    assert failure.side == side


def test_a_pause_that_the_server_asks_for_is_kept() -> None:
    """A pause of more than a minute is not waited for."""

    class _RefusedError(ProviderError):
        class response:  # noqa: N801
            headers = {"retry-after": "3600"}

    calls = []

    def refuse(message: str) -> str:
        calls.append(message)
        raise _RefusedError(429)

    run = make_run(refuse, "hello")
    assert len(calls) == 1
    assert run.verdict == "unscored"


@pytest.mark.parametrize(
    ("name", "outage"),
    [("RateLimitError", (429, None)), ("ConnectError", (None, None)), ("ValueError", None), ({"a": 1}, None)],
)
def test_the_class_of_an_exception_may_tell_of_an_outage(name: object, outage: object) -> None:
    """A server that tells no status tells the class of the exception of the provider's client."""
    error = AgentError("the server failed")
    error.__cause__ = outage_named(name)
    assert find_outage(error) == outage


def test_a_throttled_model_of_strands_is_an_outage() -> None:
    """Its exception has no status and no cause. Another class of this name is the agent's own."""
    throttled = type("ModelThrottledException", (Exception,), {"__module__": "strands.types.exceptions"})
    own = type("ModelThrottledException", (Exception,), {"__module__": "shop"})
    assert find_outage(throttled("slow down")) == (429, None)
    assert find_outage(own("slow down")) is None


MISSING_KEYS = {
    "openai": "Missing credentials. Please pass an `api_key`, `workload_identity`, `admin_api_key`, or set the "
    "`OPENAI_API_KEY` or `OPENAI_ADMIN_KEY` environment variable.",
    "groq": "The api_key client option must be set either by passing api_key to the client or by setting the "
    "GROQ_API_KEY environment variable",
    "anthropic": '"Could not resolve authentication method. Expected either api_key or auth_token to be set."',
    "google-genai": "No API key was provided. Please pass a valid API key. Learn how to create one",
    "pydantic-ai": "Set the `MISTRAL_API_KEY` environment variable or pass it via `MistralProvider(api_key=...)`",
    "agno": "DEEPSEEK_API_KEY not set. Please set the DEEPSEEK_API_KEY environment variable.",
    "crewai": "OPENAI_API_KEY is required",
    "llama-index": "No API key found for OpenAI.\nPlease set either the OPENAI_API_KEY environment variable",
    "agent-framework": "API key required for mistral. Set MISTRAL_API_KEY environment variable or pass api_key",
}
"""The messages of SDKs that find no key, copied from their code."""


@pytest.mark.parametrize("library", MISSING_KEYS)
def test_a_missing_key_is_not_the_agents(library: str) -> None:
    """Pull requests from forks have no secrets. The request is never sent, so that there is no status."""

    def agent(_: fairtrial.Trace) -> str:
        raise ValueError(MISSING_KEYS[library])

    failure = make_run(agent, "hello").cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"


def test_a_missing_variable_of_a_key_is_not_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent reads the key itself. Any other missing name is its mistake."""
    monkeypatch.delenv("SHOP_API_KEY", raising=False)

    def side(read: Any) -> str:
        def agent(_: fairtrial.Trace) -> str:
            return str(read())

        failure = make_run(agent, "hello").cases[0].failure
        assert failure is not None
        return failure.side

    assert side(lambda: os.environ["SHOP_API_KEY"]) == "infrastructure"
    assert side(lambda: os.environ["SHOP_FOLDER_OF_ORDERS"]) == "agent"
    assert side(lambda: dict[str, str]()["SHOP_API_KEY"]) == "agent"


def test_a_closed_loop_in_a_library_is_not_the_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of a package kept connections of a loop that is gone. An agent that closes its own loop is wrong."""
    lines = ("loop = asyncio.new_event_loop()", "loop.close()", "loop.call_soon(print)")
    source = "\n    ".join(("import asyncio\n\ndef ask(trace):", *lines))
    for folder in ("site-packages", "shop"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"client_in_{folder.partition('-')[0]}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path / folder)
    sides = {}
    for name in ("client_in_site", "client_in_shop"):
        failure = make_run(importlib.import_module(name).ask, "hello").cases[0].failure
        assert failure is not None
        sides[name] = failure.side
    assert sides == {"client_in_site": "infrastructure", "client_in_shop": "agent"}


HTTP: Any = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")


def ask_model(url: str) -> str:
    """Ask a model at a URL, as an agent without an SDK does."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    response = HTTP.post(f"{url}/chat/completions", json=body, timeout=5)
    response.raise_for_status()
    return str(response.json()["choices"][0]["message"]["content"])


def answers(text: str) -> dict[str, Any]:
    """The answer of a model."""
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def test_an_empty_reply_after_a_refused_request_is_not_the_agents() -> None:
    """The function catches the error, and says nothing."""
    with ChatServer(lambda _: 503) as server:

        def silent(_: str) -> str:
            try:
                return ask_model(server.url)
            except HTTP.HTTPError:
                return ""

        failure = make_run(silent, "hi").cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert (
        failure.cause == f"no reply, because a request to the model at {server.url}/chat/completions failed (HTTP 503)"
    )


def test_a_model_that_nobody_reaches_is_not_the_agents() -> None:
    """The connection is refused."""
    with refusing() as url:

        def silent(_: str) -> None:
            with contextlib.suppress(HTTP.HTTPError):
                ask_model(url)

        failure = make_run(silent, "hi").cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert failure.cause.startswith(f"no reply, because a request to the model at {url}/chat/completions failed (")
    assert "ConnectError" in failure.cause


def test_an_error_of_the_agents_own_after_a_refused_request_names_it() -> None:
    """The agent reads an answer that is none. It is at fault, and the reason says what came before."""
    with ChatServer(lambda _: 503) as server:

        def careless(_: str) -> str:
            answer = HTTP.post(f"{server.url}/chat/completions", json={"model": "m", "messages": []}).text
            return str(answer["choices"])

        failure = make_run(careless, "hi").cases[0].failure
    assert failure is not None
    assert failure.side == "agent"
    assert failure.cause.endswith(
        f"; before it, a request to the model at {server.url}/chat/completions failed (HTTP 503)"
    )


def test_a_reply_after_a_refused_request_is_noted() -> None:
    """The agent excuses itself. Whether the model was needed, nobody knows."""
    with ChatServer(lambda _: 429) as server:

        def polite(_: str) -> str:
            try:
                return ask_model(server.url)
            except HTTP.HTTPError:
                return "Sorry, I cannot answer now."

        run = make_run(polite, "hi")
    assert run.cases[0].failure is None
    (note,) = [note for note in run.summary.notes if "request to the model" in note]
    assert note == (
        f"1 message had an answer although a request to the model at {server.url}/chat/completions failed (HTTP 429); "
        "if its attempt failed, the outage may be the cause, and not the agent"
    )


def test_a_request_that_is_answered_at_last_is_no_outage() -> None:
    """As the client of an SDK tries again."""
    answered: list[dict[str, Any] | int] = [answers("You said: hi"), 503]
    with ChatServer(lambda _: answered.pop()) as server:

        def patient(_: str) -> str:
            with contextlib.suppress(HTTP.HTTPError):
                return ask_model(server.url)
            return ask_model(server.url)

        run = make_run(patient, "hi")
    assert run.cases[0].failure is None
    assert not [note for note in run.summary.notes if "request to the model" in note]


def test_an_empty_reply_of_a_second_model_is_not_blamed_on_the_first() -> None:
    """The second provider answers, so that the reply is empty for another reason."""
    with ChatServer(lambda _: 503) as down, ChatServer(lambda _: answers("")) as up:

        def careful(_: str) -> str:
            try:
                return ask_model(down.url)
            except HTTP.HTTPError:
                return ask_model(up.url)

        run = make_run(careful, "hi")
    assert run.cases[0].failure is None
    assert run.summary.invalid == {}
    assert len(up.requests) == 1


def test_an_answer_of_another_model_at_the_same_url_hides_no_failure() -> None:
    """A provider has one URL for all models. The agent asks one of them in vain."""
    with ChatServer(lambda body: 503 if body["model"] == "expert" else answers("You said: hi")) as server:

        def advised(_: str) -> str:
            question = {"model": "expert", "messages": [{"role": "user", "content": "hi"}]}
            HTTP.post(f"{server.url}/chat/completions", json=question)
            return ask_model(server.url)

        run = make_run(advised, "hi")
    assert [note for note in run.summary.notes if "request to the model" in note]


SENT: dict[str, dict[str, Any]] = {
    "survey/responses": {"json": {"model": "Golf", "answers": [1]}},
    "uploads/responses": {"files": {"file": b"model"}},
    "conversations/7/converse": {"json": {"text": "hi"}},
}


@pytest.mark.parametrize("path", SENT)
def test_a_refused_request_to_no_model_is_not_noted(path: str) -> None:
    """Other services have paths as those of models."""
    errors = []
    with refusing() as url:

        def polite(_: str) -> str:
            try:
                HTTP.post(f"{url}/{path}", **SENT[path])
            except HTTP.ConnectError as error:
                errors.append(error)
            return "You said: hi"

        run = make_run(polite, "hi")
    assert len(errors) == 1
    assert not [note for note in run.summary.notes if "request to the model" in note]


def test_a_path_below_the_url_of_an_aiohttp_client_is_one_request_with_its_answer() -> None:
    """The client is asked for a path, and its response has the whole URL."""
    aiohttp = pytest.importorskip("aiohttp")
    answered: list[Any] = [answers("You said: hi"), Reset()]
    with ChatServer(lambda _: answered.pop()) as server:

        async def patient(_: str) -> str:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            async with aiohttp.ClientSession(base_url=server.url.removesuffix("/v1")) as client:
                with contextlib.suppress(aiohttp.ClientError):
                    await client.post("/v1/chat/completions", json=body)
                async with client.post("/v1/chat/completions", json=body) as response:
                    return str((await response.json())["choices"][0]["message"]["content"])

        run = make_run(patient, "hi")
    assert answered == []
    assert run.cases[0].failure is None
    assert not [note for note in run.summary.notes if "request to the model" in note]


def test_a_refused_request_of_a_client_of_ours_is_not_the_agents() -> None:
    """The model of a simulated environment has such a client, and works while the agent does."""
    pytest.importorskip("httpx2")
    from fairtrial.llm.address import address
    from fairtrial.llm.guarded_client import guarded_client

    with ChatServer(lambda _: 503) as server:

        async def played(_: str) -> str:
            async with guarded_client(address("openai/m")) as client:
                await client.post(f"{server.url}/responses", json={"model": "m", "input": "hi"})
            return "You said: hi"

        run = make_run(played, "hi")
    assert len(server.requests) == 1
    assert not [note for note in run.summary.notes if "request to the model" in note]


def test_a_request_that_the_model_finds_wrong_is_the_agents() -> None:
    """The status 400 speaks about the request."""
    with ChatServer(lambda _: 400) as server:

        def silent(_: str) -> None:
            with contextlib.suppress(HTTP.HTTPError):
                ask_model(server.url)

        run = make_run(silent, "hi")
    assert run.cases[0].failure is None
    assert run.summary.invalid == {}


def test_an_answer_without_a_model_is_said_in_the_language_of_the_reader() -> None:
    """The note of the run, and the cause of the failure."""
    note = (
        "1 message had an answer although a request to the model at http://h/v1/responses failed (HTTP 429); if its "
        "attempt failed, the outage may be the cause, and not the agent"
    )
    cause = "no reply, because a request to the model at http://h/v1/responses failed (HTTP 503)"
    for language in ("ko", "ja", "zh-CN", "zh-TW"):
        with speaking(language):
            for text in (note, cause):
                assert "model" not in say_sentence(text)
