"""Contents of a conversation that are not in its recording, with the reason for each."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from fairtrial.records.trace import Invocation, Message, Part, Step, Thought, ToolCall, Trace

if TYPE_CHECKING:
    from fairtrial.records.record import Json

Content = Literal["user", "reply", "messages", "thoughts", "args", "results"]
"""A kind of content. `messages` are messages of the agent before its reply."""

DIALOGUE: tuple[Content, ...] = ("user", "reply")
"""The contents of a judgement on a reply."""

COMPARABLE: tuple[Content, ...] = ("user", "reply", "messages", "args", "results")
"""The contents that a criterion may compare, or show to a judge. Thoughts are not among them."""

CONTENTS: tuple[Content, ...] = (*COMPARABLE, "thoughts")
"""All contents."""

_CALLS: frozenset[Content] = frozenset(("args", "results"))
"""The contents of calls."""

_DATA_URL = re.compile(r"data:((?:image|audio|video)/[\w.+-]{1,80});base64,")
_TYPE_KEYS = ("mimeType", "mime_type", "media_type")
_KINDS = ("image/", "audio/", "video/")
_DEEPEST = 64
"""Values below this depth are taken as they are."""

_LONGEST_TEXT = 20_000
"""Characters of a text file that a judge sees."""

_WORDS: dict[Content, str] = {
    "user": "user messages",
    "reply": "replies",
    "messages": "messages before replies",
    "thoughts": "thoughts",
    "args": "arguments",
    "results": "results",
}


def withheld_reason(invocations: Iterable[Invocation], contents: Collection[Content] = COMPARABLE) -> str:
    """Return which content is not recorded, and the reason, or an empty text if all `contents` are recorded.

    Only the first such content is named.
    """
    for invocation in invocations:
        for content, step in _steps(invocation):
            if step.withheld and content in contents:
                return not_recorded(step, content)
    return ""


def missing_reason(trace: Trace, contents: Collection[Content] = COMPARABLE) -> str:
    """Return why a conversation cannot be judged, or an empty text: a content is withheld, or calls may be missing."""
    reason = withheld_reason(trace.invocations, contents)
    if reason or not trace.incomplete or _CALLS.isdisjoint(contents):
        return reason
    return f"calls and turns may be missing: {trace.incomplete}"


def not_recorded(step: Step, content: Content) -> str:
    """Return that a content is not recorded, with its reason. For example, "the reply is not recorded: ..."."""
    if isinstance(step, Message | Thought):
        words = {"user": "the user's message", "reply": "the reply", "messages": "a message before the reply"}
        subject = f"{words.get(content, 'a thought')} is"
    else:
        subject = f"the arguments of {step.name} are" if content == "args" else f"the result of {step.name} is"
    return f"{subject} not recorded: {step.withheld}"


def withheld_contents(invocations: Iterable[Invocation]) -> tuple[str, ...]:
    """Return in words which kinds of contents are not recorded, for example `("user messages", "arguments")`."""
    kinds = {content for invocation in invocations for content, step in _steps(invocation) if step.withheld}
    return tuple(words for content, words in _WORDS.items() if content in kinds)


def _steps(invocation: Invocation) -> Iterator[tuple[Content, Step]]:
    yield "user", invocation.user
    for step in invocation.steps or ():
        yield _read_content(step), step
    if invocation.final_response is not None:
        yield "reply", invocation.final_response


def _read_content(step: Step) -> Content:
    if isinstance(step, ToolCall):
        return "args"
    if isinstance(step, Message):
        return "messages"
    return "thoughts" if isinstance(step, Thought) else "results"


def readable(message: Message | None, pictures: Sequence[Part] = ()) -> str:
    """Return a message as people and judges see it: its text, then its parts. Without a message it is empty.

    A part that is a text is shown. Any other part, for example a sound, is named with the remark that it is not
    shown. `pictures` are the pictures and sounds beside a prompt. They are named with their numbers.
    """
    if message is None:
        return ""
    text = placeholder(message) if message.withheld else message.text
    return "\n".join(
        [*([text] if text or not message.parts else []), *(_show_part(part, pictures) for part in message.parts)]
    )


def _show_part(part: Part, pictures: Sequence[Part]) -> str:
    text = None if part in pictures else _extract_text(part)
    if text is None:
        return name_part(part, pictures)
    return f"[{' '.join(filter(None, (part.mime_type, part.name, part.uri)))}]\n{text}"


def _extract_text(part: Part) -> str | None:
    """Return the text in a part, or None if the part is not a text or is long."""
    if not part.data or not (part.mime_type.startswith("text/") or part.mime_type == "application/json"):
        return None
    try:
        text = base64.b64decode(part.data.replace("-", "+").replace("_", "/") + "==").decode()
    except ValueError:
        return None
    return text if len(text) <= _LONGEST_TEXT else None


def find_media(value: Json) -> Iterator[Part]:
    """Yield the pictures, sounds and films in a value, in their order.

    They are `data` beside a media type, as MCP, Anthropic and Gemini write them, and data URLs, as OpenAI does.
    """
    media: list[Part] = []

    def take(part: Part) -> str:
        media.append(part)
        return ""

    _replace(value, take)
    yield from media


def name_media(value: Json, pictures: Sequence[Part]) -> Json:
    """Return a value with the name of each of its media in place of its content. `pictures` stand beside a prompt."""
    return _replace(value, lambda part: name_part(part, pictures))


def name_part(part: Part, pictures: Sequence[Part]) -> str:
    """Return the name of a part, with its number if it is one of the pictures and sounds beside a prompt."""
    name = " ".join(filter(None, (part.mime_type or "file", part.name, part.uri)))
    if part not in pictures:
        return f"[{name}, which is not shown here]"
    kind = "sound" if part.mime_type.startswith("audio/") else "picture"
    return f"[{name}, which is {kind} {pictures.index(part) + 1}]"


def _replace(value: Json, take: Callable[[Part], str], depth: int = 0) -> Json:
    if depth > _DEEPEST:
        return value
    part = _read_part(value)
    if part is not None:
        return take(part)
    if isinstance(value, dict):
        return {key: _replace(inner, take, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, take, depth + 1) for inner in value]
    return value


def _read_part(value: Json) -> Part | None:
    if isinstance(value, str):
        match = _DATA_URL.match(value)
        return None if match is None else Part(match[1], data=value[match.end() :])
    if isinstance(value, dict) and isinstance(data := value.get("data"), str):
        kind = next((kind for key in _TYPE_KEYS if isinstance(kind := value.get(key), str)), "")
        return Part(kind, data=data) if data and kind.startswith(_KINDS) else None
    return None


def placeholder(step: Step) -> str:
    """Return the text that stands for a content that is not recorded: its beginning if that is known, and a note."""
    return f"{step.beginning}… (the rest is not recorded)" if step.beginning else "(not recorded)"
