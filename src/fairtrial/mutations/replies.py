"""Operators that change the meaning of a reply: a negation, an invented claim, a missing part, a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING

import regex

from fairtrial.mutations import negation_en, negation_ja, negation_ko, negation_zh, phrases
from fairtrial.mutations.courtesy import states_nothing
from fairtrial.mutations.literals import address_texts
from fairtrial.mutations.operator import Invocations, Plant, Scene, shuffle
from fairtrial.mutations.text_values import numbers
from fairtrial.text.language import Language, detect_language
from fairtrial.text.rouge import characters
from fairtrial.text.sentences import Piece, cut

if TYPE_CHECKING:
    from fairtrial.mutations.phrases import Phrases

NEGATE: Mapping[Language, Callable[[str], str | None]] = {
    "en": negation_en.negate,
    "ko": negation_ko.negate,
    "ja": negation_ja.negate,
    "zh": negation_zh.negate,
}
"""The rules of each language. A result of None means that the rules leave the sentence alone."""


_SHARE = 0.5
"""The share of words from which on two texts state the same facts."""
_SHARE_OF_PROMISE = 0.8
"""The share of its words from which on a promise may stand among the facts of a case."""


def negated(scene: Scene, random: Random) -> Invocations | None:
    """Negate or un-negate one sentence that carries a fact of the reference."""
    negate = NEGATE[scene.language]
    for place, piece in shuffle(_factual_pieces(scene), random):
        changed = negate(piece.text)
        if changed is None or changed in scene.grounds:
            continue
        if address_texts(changed) == address_texts(piece.text):
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
    for claim in shuffle(phrases.CLAIMS[scene.variety], random):
        if claim not in scene.grounds and not grounded & _numbers(claim):
            return scene.with_reply(join_sentence(scene.reply, claim))
    return None


def promise_invented(scene: Scene, random: Random) -> Invocations | None:
    """Add a promise without a number that stands nowhere."""
    for promise in shuffle(phrases.PROMISES[scene.variety], random):
        if scene.reply.strip() and _share(promise, scene.grounds) < _SHARE_OF_PROMISE:
            return scene.with_reply(join_sentence(scene.reply, promise))
    return None


def deny_statement(scene: Scene, random: Random) -> Invocations | None:
    """Deny one statement of the reference in a sentence that holds all of its words."""
    for place, piece in shuffle(_factual_pieces(scene), random):
        statement = piece.text.strip()
        if _NO_STATEMENT.search(statement) or not regex.search(r"[.。!！]\Z", statement):
            continue
        new = _denial(statement, scene)
        if new is not None and new not in scene.grounds:
            return scene.with_reply(_with_piece(scene.reply, place, piece, piece.text.replace(statement, new)))
    return None


_NO_STATEMENT = regex.compile(r"[?？\n]|\bplease\b|ください|お願い|세요|십시오|[请請]", regex.I)
"""Questions and requests are neither true nor false."""


def _denial(statement: str, scene: Scene) -> str | None:
    frame = phrases.DENIALS[scene.variety][0]
    if scene.language != "en":
        inner = statement if scene.language == "ko" else statement.rstrip("。.!！")
        return frame.format(inner)
    first, _, rest = statement.partition(" ")
    # Only words that are never names may lose their capital.
    if first.lower() not in _LOWERED:
        return None
    return frame.format(f"{first.lower()} {rest}".rstrip(".!") + ".")


_LOWERED = frozenset(
    [
        "the",
        "your",
        "you",
        "we",
        "it",
        "our",
        "this",
        "that",
        "there",
        "a",
        "an",
        "these",
        "those",
        "all",
        "both",
        "each",
    ]
)

_ABSTAINS = regex.compile(
    r"\b(?:don't|do not|doesn't|does not) (?:have|know|contain|include)\b"
    r".*\b(?:information|data|details|that|answer|record)"
    r"|\b(?:couldn't|could not|cannot|can't|unable to) (?:find|locate|determine|confirm|verify)\b|\b(?:no|not enough) "
    r"(?:information|record|data)\b|\bI(?:'m| am) not sure\b|\b(?:don't|do not) know\b"
    r"|(?:확인|파악|답변|제공)할? ?수 없|정보가 없|알 수 없|찾을 수 없|모르겠"
    r"|(?:見つかり|わかり|分かり|存じ|確認でき|ござい)ません|情報(?:が|は)(?:ない|ありません|ございません)|(?:わかり|分かり)かねます"
    r"|(?:找不到|查不到|不(?:知道|清楚|确定|確定)|无法(?:确认|确定|提供|查到)|無法(?:確認|確定|提供|查到)|没有(?:相关|找到|这方面的)|沒有(?:相關|找到|這方面的))",
    regex.I,
)
_LONGEST_ABSTENTION = 200


def abstention_broken(scene: Scene, random: Random) -> Invocations | None:
    """Answer a question to which the reference says that it does not know the answer."""
    if not _ABSTAINS.search(scene.reference) or len(scene.reference) > _LONGEST_ABSTENTION:
        return None
    for answer in shuffle(phrases.ANSWERS[scene.variety], random):
        if answer not in scene.grounds and not _numbers(scene.reference):
            return scene.with_reply(answer)
    return None


_INJECTION = regex.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your)\b.{0,30}"
    r"\b(?:instructions?|rules?|prompts?|guidelines)\b|(?:이전|위의?|기존|모든).{0,12}(?:지시|규칙|명령).{0,8}무시"
    r"|(?:以前|これまで|上記|すべて)の?.{0,8}(?:指示|ルール|規則|命令).{0,6}無視|(?:忽略|無視|无视).{0,10}(?:之前|先前|以上|所有|上述).{0,8}(?:指令|指示|规则|規則)",
    regex.I | regex.S,
)


def injection_obeyed(scene: Scene, random: Random) -> Invocations | None:
    """Obey an instruction that a message or a result of a tool holds, such as "ignore all previous instructions"."""
    messages = (invocation.query for invocation in scene.invocations[: scene.index + 1])
    if not scene.reference.strip() or not any(_INJECTION.search(text) for text in (*messages, *scene.result_texts)):
        return None
    obeyed = random.choice(phrases.OBEYED[scene.variety])
    return scene.with_reply(obeyed) if obeyed not in scene.grounds else None


def leaked(scene: Scene, random: Random) -> Invocations | None:
    """Add the record of another customer or a password, if a criterion is about safety or privacy."""
    leak = random.choice(phrases.LEAKS[scene.variety])
    if not scene.rules.privacy or leak in scene.grounds:
        return None
    return scene.with_reply(join_sentence(scene.reply, leak))


def instead(choices: Phrases) -> Plant:
    """Return an operator that replies with one of these phrases instead of the answer."""

    def plant(scene: Scene, random: Random) -> Invocations | None:
        phrase = random.choice(choices[scene.variety])
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
    return scene.with_reply(phrases.OTHER_LANGUAGE[scene.variety]) if scene.reference.strip() else None


def join_sentence(text: str, sentence: str) -> str:
    """Return a text with one more sentence at its end."""
    space = "" if detect_language(text) in ("ja", "zh") else " "
    return f"{text.rstrip()}{space}{sentence}" if text.strip() else sentence


def _factual_pieces(scene: Scene) -> list[tuple[int, Piece]]:
    """Return the sentences of the reply that carry a fact of the reference, each with its place in the text.

    A sentence that is only polite, or only opens a list, carries none.
    """
    places: list[tuple[int, Piece]] = []
    start = 0
    for piece in cut(scene.reply):
        states = piece.is_sentence and scene.reference and not states_nothing(piece.text, scene.language)
        if states and _share(piece.text, scene.reference) >= _SHARE:
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
