"""Operators that no user would mind: another order of keys, other white space, another form of the same words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import regex
from msgspec.structs import replace

from fairtrial.mutations import phrases
from fairtrial.mutations.calls import call_at, call_places, depends, exchange_calls, expected_calls, neighbours
from fairtrial.mutations.courtesy import states_nothing
from fairtrial.mutations.operator import Invocations, Scene, shuffle
from fairtrial.mutations.politeness import is_informal, other_level
from fairtrial.mutations.text_values import numbers
from fairtrial.records.trace import ToolCall
from fairtrial.text.facts.polarity import is_negative
from fairtrial.text.language import detect_language
from fairtrial.text.sentences import cut

_WIDE = str.maketrans("0123456789%", "０１２３４５６７８９％")
_WHOLE_AMOUNT = regex.compile(r"[1-9]\d{3,11}(?![\d.])")
_CURRENCY = regex.compile(r"[$€£₩¥￥]\s?\Z")
_UNIT = regex.compile(r"[\d,]+(?:\.\d+)? ?(?:원|円|元|ドル|달러|dollars|euros|won|yen|km|kg|명|개|人|個|个)")
_NARROW = str.maketrans("０１２３４５６７８９％", "0123456789%")


def keys_reordered(scene: Scene, random: Random) -> Invocations | None:
    """Write the arguments of a call in the opposite order."""
    places = [place for place in call_places(scene) if len(call_at(scene, place).args) > 1]
    if not places:
        return None
    place = random.choice(places)
    call = call_at(scene, place)
    reordered = replace(call, args=dict(reversed(call.args.items())))
    return scene.with_steps((*scene.steps[:place], reordered, *scene.steps[place + 1 :]))


def independent_calls_swapped(scene: Scene, random: Random) -> Invocations | None:
    """Exchange two calls that do not use each other's results, if the order of these calls is free."""
    if scene.rules.order not in ("ANY_ORDER", "IN_ORDER"):
        return None
    expected = {call.name for call in expected_calls(scene)}
    for first, second in shuffle(neighbours(scene), random):
        in_order = scene.rules.order == "IN_ORDER"
        if in_order and {call_at(scene, first).name, call_at(scene, second).name} <= expected:
            continue
        if not depends(scene, first, second) and not depends(scene, second, first):
            return scene.with_steps(exchange_calls(scene.steps, first, second))
    return None


def optional_call_added(scene: Scene, random: Random) -> Invocations | None:
    """Call a tool that the criteria call optional."""
    if not scene.rules.optional_tools or scene.invocation.steps is None:
        return None
    return scene.with_steps((*scene.steps, ToolCall(random.choice(sorted(scene.rules.optional_tools)))))


