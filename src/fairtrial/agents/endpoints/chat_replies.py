"""Read replies of chat endpoints, as JSON or as an event stream, and separate thoughts from answers."""

from __future__ import annotations

import base64
import binascii
import io
import re
import wave
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.endpoints.endpoint_client import StreamEvent
from fairtrial.errors import AgentError
from fairtrial.records.trace import Durations, Message, Step, Thought

_TAGS = ("<think>", "<thinking>")
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>")
_LONGEST_END = len("</thinking>")
_FILES = (b"RIFF", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
"""The first bytes of WAV and MP3 files."""
_PCM16 = (1, 2, 24_000, 0, "NONE", "not compressed")
"""The samples that OpenAI calls `pcm16`, the only sound that it streams: mono, 2 bytes each, 24,000 in a second."""
_MOST_CALLS = 1000
_THINKING = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)


def whole_reply(reply: Any) -> Any:
    """Return the JSON of a reply. The pieces of a stream are joined."""
    if not isinstance(reply, list) or not all(isinstance(event, StreamEvent) for event in reply):
        return reply
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for event in (event.data for event in reply if isinstance(event.data, dict)):
        for choice in event.pop("choices", None) or ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                delta = choice.get("delta") or choice.get("message")
                _add(message, delta if isinstance(delta, dict) else {})
        whole |= {name: value for name, value in event.items() if value is not None}
    if "audio" in message:
        message["audio"] = _join_sound(message["audio"])
    return {**whole, "choices": [{"message": message}]}


def time_of_first_text(reply: Any, began: float, text_in: Callable[[Any], str]) -> Iterator[Durations]:
    """Yield the seconds until the first text or sound of a stream, and nothing for another reply.

    `text_in` returns the text in the data of an event. A thought at the beginning of the text does not count.
    """
    events = [event for event in reply if isinstance(event, StreamEvent)] if isinstance(reply, list) else []
    text, is_thought = "", False
    for event in events:
        text = (text + text_in(event.data)).lstrip()
        if not is_thought and text.startswith(_TAGS):
            text, is_thought = text.partition(">")[2], True
        if is_thought:
            end = _END_OF_THOUGHT.search(text)
            if end is None:
                text = text[-_LONGEST_END:]
                continue
            text, is_thought = text[end.end() :].lstrip(), False
        if text and not any(tag.startswith(text) for tag in _TAGS):
            yield Durations(first_token=event.came - began)
            return


def text_of_chunk(chunk: Any) -> str:
    """Return the text, or else the sound, in a chunk of a chat completion."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = first.get("delta") or first.get("message")
    if not isinstance(delta, dict):
        return ""
    audio = delta.get("audio")
    spoken = (audio.get("transcript"), audio.get("data")) if isinstance(audio, dict) else ()
    return next((text for text in (delta.get("content"), *spoken) if isinstance(text, str) and text), "")


def _add(message: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a piece to a message: its texts grow, and the pieces of a call are joined by the index of the call."""
    for name in ("content", "reasoning_content"):
        if isinstance(delta.get(name), str):
            message[name] = (message.get(name) or "") + delta[name]
    if isinstance(delta.get("audio"), dict):
        _add_sound(message.setdefault("audio", {"transcript": "", "pieces": []}), delta["audio"])
    for piece in delta.get("tool_calls") or ():
        calls = message.setdefault("tool_calls", [])
        index = piece.get("index", len(calls)) if isinstance(piece, dict) else None
        if not isinstance(index, int) or not 0 <= index < _MOST_CALLS:
            raise AgentError(f"a streamed piece of a call must have an index below {_MOST_CALLS}")
        while len(calls) <= index:
            calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call, function = calls[index], piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""


def _add_sound(sound: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a piece of a spoken reply: its transcript grows, and its samples are joined."""
    if isinstance(delta.get("transcript"), str):
        sound["transcript"] += delta["transcript"]
    try:
        sound["pieces"].append(base64.b64decode(delta.get("data") or "", validate=True))
    except (binascii.Error, TypeError, ValueError):
        return  # what is no sound is left out, and the transcript says what was spoken


def _join_sound(sound: dict[str, Any]) -> dict[str, Any]:
    """Return a spoken reply with its pieces as one sound. Bare samples become a WAV file."""
    data = b"".join(sound["pieces"])
    if data and not data.startswith(_FILES):
        file = io.BytesIO()
        with wave.open(file, "wb") as wav:
            wav.setparams(_PCM16)
            wav.writeframes(data)
        data = file.getvalue()
    return {"transcript": sound["transcript"], "data": base64.b64encode(data).decode()}


def separate_thoughts(steps: Iterable[Step]) -> list[Step]:
    """Return steps with the reasoning at the beginning of a message (`<think>...</think>`) as a thought before it."""
    separated: list[Step] = []
    for step in steps:
        match = _THINKING.match(step.text) if isinstance(step, Message) else None
        if match is None or not isinstance(step, Message):
            separated.append(step)
            continue
        thought = match.group(1).strip()
        separated += [Thought(thought, step.author)] if thought else []
        separated.append(replace(step, text=step.text[match.end() :]))
    return separated
