"""Find keys that only the name of their provider shows: `DATADOG = 4f3c...`, `"heroku": "0f8b..."`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import accumulate

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.key_forms import KeyForm, measure_entropy, read_forms
from fairtrial.text.redaction.secret_values import is_mixed, is_placeholder

_LEAST_ENTROPY = 2.5
_LEAST_STRONG = 3.5
_LEAST_OF_HEX = 2.2
_SIZE_OF_HEX = 40
"""The size of a key in hex behind the name of a provider alone. Other sizes are those of traces and checksums."""
_START = 3
"""So many letters at the start of a word in a name show which providers the name may contain."""
_SHORTEST = 16
_SHORTEST_DRAWN = 20
_MOST_VOWELS = 0.3
_VALUE = LazyPattern(r"[A-Za-z0-9+/=_.~!:-]{16,1200}")
_DIGIT = LazyPattern(r"[0-9]")
_LETTERS = LazyPattern(rf"[A-Za-z]{{{_SHORTEST_DRAWN}}}")
"""So many letters in a row may be a drawn key without a digit."""
_NAME_BACKWARDS = LazyPattern(r"[\w.-]{2,60}[A-Za-z]")
_LONGEST_BEFORE = 80
_DESCRIBES = LazyPattern(
    r"(?:sha\d*|hash|digest|commit|revision|rev|version|checksum|etag|md5|id|ids|ref|run|build|trace|span|request|session"
    r"|image|model|url|uri|path|file|name|event|issue|ticket|order|user|account|project|number|integrity)s?\Z"
)
"""The last word of a name that does not name a key."""
_COMMON = LazyPattern(
    r"(?:api|key|keys|token|secret|access|private|public|auth|app|pat|bot|licen[cs]e|client|sdk|rest|server|web|webhook|hook"
    r"|signing|crumb|cred\w*|value|default|io|prod\w*|dev\w*|test|staging|live|my|the|old|new|react|next|vite|export|env|config"
    r"|admin|service|ingest|write|read|login|password|pass|cloud|ai|x|\d+)\Z"
)
"""The words that may stand beside a provider's name in the name of a key. Others name something else."""
_CAMEL_CASE = LazyPattern(r"[A-Za-z][a-z]+(?:\d{0,4}[A-Z][a-z]+){2,}(?:[A-Z]?\d{0,4}){1,2}")
_UUID = LazyPattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORD = LazyPattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


_WORD_BACKWARDS = LazyPattern(r" ([a-zA-Z0-9]{3,24})(?![\w.@/-])")
_LONGEST_ALONE = 27
_SIGNS = "=:,|>"
_QUOTES = "\"'`( \t"
_JOINS = "-.:"
_LAST_WORDS = ("access", "private", "secret", "token", "key")
"""The last word of a name without a sign after it: the Heroku key 0f8b..."""
_JOINED = LazyPattern(rf"(?:{'|'.join(_LAST_WORDS)})[-.]", flags=re.IGNORECASE)
"""The end of a name before its key in one word: `fileio_ACCESS-9f2c...`."""
_LONGEST_JOINED = 60
_COMMITS = frozenset({"github", "gitlab", "bitbucket", "gitea", "gerrit", "git", "docker", "dockerhub", "npm"})
"""The names behind which a number in hex is a commit or an image."""
_HEX = LazyPattern(r"(?:[0-9a-f]{32,}|[0-9A-F]{32,}|\d{20,})")
_STRONG = LazyPattern(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d.*\d)[A-Za-z0-9_-]{20,200}={0,2}"
    r"|(?=(?:\d*[a-z]+){4})(?=(?:[a-z]*\d){4})[a-z0-9]{24,200}"
)
"""Letters of both cases and digits, or letters and digits mixed, as in no word, name or number of a thing."""
_WORDS = LazyPattern(r"(?:.*?[A-Z][a-z]{3}){2}")
"""Two words with a capital each, as in the name of a resource."""
_TELLING = LazyPattern(r"(?:[\w.-]*[\W_\d])?(?:access|private|secret|token)", flags=re.IGNORECASE)
"""A name whose last word announces a key of any provider."""


