"""Fences around text in a prompt, which the text itself cannot close."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from fairtrial.errors import JudgeError

if TYPE_CHECKING:
    from fairtrial.records.record import Json


def sendable(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("�" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def nonce(question: Json) -> str:
    """Return the first 128 bits of SHA-256 over a question in canonical JSON, as 32 hexadecimal digits.

    A text that is in the question cannot contain the nonce, because it would have to contain its own hash.
    """
    return hashlib.sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()[:32]


class Fences:
    """Puts texts between marks that no text can contain.

    `other_marks` are the marks of further fences in the same prompt. No text may contain them either.
    """

    def __init__(self, texts: Mapping[str, str], question: Json, other_marks: Sequence[str] = ()) -> None:
        self.texts = {name: sendable(text) for name, text in texts.items()}
        self.mark = nonce([question, self.texts])
        for name, text in self.texts.items():
            if any(mark in text for mark in (self.mark, *other_marks)):
                raise JudgeError(f"{name}: contains the mark of a fence; the question cannot be asked safely")

    def standard(self, name: str) -> str:
        """Return a text that says how to judge, or how to play, between its marks."""
        return self._between("STANDARD", name)

    def context(self, name: str) -> str:
        """Return a text that holds facts between its marks."""
        return self._between("CONTEXT", name)

    def judged(self, name: str) -> str:
        """Return a text under judgement between its marks."""
        return self._between("JUDGED", name)

    def _between(self, kind: str, name: str) -> str:
        """Return the text of that name, byte for byte, between its marks."""
        return f"<<<{kind} {name} {self.mark}>>>\n{self.texts[name]}\n<<<end {kind} {name} {self.mark}>>>"


def numbered(text: str, passages: Mapping[str, str]) -> tuple[str, str]:
    """Return the text with an id before each passage, and the id code, which the text does not contain.

    The passages are verbatim text parts, in order. For example, the passage `{"s1": "Hello."}` becomes
    `s1.7f2a Hello.` with the code `7f2a`. Without the ids, the result is the text again.
    """
    digest = nonce(sendable(text))
    code = next(digest[:length] for length in range(4, 33) if digest[:length] not in text)
    pieces: list[str] = []
    place = 0
    for name, passage in passages.items():
        start = text.index(passage, place)
        pieces += (text[place:start], f"{name}.{code} ", passage)
        place = start + len(passage)
    return "".join([*pieces, text[place:]]), code
