"""Compare a value with a check: a reply, or an argument of a call. Each finding says what was expected and got."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairtrial.records.equality import equal_json
from fairtrial.records.score import FaultSide, Quote
from fairtrial.text.display import compact, shorten, visible_line
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.user_patterns import user_pattern
from fairtrial.valuation import embed

if TYPE_CHECKING:
    from fairtrial.records.check import Check
    from fairtrial.records.record import Json

_LONGEST = 80
_AROUND = 60
"""The number of characters beside a place that are quoted."""
_FENCE = "```"


class Finding(NamedTuple):
    """What a check found. `holds` None means that nobody can know, or that the check does not apply."""

    holds: bool | None
    reason: str = ""
    quotes: tuple[Quote, ...] = ()
    side: FaultSide | None = None
    applicable: bool = True


class Subject(NamedTuple):
    """A value that checks compare, and its name in messages. The ends of a reply do not count, those of others do."""

    value: Json
    name: str
    is_reply: bool = True


HOLDS = Finding(True)


def fold(text: str, *, ignore_case: bool) -> str:
    """Return a text in NFC. With `ignore_case`, capital letters, full width and half width are gone."""
    # Only NFKC joins the full and the half width of a character.
    text = unicodedata.normalize("NFKC", text).casefold() if ignore_case else text
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def equal_texts(actual: str, expected: str, *, ignore_case: bool) -> bool:
    """Return whether two texts are the same, apart from white space at their ends."""
    return fold(actual, ignore_case=ignore_case).strip() == fold(expected, ignore_case=ignore_case).strip()


def contains_text(actual: str, expected: str, *, ignore_case: bool) -> bool:
    """Return whether a text contains another."""
    return fold(expected, ignore_case=ignore_case) in fold(actual, ignore_case=ignore_case)


def difference_place(actual: str, expected: str, *, ignore_case: bool) -> int:
    """Return the position in the actual text, from 0, from which on two texts differ apart from their beginnings."""
    ours, theirs = (fold(text, ignore_case=ignore_case) for text in (actual, expected))
    start = len(ours) - len(ours.lstrip())
    theirs = theirs.lstrip()
    pairs = enumerate(zip(ours[start:], theirs, strict=False))
    common = next((i for i, (our, their) in pairs if our != their), min(len(ours) - start, len(theirs)))
    return _place(actual, start + common, ignore_case=ignore_case)


def compare_value(check: Check, subject: Subject, embedder: str) -> Finding:
    """Return whether a value satisfies a check that is not a group."""
    if check.kind == "similar":
        return _similar(check, subject, embedder)
    return _COMPARE[check.kind](check, subject)


def show(value: Json) -> str:
    """Return a value in a message, cut to a length that one can read."""
    return visible_line(
        f"'{shorten(value, _LONGEST)}'" if isinstance(value, str) else shorten(compact(value), _LONGEST)
    )


def title(check: Check) -> str:
    """Return the name of a check: the one that it has, or its kind and its value."""
    if check.name:
        return check.name
    if check.kind == "not":
        return shorten(f"not ({title(check.checks[0])})", _LONGEST)
    if check.checks:
        return shorten(f" {'or' if check.kind == 'any' else 'and'} ".join(map(title, check.checks)), _LONGEST)
    place = f"{check.tool}.{check.argument} " if check.argument else f"{check.tool} " if check.tool else ""
    value = "" if check.kind == "json_schema" else f" {show(check.value)}"
    return f"{place}{check.kind}{value}"


def _equals(check: Check, subject: Subject) -> Finding:
    value, expected = subject.value, check.value
    if _is_equal(value, expected, check, subject):
        return HOLDS
    reason = f"expected {subject.name} to equal {show(expected)}, got {show(value)}"
    if not isinstance(value, str) or not isinstance(expected, str):
        return Finding(False, reason)
    place = difference_place(value, expected, ignore_case=check.ignore_case)
    return Finding(False, f"{reason}; they differ from character {place + 1} on", _quotes(check, value, place))


def _is_equal(actual: Json, expected: Json, check: Check, subject: Subject) -> bool:
    if isinstance(actual, str) and isinstance(expected, str) and subject.is_reply:
        return equal_texts(actual, expected, ignore_case=check.ignore_case)
    if check.ignore_case:
        actual, expected = _fold_json(actual), _fold_json(expected)
    return equal_json(actual, expected)


def _fold_json(value: Json) -> Json:
    """Return a JSON value whose texts are folded, at any depth. Names of members stay as they are."""
    if isinstance(value, str):
        return fold(value, ignore_case=True)
    if isinstance(value, list):
        return [_fold_json(item) for item in value]
    return {key: _fold_json(item) for key, item in value.items()} if isinstance(value, dict) else value


def _contains(check: Check, subject: Subject) -> Finding:
    needles = _needles(check)
    missing = [needle for needle in needles if _find(needle, check, subject) is None]
    if not missing:
        return HOLDS
    reason = f"expected {subject.name} to contain {' and '.join(map(show, missing))}, got {show(subject.value)}"
    return Finding(False, reason, _quotes(check, subject.value, 0, missing[0]))


def _not_contains(check: Check, subject: Subject) -> Finding:
    for needle in _needles(check):
        place = _find(needle, check, subject)
        if place is not None:
            expected = f"expected {subject.name} not to contain {show(needle)}"
            at = f"at character {place + 1}" if isinstance(subject.value, str) else f"as element {place + 1}"
            return Finding(False, f"{expected}, got it {at}", _quotes(check, subject.value, place, needle))
    return HOLDS


def _needles(check: Check) -> Sequence[Json]:
    return check.value if isinstance(check.value, list) else [check.value]


def _find(needle: Json, check: Check, subject: Subject) -> int | None:
    """Return where a text holds another, or where an array holds an element, from 0. Other values hold nothing."""
    value = subject.value
    if isinstance(value, list):
        return next((i for i, item in enumerate(value) if _is_equal(item, needle, check, subject)), None)
    if not isinstance(value, str) or not isinstance(needle, str):
        return None
    place = fold(value, ignore_case=check.ignore_case).find(fold(needle, ignore_case=check.ignore_case))
    return None if place == -1 else _place(value, place, ignore_case=check.ignore_case)


def _starts_with(check: Check, subject: Subject) -> Finding:
    value = subject.value
    ignore_case = check.ignore_case
    if isinstance(value, str):
        text, start = fold(value, ignore_case=ignore_case), fold(check.value, ignore_case=ignore_case)
        if (text.lstrip() if subject.is_reply else text).startswith(start.lstrip() if subject.is_reply else start):
            return HOLDS
    reason = f"expected {subject.name} to start with {show(check.value)}, got {show(value)}"
    return Finding(False, reason, _quotes(check, value, 0))


def _compare_choices(check: Check, subject: Subject) -> Finding:
    if any(_is_equal(subject.value, expected, check, subject) for expected in check.value):
        return HOLDS
    allowed = shorten(", ".join(map(show, check.value)), 2 * _LONGEST)
    reason = f"expected {subject.name} to be one of {allowed}, got {show(subject.value)}"
    return Finding(False, reason, _quotes(check, subject.value, 0, allowed))


def _regex(check: Check, subject: Subject) -> Finding:
    value = subject.value
    if not isinstance(value, str):
        return Finding(False, f"expected {subject.name} to be a text that matches {check.value}, got {show(value)}")
    # Capital letters are the pattern's business: only the width of the text changes.
    text = unicodedata.normalize("NFKC" if check.ignore_case else "NFC", value)
    try:
        match = user_pattern(check.value, ignore_case=check.ignore_case).search(text)
    except TimeoutError as error:
        return Finding(None, f"the expression {shorten(check.value, _LONGEST)} {error}", side="expectation")
    if match is not None:
        return HOLDS
    reason = f"expected {subject.name} to match {shorten(check.value, _LONGEST)}, got {show(value)}"
    return Finding(False, reason, _quotes(check, value, 0))


def _json_schema(check: Check, subject: Subject) -> Finding:
    value = subject.value
    if subject.is_reply and isinstance(value, str):
        text = _unfence(value) if check.fenced else value
        try:
            value = msgspec.json.decode(text)
        except (ValueError, RecursionError) as error:
            hint = "; JSON in a code block needs 'fenced': true" if _unfence(value) != value else ""
            reason = f"expected {subject.name} to be JSON, got {show(subject.value)}: {error}{hint}"
            return Finding(False, reason, (Quote(shorten(subject.value, 2 * _AROUND), "actual"),))
    try:
        problem = json_schema(check.value).find_problem(value)
    except ValueError as error:
        return Finding(None, f"the schema cannot be used: {error}", side="expectation")
    if problem is None:
        return HOLDS
    at = f" at {problem.pointer}" if problem.pointer else ""
    return Finding(False, f"expected {subject.name} to fit the schema, got a misfit{at}: {problem.message}")


def _unfence(text: str) -> str:
    """Return the content of a text that is one Markdown code block, or the text itself."""
    stripped = text.strip()
    first, _, rest = stripped.partition("\n")
    if not first.startswith(_FENCE) or not rest.endswith(_FENCE):
        return text
    return rest.removesuffix(_FENCE)


def _similar(check: Check, subject: Subject, embedder: str) -> Finding:
    if not isinstance(subject.value, str) or not subject.value.strip():
        reason = f"expected {subject.name} to be a text similar to {show(check.value)}, got {show(subject.value)}"
        return Finding(False, reason)
    texts = [subject.value, check.value]
    encode = _embedder(embedder)
    for name, limits in zip((subject.name, "the expected text"), embed.reservations(texts, encode), strict=True):
        if limits.language is not None:
            reason = f"{name} is {limits.language}, and the embedder {embedder} knows English only"
            return Finding(None, f"{reason}; 'multilingual' knows more", side="infrastructure")
        if limits.tokens is not None and limits.tokens.seen < limits.tokens.all:
            reason = f"{name} has {limits.tokens.all} tokens, and the embedder {embedder} sees {limits.tokens.seen}"
            return Finding(None, reason, side="infrastructure")
    ours, theirs = encode(texts)
    similarity = float(ours @ theirs)
    if similarity >= check.threshold:
        return HOLDS
    expected = f"expected {subject.name} to be similar to {show(check.value)} by at least {check.threshold:g}"
    return Finding(False, f"{expected}, got {similarity:.3f}", _quotes(check, subject.value, 0))


@lru_cache(maxsize=4)
def _embedder(name: str) -> Any:
    return embed.embedder(name)


def _quotes(check: Check, value: Json, place: int, expected: Json = None) -> tuple[Quote, ...]:
    """Return the expected value, and the part of a text around a place."""
    if not isinstance(value, str):
        return ()
    start = max(0, place - _AROUND // 2)
    end = start + 2 * _AROUND
    excerpt = f"{'…' if start else ''}{value[start:end]}{'…' if end < len(value) else ''}"
    wanted = check.value if expected is None else expected
    shown = wanted if isinstance(wanted, str) else compact(wanted)
    return Quote(shorten(shown, 2 * _AROUND), "expected"), Quote(excerpt, "actual")


def _place(text: str, folded_place: int, *, ignore_case: bool) -> int:
    """Return the position in a text of a position in its folded form, which may have another length."""
    if fold(text, ignore_case=ignore_case) == text:
        return folded_place
    ends = range(1, len(text) + 1)
    return bisect_right(ends, folded_place, key=lambda end: len(fold(text[:end], ignore_case=ignore_case)))


_COMPARE: dict[str, Callable[[Check, Subject], Finding]] = {
    "equals": _equals,
    "contains": _contains,
    "not_contains": _not_contains,
    "starts_with": _starts_with,
    "one_of": _compare_choices,
    "regex": _regex,
    "json_schema": _json_schema,
}
