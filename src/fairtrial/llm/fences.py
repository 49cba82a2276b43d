"""Fences around text in a prompt, which the text itself cannot close."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from fairtrial.errors import JudgeError
from fairtrial.records.record import Json


def sendable(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("�" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def nonce(question: Json) -> str:
    """Return the first 128 bits of the SHA-256 of a question in canonical JSON, as 32 hexadecimal digits.

    A text that is part of the question cannot contain the nonce, because it would have to contain its own hash.
    """
    return hashlib.sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()[:32]


class Fences:
    """Puts texts between marks that no text can contain."""

    def __init__(self, texts: Mapping[str, str], question: Json) -> None:
        self.texts = {name: sendable(text) for name, text in texts.items()}
        self.mark = nonce([question, self.texts])
        for name, text in self.texts.items():
            if self.mark in text:
                raise JudgeError(f"{name}: contains the mark of its own fence; the question cannot be asked safely")

    def __call__(self, name: str) -> str:
        """Return the text of that name, byte for byte, between its marks."""
        return f"<<<begin {name} {self.mark}>>>\n{self.texts[name]}\n<<<end {name} {self.mark}>>>"
