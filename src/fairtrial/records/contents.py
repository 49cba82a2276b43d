"""Contents of a conversation that are not in its recording, with the reason for each."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from fairtrial.records.trace import Invocation, Message, Part, Step, Thought, ToolCall, Trace

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
    shown. `pictures` are the parts that a judge sees beside the text. They are named with their numbers.
    """
    if message is None:
        return ""
    text = placeholder(message) if message.withheld else message.text
    return "\n".join(
        [*([text] if text or not message.parts else []), *(_show_part(part, pictures) for part in message.parts)]
    )


def _show_part(part: Part, pictures: Sequence[Part]) -> str:
    name = " ".join(filter(None, (part.mime_type or "file", part.name, part.uri)))
    if part in pictures:
        return f"[{name}, which is picture {pictures.index(part) + 1}]"
    text = _extract_text(part)
    return f"[{name}, which is not shown here]" if text is None else f"[{name}]\n{text}"


def _extract_text(part: Part) -> str | None:
    """Return the text in a part, or None if the part is not a text or is long."""
    if not part.data or not (part.mime_type.startswith("text/") or part.mime_type == "application/json"):
        return None
    try:
        text = base64.b64decode(part.data.replace("-", "+").replace("_", "/") + "==").decode()
    except ValueError:
        return None
    return text if len(text) <= _LONGEST_TEXT else None


def placeholder(step: Step) -> str:
    """Return the text that stands for a content that is not recorded: its beginning if that is known, and a note."""
    return f"{step.beginning}… (the rest is not recorded)" if step.beginning else "(not recorded)"
