"""Pictures and files in a user message reach the model of every agent, and judges learn of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from chat_server import ChatServer, completion
from msgspec.structs import replace
from shop import CRITERIA, saying

import fairtrial
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalSet
from fairtrial.records.contents import readable
from fairtrial.records.trace import Invocation, Message, Part, Trace
from fairtrial.simulate.user import history

PIXEL = b"\x89PNG\xff\xfe?"
DATA = base64.b64encode(PIXEL).decode()
PICTURE = Part("image/png", data=DATA)
LINK = Part("image/jpeg", "https://example.com/cat.jpg")
PAPER = Part("application/pdf", data=DATA, name="bill.pdf")
SOUND = Part("audio/wav", data=DATA)
URL = f"data:image/png;base64,{DATA}"

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def showing(*parts: Part) -> EvalSet:
    """A user who shows something, and asks about it."""
    case = saying("Look").cases[0]
    message = Message("What is this?", parts=parts)
    return EvalSet("shown", (replace(case, conversation=(Invocation(message), Invocation(Message("Thanks")))),))


def shown(agent: Any, *parts: Part) -> Trace:
    """What is recorded of the conversation."""
    ((_, recording),) = fairtrial.evaluate(showing(*parts), agent, CRITERIA).recordings
    assert recording.failure is None, recording.failure.traceback
    return recording.trace


@contextmanager
def _chat(seen: list[Any]) -> Iterator[Any]:
    def script(body: dict[str, Any]) -> dict[str, Any]:
        seen.append(body["messages"][0]["content"])
        return completion({"role": "assistant", "content": "A cat."})

    with ChatServer(script) as server:
        yield server.url


@contextmanager
def _adk(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("google.adk")
    from google.adk.agents import Agent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Seeing(BaseLlm):  # type: ignore[misc]
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
            seen.append([part.model_dump(exclude_none=True) for part in llm_request.contents[0].parts])
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="A cat.")]))

    yield Agent(name="shop", model=Seeing(model="scripted"))


@contextmanager
def _openai(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("agents.lifecycle")
    from agents import Agent
    from openai_shop import ScriptedModel

    class Seeing(ScriptedModel):
        async def get_response(self, *more: Any, **options: Any) -> Any:
            seen.append(options["input"][0]["content"])
            options["input"] = [{"role": "user", "content": "hello"}]
            return await super().get_response(*more, **options)

    yield Agent(name="shop", model=Seeing())


@contextmanager
def _langgraph(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langgraph_shop import ScriptedChat

    class Seeing(ScriptedChat):
        def _generate(self, messages: Any, *more: Any, **options: Any) -> Any:
            seen.append(messages[0].content)
            return super()._generate(messages, *more, **options)

    yield create_agent(Seeing(), tools=[])


@contextmanager
def _pydantic_ai(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def see(messages: Any, _: Any) -> Any:
        seen.append(list(messages[0].parts[0].content))
        return ModelResponse([TextPart("A cat.")])

    yield Agent(FunctionModel(see))


@contextmanager
def _genai(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("google.genai")
    from genai_shop import make_client, scripted

    def see(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(request["contents"][0]["parts"])
        return scripted(request)

    yield make_client(see).aio.chats.create(model="scripted")


def _genai_parts() -> list[Any]:
    url_safe = DATA.translate(str.maketrans("+/", "-_"))
    return [
        {"text": "What is this?"},
        {"inlineData": {"data": url_safe, "mime_type": "image/png"}},
        {"fileData": {"file_uri": LINK.uri, "mime_type": "image/jpeg"}},
        {"inlineData": {"data": url_safe, "mime_type": "application/pdf"}},
        {"inlineData": {"data": url_safe, "mime_type": "audio/wav"}},
    ]


@contextmanager
def _agno(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("agno")
    from agno.agent import Agent
    from agno_shop import ScriptedModel

    class Seeing(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            user = next(message for message in messages if message.role == "user")
            picture, link = user.images
            seen.append([user.content, picture.content, link.url, user.files[0].filename, user.audio[0].content])
            return await super().ainvoke(messages, **options)

    yield Agent(name="shop", model=Seeing(), telemetry=False)


@contextmanager
def _agent_framework(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("agent_framework")
    from agent_framework import Agent
    from agent_framework_shop import ScriptedClient

    class Seeing(ScriptedClient):
        async def _inner_get_response(self, *, messages: Any, **options: Any) -> Any:
            seen.append([content.text or (content.media_type, content.uri) for content in messages[0].contents])
            return await super()._inner_get_response(messages=messages, **options)

    yield Agent(Seeing(), name="shop")


@contextmanager
def _llama_index(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index_shop import ScriptedLLM

    class Seeing(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            text, picture, link, paper, sound = messages[0].blocks
            contents = (picture.resolve_image(), paper.resolve_document(), sound.resolve_audio())
            seen.append([text.text, str(link.url), paper.title, *(content.read() for content in contents)])
            return super().answer(messages)

    yield FunctionAgent(name="shop", llm=Seeing(), streaming=False)


@contextmanager
def _a2a(seen: list[Any]) -> Iterator[Any]:
    pytest.importorskip("a2a")
    from a2a_shop import A2AServer, Shop

    class Seeing(Shop):
        async def execute(self, context: Any, event_queue: Any) -> None:
            seen.append([(part.WhichOneof("content"), part.raw or part.url) for part in context.message.parts])
            await super().execute(context, event_queue)

    with A2AServer(executor=Seeing()) as server:
        yield f"a2a:{server.url}"


def _adk_parts() -> list[Any]:
    return [
        {"text": "What is this?"},
        {"inline_data": {"data": PIXEL, "mime_type": "image/png"}},
        {"file_data": {"file_uri": LINK.uri, "mime_type": "image/jpeg"}},
        {"inline_data": {"data": PIXEL, "mime_type": "application/pdf", "display_name": "bill.pdf"}},
        {"inline_data": {"data": PIXEL, "mime_type": "audio/wav"}},
    ]


def _chat_parts() -> list[Any]:
    return [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "image_url", "image_url": {"url": LINK.uri}},
        {"type": "file", "file": {"filename": "bill.pdf", "file_data": f"data:application/pdf;base64,{DATA}"}},
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
    ]


def _openai_parts() -> list[Any]:
    return [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": URL, "detail": "auto"},
        {"type": "input_image", "image_url": LINK.uri, "detail": "auto"},
        {"type": "input_file", "filename": "bill.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
    ]


def _langgraph_parts() -> list[Any]:
    return [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": DATA, "mime_type": "image/png"},
        {"type": "image", "url": LINK.uri, "mime_type": "image/jpeg"},
        {"type": "file", "base64": DATA, "mime_type": "application/pdf", "extras": {"filename": "bill.pdf"}},
        {"type": "audio", "base64": DATA, "mime_type": "audio/wav"},
    ]


def _pydantic_parts() -> list[Any]:
    from pydantic_ai.messages import BinaryContent, ImageUrl

    kinds = ("image/png", "application/pdf", "audio/wav")
    picture, paper, sound = (BinaryContent(PIXEL, media_type=kind) for kind in kinds)
    return ["What is this?", picture, ImageUrl(LINK.uri, media_type="image/jpeg"), paper, sound]


def _framework_parts() -> list[Any]:
    return [
        "What is this?",
        ("image/png", URL),
        ("image/jpeg", LINK.uri),
        ("application/pdf", f"data:application/pdf;base64,{DATA}"),
        ("audio/wav", f"data:audio/wav;base64,{DATA}"),
    ]


def _a2a_parts() -> list[Any]:
    return [("text", ""), ("raw", PIXEL), ("url", LINK.uri), ("raw", PIXEL), ("raw", PIXEL)]


Reaching = Callable[[list[Any]], Any]
KINDS: dict[str, tuple[Reaching, Callable[[], list[Any]]]] = {
    "http": (_chat, _chat_parts),
    "a2a": (_a2a, _a2a_parts),
    "adk": (_adk, _adk_parts),
    "google-genai": (_genai, _genai_parts),
    "agent-framework": (_agent_framework, _framework_parts),
    "llama-index": (_llama_index, lambda: ["What is this?", LINK.uri, "bill.pdf", PIXEL, PIXEL, PIXEL]),
    "agno": (_agno, lambda: ["What is this?", PIXEL, LINK.uri, "bill.pdf", PIXEL]),
    "langgraph": (_langgraph, _langgraph_parts),
    "openai-agents": (_openai, _openai_parts),
    "pydantic-ai": (_pydantic_ai, _pydantic_parts),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "http" else (pytest.mark.agents,)) for kind in KINDS]
)
def test_the_model_gets_the_parts_of_the_message(kind: str) -> None:
    """A picture, its link, a paper and a sound arrive in the form of the framework, and stand in the recording."""
    reaching, expected = KINDS[kind]
    seen: list[Any] = []
    with reaching(seen) as agent:
        trace = shown(agent, PICTURE, LINK, PAPER, SOUND)
    assert seen[0] == expected()
    assert trace.invocations[0].user.parts == (PICTURE, LINK, PAPER, SOUND)


def test_a_function_finds_the_parts_in_the_conversation() -> None:
    """The earlier message keeps its parts, too."""
    seen: list[Any] = []

    def look(conversation: Trace) -> str:
        seen.append([invocation.user.parts for invocation in conversation.invocations])
        return "A cat."

    shown(look, PICTURE)
    assert seen == [[(PICTURE,)], [(PICTURE,), ()]]


def test_base64_of_urls_is_understood() -> None:
    """ADK writes bytes with the alphabet of URLs."""
    seen: list[Any] = []
    part = Part("image/png", data=base64.urlsafe_b64encode(PIXEL).decode())
    assert part.data != DATA
    with _chat(seen) as target:
        shown(target, part)
    assert seen[0][1] == {"type": "image_url", "image_url": {"url": URL}}


def _shout(message: str) -> str:
    return message.upper()


class _TextSession:
    about = None

    async def send(self, message: str) -> Any:
        yield message


class _TextAgent:
    @contextmanager
    def __call__(self, case: Any, environment: Any) -> Any:  # noqa: ARG002
        yield _TextSession()


@pytest.mark.parametrize(
    ("agent", "part", "reason"),
    [
        (_shout, PICTURE, "the function takes only the text of the message"),
        (_TextAgent(), PICTURE, "the agent takes only text"),
        ("http://localhost:1/v1", Part("application/pdf", "https://x.org/a.pdf"), "takes the URL of pictures only"),
        (lambda _: "hi", Part("image/png"), r"a part \(image/png\) has neither a URI nor data"),
        (lambda _: "hi", Part("image/png", data="é"), "the data is not base64"),
    ],
)
def test_a_case_that_cannot_be_sent_is_refused_before_anything_runs(agent: Any, part: Part, reason: str) -> None:
    """The message names the case, the type and the reason."""
    with pytest.raises(UsageError, match=reason) as refused:
        fairtrial.evaluate(showing(part), agent, CRITERIA)
    assert f"case 'case', message 1 holds {part.mime_type}" in str(refused.value)


def test_judges_see_what_they_can_and_learn_what_not() -> None:
    """The text of a text file is shown, a picture is named."""
    text = Part("text/plain", data=base64.b64encode("Käse".encode()).decode(), name="list.txt")
    message = Message("Look", parts=(text, PAPER, LINK))
    assert readable(message) == (
        "Look\n[text/plain list.txt]\nKäse\n[application/pdf bill.pdf, which is not shown here]\n"
        "[image/jpeg https://example.com/cat.jpg, which is not shown here]"
    )


def test_simulated_users_learn_what_they_do_not_see() -> None:
    """A picture in a reply is named."""
    trace = Trace((Invocation(Message("Draw a cat"), (), Message("Here", parts=(PICTURE,))),))
    assert history(trace, calls=False) == "user: Draw a cat\nassistant: Here\n[image/png, which is not shown here]"


@pytest.mark.agents
def test_a_picture_is_no_answer_to_a_question_of_strands() -> None:
    """An interrupt takes a text. The picture was dropped without a word, and now the case is at fault."""
    pytest.importorskip("strands")
    case = saying("a question").cases[0]
    turns = (Invocation(Message("a question")), Invocation(Message("large", parts=(PICTURE,))))
    eval_set = EvalSet("shown", (replace(case, conversation=turns),))
    ((_, recording),) = fairtrial.evaluate(eval_set, "strands:strands_shop:shop", CRITERIA).recordings
    assert recording.failure is not None
    assert (recording.failure.side, len(recording.trace.invocations)) == ("expectation", 2)
    assert recording.trace.invocations[0].reply == "Which size?"
