"""Pictures of a prompt reach each provider in its own form, and a model that refuses them gets the text."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial.llm.address import address
from fairtrial.llm.endpoint import Endpoint
from fairtrial.llm.model import CallError, call_key
from fairtrial.llm.provider import Provider
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import Part
from loopback import Loopback, Request, Script, Status

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nnot a whole picture").decode()
PROMPT = Prompt("p", "1", "What does picture 1 show?", pictures=(Part("image/png", data=PNG, name="chart.png"),))
CHAT, GEMINI, CLAUDE = "openai/gpt-4o-mini", "gemini-2.5-flash", "anthropic/claude-haiku-4-5"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", "planted")


def ask(name: str, script: Script, prompt: Prompt = PROMPT) -> tuple[Reply, list[Request], list[str]]:
    """Ask once. Return the reply, the requests of the server, and the notes."""
    notes: list[str] = []

    async def once(server: Loopback) -> Reply:
        url = f"{server.url}/v1" if name == CHAT else server.url
        async with Provider(address(name, Endpoint(url, "SERVER_KEY")), {}, note=notes.append) as model:
            return await model(prompt)

    with Loopback(script) as server:
        return asyncio.run(once(server)), server.requests, notes


def content(request: Request) -> list[dict[str, Any]]:
    """The parts of the user's message in a request. Differences between versions of Google's SDK are taken out."""
    body: Any = request.body
    parts: list[dict[str, Any]] = (
        body["contents"][-1]["parts"] if "contents" in body else body["messages"][-1]["content"]
    )
    for own in (part["inlineData"] for part in parts if "inlineData" in part):
        own["mimeType"] = own.pop("mime_type", None) or own["mimeType"]
        own["data"] = own["data"].replace("-", "+").replace("_", "/")
    return parts


def answer(_: Request) -> str:
    """The reply of a model that looks at everything."""
    return "A chart."


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "picture"),
    [
        (CHAT, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}),
        (CLAUDE, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}),
        (GEMINI, {"inlineData": {"mimeType": "image/png", "data": PNG}}),
    ],
)
def test_a_picture_stands_behind_the_text(name: str, picture: dict[str, Json]) -> None:
    """The forms are those of the providers' documentation."""
    _, requests, notes = ask(name, answer)
    text, own = content(requests[0])
    assert text["text"] == "What does picture 1 show?"
    assert own == picture
    assert notes == []


WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt not a whole sound").decode()
SPOKEN = replace(PROMPT, pictures=(Part("audio/wav", data=WAV, name="reply.wav"),))


@pytest.mark.parametrize(
    ("name", "sound"),
    [
        (CHAT, {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}),
        (GEMINI, {"inlineData": {"mimeType": "audio/wav", "data": WAV}}),
    ],
)
def test_a_sound_stands_behind_the_text(name: str, sound: dict[str, Json]) -> None:
    """The forms are those of OpenAI's and Google's documentation."""
    _, requests, notes = ask(name, answer, SPOKEN)
    _, own = content(requests[0])
    assert own == sound
    assert notes == []


def test_a_provider_without_a_place_for_sounds_gets_the_text() -> None:
    """Nothing is sent with the sound, the prompt says that it is missing, and the run notes it."""
    reply, requests, notes = ask(CLAUDE, answer, SPOKEN)
    assert reply.text == "A chart."
    assert "The pictures and sounds are not given to you." in str(requests[-1].body)
    assert WAV not in str(requests[-1].body)
    assert "refuses pictures or sounds" in notes[0]


def test_a_model_that_sees_no_pictures_gets_the_text() -> None:
    """It is asked once more, it is told that something is missing, and the run notes it."""
    refusal = Status(400, message="At most 0 image(s) may be provided in one request.")
    reply, requests, notes = ask(CHAT, lambda request: refusal if "image_url" in str(request.body) else answer(request))
    assert reply.text == "A chart."
    assert len(requests) == 2
    assert "The pictures are not shown to you." in str(requests[1].body)
    assert "refuses pictures (HTTP 400: At most 0 image(s)" in notes[0]


def test_another_refusal_is_not_mistaken_for_one_of_pictures() -> None:
    """A prompt that is too long is refused with its cause."""
    with pytest.raises(CallError, match="too many tokens"):
        ask(CHAT, lambda _: Status(400, message="too many tokens"))


def test_a_prompt_with_other_pictures_is_another_call() -> None:
    """A stored reply belongs to its pictures. A prompt without pictures keeps the key that it always had."""
    bare, other = replace(PROMPT, pictures=()), replace(PROMPT, pictures=(Part("image/png", data="AA=="),))
    assert len({call_key({}, prompt) for prompt in (bare, PROMPT, other)}) == 3
    digest = hashlib.sha256(b'[{},null,"","What does picture 1 show?"]').hexdigest()
    assert call_key({}, bare) == f"{digest}.1.1"
