"""Negation of English sentences. Auxiliaries decide. For example, "is" becomes "is not"."""

from __future__ import annotations

import regex

_LEFT_ALONE = regex.compile(
    r"\?|\b(?:no|never|neither|nor|none|nothing|nobody|without|hardly|only|unless|whether|if|let me know|feel free"
    r"|sorry|thank|thanks)\b",
    regex.I,
)
_PARTICIPLE = (
    r"(?:\w+ly )?(?:already )?(?:\w+ed|been|sent|found|made|got|paid|done|set|put|left|lost|kept|sold|bought"
    r"|taken|given|written|chosen|shown|begun|gone)\b"
)
_OBJECT = (
    r"(?:an?|the|your|our|my|some|any|this|that|these|enough|access|\d[\d.,]*|one|two|three|four|five|six|seven|eight"
    r"|nine|ten)\b"
)
_PREDICATE = regex.compile(
    r"(?P<cannot>\b(?:can't|cannot|can not)\b)|(?P<wont>\b(?:won't|will not)\b)"
    r"|(?P<do_not>\bdo(?:n't| not) (?P<verb>\w+))|(?P<unknown>\b(?:does|did)(?:n't| not)\b)"
    r"|(?P<undone>\b(?P<aux>is|are|was|were|has|have|had|could|would|should|must|might|may)(?:n't| not)\b)"
    r"|(?P<will>\w+'ll\b)|(?P<short>\b(?:it's|that's|I'm|\w+'re)(?= ))|(?P<have>\w+'ve(?= " + _PARTICIPLE + "))"
    r"|(?P<perfect>\b(?:has|have|had)(?= " + _PARTICIPLE + "))"
    r"|(?P<owns>\b(?P<own>has|have|had)(?= " + _OBJECT + "))|(?P<other_have>\b(?:has|have|had)\b)"
    r"|(?P<can>(?<!\b[Aa] )(?<!\b[Tt]he )\bcan\b)|(?P<may>\bmay\b)"
    r"|(?P<plain>\b(?:is|are|was|were|will|could|would|should|must|might)\b)",
    regex.I,
)
_NEGATED = {"cannot": "can", "wont": "will", "can": "cannot"}
_WORDS = ("aux", "own", "verb")
"""Groups inside the groups of the kinds of predicates."""
_DO = {"has": "does", "have": "do", "had": "did"}


def negate(sentence: str) -> str | None:
    """Return a sentence with its predicate negated, or un-negated. None if no rule fits exactly one predicate."""
    text = sentence.replace("’", "'")
    matches = [match for match in _PREDICATE.finditer(text) if not _is_month(match)]
    if len(matches) != 1 or _LEFT_ALONE.search(text):
        return None
    match = matches[0]
    changed = _make_change(match)
    if changed is None:
        return None
    return text[: match.start()] + changed + text[match.end() :]


def _is_month(match: regex.Match[str]) -> bool:
    return bool(match[0] == "May")


def _make_change(match: regex.Match[str]) -> str | None:
    """Return the new text of a predicate, or None if its negation needs more than these rules know."""
    kind = next(name for name in match.groupdict() if name not in _WORDS and match[name] is not None)
    word: str = match[0]
    if kind in ("unknown", "other_have"):
        return None
    changes = {
        "do_not": match["verb"],
        "undone": match["aux"],
        "owns": f"{_DO.get(word.lower(), '')} not have",
        "will": f"{word[:-3]} will not",
        "have": f"{word[:-3]} have not",
    }
    return _as_capital(word, changes.get(kind) or _NEGATED.get(kind) or f"{word} not")


def _as_capital(word: str, changed: str) -> str:
    return changed[0].upper() + changed[1:] if word[0].isupper() else changed
