"""Separate thoughts from the answer, if a model's server leaves them in the reply."""

from __future__ import annotations

import re

_NAMES = {"think": "think(?:ing)?", "thought": "thoughts?", "reasoning": "reasoning"}
_TAG = re.compile(r"<(/?)(think(?:ing)?|thoughts?|reasoning)>|\[(/?)(THINK)\]", re.IGNORECASE)
_ENDS = {
    **{name: re.compile(rf"</{pattern}>\s*", re.IGNORECASE) for name, pattern in _NAMES.items()},
    "[": re.compile(r"\[/THINK\]\s*", re.IGNORECASE),
}
_FINAL = re.compile(r"<\|channel\|>final\b[^<]{0,40}(?:<\|constrain\|>\w{0,20})?\s*<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:return|end|call)\|>\s*\Z")
_BARE_HARMONY = re.compile(r"analysis(?=[^\W\d_])")
"""How a reply begins in OpenAI's harmony format, if the server leaves its special tokens out."""


class NoAnswerError(ValueError):
    """A reply holds no answer at all. The message is a whole sentence about the reply."""


ONLY_THOUGHTS = "the reply holds thoughts and no answer"


def has_thoughts(text: str) -> bool:
    """Whether a text holds a mark of thoughts."""
    return _TAG.search(text) is not None or "<|channel|>" in text


def without_thoughts(text: str) -> str:
    """Return a reply after the thoughts that it begins with. Raises `NoAnswerError` if nothing else is certain.

    A model's template may open the thoughts in the prompt. Then the reply's first mark ends them. Thoughts may quote
    marks, so that text after further marks proves nothing. It is returned with its marks.
    """
    if "<|channel|>" in text:
        return _final_channel(text)
    if _BARE_HARMONY.match(text):
        _, final, answer = text.partition("assistantfinal")
        if not final or "assistantfinal" in answer:
            raise NoAnswerError(ONLY_THOUGHTS)
        return answer.strip()
    first = _TAG.search(text)
    if first is None or (text[:1] in {"{", "["} and first.start() > 0):
        return text
    place = first.start() if first.start() == 0 else 0
    if first[1] or first[3]:
        place = _after_space(text, first.end())
    while (opened := _TAG.match(text, place)) is not None and not (opened[1] or opened[3]):
        ended = _ENDS[_kind(opened)].search(text, opened.end())
        if ended is None:
            raise NoAnswerError(ONLY_THOUGHTS)
        place = ended.end()
    if not text[place:].strip():
        raise NoAnswerError(ONLY_THOUGHTS)
    return text[place:]


def _kind(tag: re.Match[str]) -> str:
    if tag[4]:
        return "["
    return next(name for name in _NAMES if tag[2].lower().startswith(name))


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _final_channel(text: str) -> str:
    """Return the content from the only final channel in a reply in OpenAI's harmony format."""
    finals = list(_FINAL.finditer(text))
    if not finals:
        raise NoAnswerError(ONLY_THOUGHTS)
    if len(finals) > 1:
        raise ValueError("it has several final channels")
    return _HARMONY_END.sub("", text[finals[0].end() :]).strip()