def whitespace(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Put an empty line in the place of the first space between sentences, or at the end."""
    pieces = cut(scene.reply)
    for i, piece in enumerate(pieces[1:-1], 1):
        if not piece.is_sentence and not piece.text.strip():
            return scene.with_reply(
                "".join(p.text for p in (*pieces[:i],)) + "\n\n" + "".join(p.text for p in pieces[i + 1 :])
            )
    return scene.with_reply(f"{scene.reply}\n\n") if scene.reply else None


def markdown_toggled(scene: Scene, random: Random) -> Invocations | None:
    """Remove bold marks, or make one number bold."""
    if regex.search(r"\*\*[^*\n]+\*\*", scene.reply):
        return scene.with_reply(regex.sub(r"\*\*([^*\n]+)\*\*", r"\1", scene.reply))
    values = numbers(scene.reply)
    if not values or "`" in scene.reply or "*" in scene.reply:
        return None
    start, end, _ = random.choice(values)
    return scene.with_reply(f"{scene.reply[:start]}**{scene.reply[start:end]}**{scene.reply[end:]}")


def number_format(scene: Scene, random: Random) -> Invocations | None:
    """Write a number without its separators or its empty decimals, or with separators: "1,000", "1000", "1000.0"."""
    for value in shuffle(numbers(scene.reply), random):
        number_text = scene.reply[value.start : value.end]
        whole, _, decimals = number_text.partition(".")
        if decimals and not decimals.strip("0") and _has_unit(scene.reply, value.start):
            replacement = whole
        elif "," in number_text:
            replacement = number_text.replace(",", "")
        elif _is_amount(scene.reply, value.start):
            replacement = f"{int(number_text):,}"
        else:
            continue
        return scene.with_reply(scene.reply[: value.start] + replacement + scene.reply[value.end :])
    return None


def _is_amount(reply: str, start: int) -> bool:
    """Return whether a whole number from 1000 on stands beside a currency or unit. Ids and years have no separators."""
    return bool(_WHOLE_AMOUNT.match(reply, start)) and _has_unit(reply, start)


def _has_unit(reply: str, start: int) -> bool:
    """Return whether the number at a place stands beside a currency or a unit."""
    return bool(_CURRENCY.search(reply[:start]) or _UNIT.match(reply, start))


def polite_frame(scene: Scene, random: Random) -> Invocations | None:
    """Put a polite sentence before the reply. "Gladly." stands before no reply that says no, or yes already."""
    if not scene.reply.strip():
        return None
    frames = phrases.FRAMES[scene.variety]
    first = next((piece.text for piece in cut(scene.reply) if piece.is_sentence), "")
    if _ANSWER.match(first) or is_negative(first):
        frames = frames[:1]
    space = "" if scene.language in ("ja", "zh") else " "
    return scene.with_reply(f"{random.choice(frames)}{space}{scene.reply}")


_ANSWER = regex.compile(
    r"\W*(?:(?:yes|no|sorry|unfortunately|apologies|thank|(?:i|we) understand|you(?:['’]re| are) (?:\w+ )?welcome"
    r"|(?:i|we)(?:['’]m| am|['’]re| are)? (?:\w+ )?(?:sorry|afraid|apologi[sz]e))\b|네[,. ]|예[,. ]|아니|죄송|안타깝"
    r"|유감|はい|いいえ|申し訳|恐れ入|残念|あいにく|是的|不是|不[，,。]|抱歉|对不起|對不起|很遗憾|很遺憾|好的)",
    regex.I,
)
"""How a reply begins that says yes or no, or that apologises."""


_MOST_RESTATED = 300
"""The number of characters of the longest message that a reply repeats."""


def question_restated(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Repeat the message of the user before the reply, if both are in one language."""
    query = scene.invocation.query.strip()
    is_short = 0 < len(query) <= _MOST_RESTATED and "\n" not in query
    if not is_short or detect_language(query) != scene.language or not scene.reply.strip() or query in scene.reply:
        return None
    return scene.with_reply(f"{phrases.RESTATED[scene.variety][0].format(query)}\n\n{scene.reply}")


def summed_up(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Repeat the first of several statements of the reply at its end, as a summary. A list is left alone."""
    sentences = [piece.text.strip() for piece in cut(scene.reply) if piece.is_sentence]
    statements = [text for text in sentences if not states_nothing(text, scene.language)]
    if len(statements) < 2 or not regex.search(r"[.。!！]\Z", statements[0]) or "\n" in scene.reply.strip():
        return None
    return scene.with_reply(f"{scene.reply.rstrip()}\n\n{phrases.SUMMARIES[scene.variety][0].format(statements[0])}")


def politeness_level(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Write sentences in another level of politeness: 합니다체 as 해요체, です・ます as だ・である.

    The other level must stand in a reply that the eval set expects elsewhere. To a customer, だ is not harmless.
    """
    changed = other_level(scene.reply, scene.language)
    if changed is None or not any(is_informal(reply, scene.language) for reply in _expected_elsewhere(scene)):
        return None
    return scene.with_reply(changed)


def _expected_elsewhere(scene: Scene) -> Iterator[str]:
    for case in scene.other_cases:
        yield from (invocation.reply for invocation in case.conversation or ())
    for place, invocation in enumerate(scene.case.conversation or ()):
        if place != scene.index:
            yield invocation.reply


def full_width(scene: Scene, random: Random) -> Invocations | None:
    """Write the digits of a number in full width, or in half width if they are wide."""
    values = numbers(scene.reply)
    if not values:
        return None
    start, end, _ = random.choice(values)
    number_text = scene.reply[start:end]
    replacement = number_text.translate(_WIDE) if number_text.isascii() else number_text.translate(_NARROW)
    return scene.with_reply(scene.reply[:start] + replacement + scene.reply[end:])


def synonym(scene: Scene, random: Random) -> Invocations | None:
    """Put a word of the same meaning in the place of a word."""
    pairs = phrases.SYNONYMS[scene.variety]
    for word, replacement in shuffle([*pairs, *((replacement, word) for word, replacement in pairs)], random):
        if word not in scene.reply or _is_risky(word):
            continue
        matches = list(_pattern(word, is_english=scene.language == "en").finditer(scene.reply))
        if matches:
            match = random.choice(matches)
            return scene.with_reply(scene.reply[: match.start()] + replacement + scene.reply[match.end() :])
    return None


@cache
def _pattern(word: str, *, is_english: bool) -> regex.Pattern[str]:
    before, after = (r"\b", r"\b") if is_english else (r"(?<![\p{Han}\p{Hangul}\p{Katakana}])", "")
    if word in _ALSO_NOUNS:
        before = r"(?i:(?<=\b(?:to|can|could|may|might|will|would|must|ll|not|i|we|you|they|it) ))"
    return regex.compile(f"{before}{regex.escape(word)}{after}")


_ALSO_NOUNS = frozenset(["help", "start", "starts"])
"""Verbs that are nouns, too: "anything else you need help with" is no "assist". The word before them decides."""


def _is_risky(word: str) -> bool:
    """Return whether a word has other meanings, so that it is only put in and never taken out."""
    return word in {"like", "But", "about", "今", "大概", "约", "約", "big"}