def find_beside(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the key in a long word, if the name of a provider stands before it. A name may be part of the word.

    A word such as `secret` before a value that can hardly be anything but drawn counts like a name.
    """
    if not (_DIGIT.search(text, start, end) or _LETTERS.search(text, start, end) or text.startswith("!", end)):
        return  # most long words are names, for example of tools
    signs = (text.rfind("=", start, end - _SHORTEST) + 1, text.rfind(":", start, end - _SHORTEST) + 1)
    joins = [match.end() for match in _JOINED.finditer(text, start, min(end - _SHORTEST, start + _LONGEST_JOINED))]
    for place in (start, *sorted(filter(None, signs), reverse=True), *joins):
        names = _names_before(text, place)
        alone = "" if names else _word_before(text, place)
        match = _VALUE.match(text, place) if names or alone else None
        if match is not None:
            value = match[0].rstrip(".:")
            owner = next(filter(None, [owner_under(name, value) for name in names]), "")
            if not owner and _is_strong(value):
                owner = _find_provider(alone, value) if alone else "announced" if _TELLING.fullmatch(names[0]) else ""
            if owner:
                yield place, place + len(value), f"{owner} key"
                return


def owner_under(name: str, value: str) -> str:
    """Return the provider that a name contains, if the value has the form of its keys, or an empty string."""
    for form in forms_under(name):
        is_key = re.fullmatch(form.form, value) and not is_placeholder(value)
        if form.source == "names":  # nobody knows the form of the provider's keys
            is_key = (is_key or _is_announced_uuid(name, value)) and not _CAMEL_CASE.fullmatch(value)
        is_key = is_key and (is_mixed(value) or _is_drawn(name, value))
        least = _LEAST_OF_HEX if _HEX.fullmatch(value) else max(form.entropy, _LEAST_ENTROPY)
        if is_key and measure_entropy(value) >= least:
            return form.owner
    return ""


def _is_strong(value: str) -> bool:
    """Return whether a value can hardly be anything but drawn."""
    if is_placeholder(value) or _CAMEL_CASE.fullmatch(value) or _WORDS.match(value):
        return False
    if _HEX.fullmatch(value):
        return is_mixed(value) and measure_entropy(value) >= _LEAST_ENTROPY
    return _STRONG.fullmatch(value) is not None and measure_entropy(value) >= _LEAST_STRONG


def _find_provider(name: str, value: str) -> str:
    """Return the provider whose name alone stands before a value, if the value is no number of a commit."""
    lowered = name.lower()
    if _HEX.fullmatch(value) and (len(value) != _SIZE_OF_HEX or lowered in _COMMITS):
        return ""
    return next((form.owner for form in forms_under(name) if _join_keyword(form) == lowered), "")


def _word_before(text: str, place: int) -> str:
    """Return the word before the space before a place, or an empty text: `wandb 9f2c...`."""
    match = _WORD_BACKWARDS.match(text[max(0, place - _LONGEST_ALONE) : place][::-1])
    return "" if match is None else match[1][::-1]


def _is_announced_uuid(name: str, value: str) -> bool:
    """Return whether a value is a UUID that a word such as `key` announces. Others name things."""
    return _UUID.fullmatch(value) is not None and name.lower().endswith(_LAST_WORDS)


def _is_drawn(name: str, value: str) -> bool:
    """Return whether letters or digits alone look drawn, under a name such as `token`. Words have more vowels."""
    is_long = len(value) >= _SHORTEST_DRAWN and value.isalnum() and name.lower().endswith(_LAST_WORDS)
    is_hex = _HEX.fullmatch(value) is not None
    return is_long and (is_hex or sum(map(value.lower().count, "aeiou")) <= _MOST_VOWELS * len(value))


def forms_under(name: str) -> tuple[KeyForm, ...]:
    """Return the forms of the providers that a name contains. A long text is no name."""
    return _forms_under(name) if len(name) <= _LONGEST_BEFORE else ()


@lru_cache(maxsize=512)
def _forms_under(name: str) -> tuple[KeyForm, ...]:
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or _DESCRIBES.match(words[-1]):
        return ()
    whole = "".join(words)
    starts = {whole[place : place + _START] for place in accumulate(map(len, words), initial=0)}
    groups = _by_start()
    named = [form for start in sorted(starts) for form in groups.get(start, ()) if _join_keyword(form) in whole]
    return tuple(
        form
        for form in named
        if all(word in _join_keyword(form) or _join_keyword(form) in word or _COMMON.match(word) for word in words)
    )


def _join_keyword(form: KeyForm) -> str:
    return form.keyword.replace("_", "")


def _names_before(text: str, place: int) -> list[str]:
    """Return the possible names before a place: with a sign such as `=` between them, or words such as `Heroku key`."""
    before = text[max(0, place - _LONGEST_BEFORE) : place].rstrip(_QUOTES)
    if not before:
        return []
    if before[-1] not in _SIGNS:
        before = before.rstrip(_JOINS)
        return _end_of_words(before) if before.lower().endswith(_LAST_WORDS) else []
    backwards = before.rstrip(f"{_SIGNS}{_QUOTES}]")[::-1]
    match = _NAME_BACKWARDS.match(backwards)
    if match is None:
        return []
    is_option = match[0][-1] == "D" and backwards[match.end() : match.end() + 1] == "-"  # -Dsonar.login=...
    name = match[0][-2 if is_option else -1 :: -1]
    if not name.lower().endswith(_LAST_WORDS):
        return [name]
    return [name, *_end_of_words(backwards[::-1])[1:]]  # the Heroku key: 0f8b...


def _end_of_words(text: str) -> list[str]:
    """Return the last word of a text, its last two, and its last three."""
    words = text.rsplit(None, 3)[-3:]
    return [" ".join(words[-number:]) for number in range(1, len(words) + 1)]


@cache
def _by_start() -> dict[str, tuple[KeyForm, ...]]:
    groups: dict[str, list[KeyForm]] = {}
    for form in read_forms():
        if form.keyword:
            groups.setdefault(_join_keyword(form)[:_START], []).append(form)
    return {start: tuple(group) for start, group in groups.items()}
