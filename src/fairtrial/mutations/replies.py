"""Operators that change the meaning of a reply: a negation, an invented claim, a missing part, a refusal."""

from __future__ import annotations

from random import Random

from fairtrial.mutations import phrases
from fairtrial.mutations.negation import NEGATE
from fairtrial.mutations.operator import Invocations, Plant, Scene, shuffle
from fairtrial.mutations.phrases import Phrases
from fairtrial.mutations.text_values import numbers
from fairtrial.text.rouge import characters
from fairtrial.text.sentences import Piece, cut

_SHARE = 0.5
"""The share of words from which on two texts state the same facts."""


def negated(scene: Scene, random: Random) -> Invocations | None:
    """Negate or un-negate one sentence that carries a fact of the reference."""
    negate = NEGATE[scene.language]
    for place, piece in shuffle(_factual_pieces(scene), random):
        changed = negate(piece.text)
        if changed is not None and changed not in scene.grounds:
            return scene.with_reply(_with_piece(scene.reply, place, piece, changed))
    return None


def sentence_dropped(scene: Scene, random: Random) -> Invocations | None:
    """Leave out one sentence that carries a fact of the reference. A reply of one sentence is left alone."""
    pieces = cut(scene.reply)
    if sum(piece.is_sentence for piece in pieces) < 2:
        return None
    for place, piece in shuffle(_factual_pieces(scene), random):
        rest = _with_piece(scene.reply, place, piece, "")
        # The same words elsewhere in the reply would keep the fact.
        if _share(piece.text, rest) < _SHARE or _numbers(piece.text) - _numbers(rest):
            return scene.with_reply(rest.strip())
    return None


def cut_short(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Keep the first half of the reply only."""
    half = scene.reply[: len(scene.reply) // 2].rstrip()
    rest = scene.reply[len(half) :]
    if not half or not scene.reference or _share(rest, half) >= _SHARE:
        return None
    return scene.with_reply(half)


def empty_reply(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Reply with an empty text."""
    return scene.with_reply("") if scene.reply.strip() and scene.reference.strip() else None


def claim_invented(scene: Scene, random: Random) -> Invocations | None:
    """Add a sentence with a fact that stands nowhere."""
    grounded = _numbers(scene.grounds)
    for claim in shuffle(phrases.CLAIMS[scene.language], random):
        if claim not in scene.grounds and not grounded & _numbers(claim):
            return scene.with_reply(join_sentence(scene.reply, claim))
    return None


def leaked(scene: Scene, random: Random) -> Invocations | None:
    """Add the record of another customer or a password, if a criterion is about safety or privacy."""
    leak = random.choice(phrases.LEAKS[scene.language])
    return (
        scene.with_reply(join_sentence(scene.reply, leak))
        if scene.rules.privacy and leak not in scene.grounds
        else None
    )


def instead(choices: Phrases) -> Plant:
    """Return an operator that replies with one of these phrases instead of the answer."""

    def plant(scene: Scene, random: Random) -> Invocations | None:
        phrase = random.choice(choices[scene.language])
        # A reference that shares most words with the phrase does not answer either.
        if not scene.reference.strip() or _share(scene.reference, phrase) >= _SHARE:
            return None
        return scene.with_reply(phrase)

    return plant


def other_reply(scene: Scene, random: Random) -> Invocations | None:
    """Reply with the reply of another case that shares less than half of its words with the reference."""
    if not scene.reference.strip():
        return None
    replies = [invocation.reply for case in scene.other_cases for invocation in case.conversation or ()]
    for reply in shuffle(sorted({reply for reply in replies if reply.strip()}), random):
        if _share(scene.reference, reply) < _SHARE and _share(reply, scene.reference) < _SHARE:
            return scene.with_reply(reply)
    return None


def other_language(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Reply in another language, with a sentence that only says so."""
    return scene.with_reply(phrases.OTHER_LANGUAGE[scene.language]) if scene.reference.strip() else None


def join_sentence(text: str, sentence: str) -> str:
    """Return a text with one more sentence at its end."""
    return f"{text.rstrip()} {sentence}" if text.strip() else sentence


def _factual_pieces(scene: Scene) -> list[tuple[int, Piece]]:
    """Return the sentences of the reply that carry a fact of the reference, each with its place in the text."""
    places: list[tuple[int, Piece]] = []
    start = 0
    for piece in cut(scene.reply):
        if piece.is_sentence and scene.reference and _share(piece.text, scene.reference) >= _SHARE:
            places.append((start, piece))
        start += len(piece.text)
    return places


def _with_piece(text: str, start: int, piece: Piece, changed: str) -> str:
    return text[:start] + changed + text[start + len(piece.text) :]


def _numbers(text: str) -> set[str]:
    return {value.key for value in numbers(text)}


def _share(text: str, replacement: str) -> float:
    """Return the share of the words of a text that another text holds, 0..1. A text without words shares nothing."""
    if text and text in replacement:
        return 1.0
    words, grounded = characters(text), set(characters(replacement))
    return sum(word in grounded for word in words) / len(words) if words else 0.0
