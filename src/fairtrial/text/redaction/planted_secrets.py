"""Secrets that are planted to measure the redaction, and texts that only look like secrets."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import resources

from fairtrial.records.record import Record
from fairtrial.text.redaction.key_forms import read_forms

_PART = re.compile(
    r"(?P<set>\[(?:\\.|[^\]\\])+\])|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<other>\|)|(?P<sign>\\?.)", re.DOTALL
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}|([?*+])")
_MOST = 40
"""The most repetitions where a form names no number, and the most above the least number."""


def make_text(form: str, chance: random.Random) -> str:
    """Return a random text of a form.

    A form is a pattern of literals, sets such as `[a-z0-9]`, groups, alternatives and numbers of repetitions.
    """
    return _make_group(_read(form), chance)


class _Group:
    """Alternatives, each a list of parts with the least and the most repetitions."""

    def __init__(self) -> None:
        self.alternatives: list[list[tuple[str | _Group, int, int]]] = [[]]


@lru_cache(maxsize=1024)
def _read(form: str) -> _Group:
    stack = [_Group()]
    place = 0
    while place < len(form):
        part = _PART.match(form, place)
        if part is None:
            raise ValueError(form)
        place = part.end()
        if part["open"]:
            stack.append(_Group())
            continue
        if part["other"]:
            stack[-1].alternatives.append([])
            continue
        item: str | _Group
        inner = _expand(part["set"][1:-1]) if part["set"] else (part["sign"] or "")[-1:]
        item = stack.pop() if part["close"] else inner
        repeat = _REPEAT.match(form, place)
        least, most = 1, 1
        if repeat is not None:
            place = repeat.end()
            least, most = _limits(repeat)
        stack[-1].alternatives[-1].append((item, least, most))
    (whole,) = stack
    return whole


def _limits(repeat: re.Match[str]) -> tuple[int, int]:
    if repeat[3]:
        return {"?": (0, 1), "*": (0, _MOST), "+": (1, _MOST)}[repeat[3]]
    least = int(repeat[1])
    is_exact = "," not in repeat[0]
    return least, least if is_exact else min(int(repeat[2] or least + _MOST), least + _MOST)


@lru_cache(maxsize=1024)
def _expand(inner: str) -> str:
    """Return all characters of a set."""
    characters = ""
    for start, end, sign in re.findall(r"(\w)-(\w)|\\?(.)", inner):
        characters += sign or "".join(map(chr, range(ord(start), ord(end) + 1)))
    return characters


def _make_group(group: _Group, chance: random.Random) -> str:
    text = ""
    for item, least, most in chance.choice(group.alternatives):
        for _ in range(chance.randint(least, most)):
            text += chance.choice(item) if isinstance(item, str) else _make_group(item, chance)
    return text


LOOK_ALIKE = "look-alike"
PERSON = "person"
_PLACE = re.compile(r"\{([a-z]+(?:64)?(?:_\d+)?)\}")
_KEY_PLACES = ("key: {}", "see {} in the log", '{{"note": "{}"}}', "-H x:{} \\", "({})")
_NAMED_PLACES = ('{name} = "{key}"', "{name}: {key}", "export {upper}={key}", '{{"{name}": "{key}"}}')
_WORDS = (
    *(
        "abandon",
        "ability",
        "absent",
        "acid",
        "again",
        "album",
        "apple",
        "arrow",
        "autumn",
        "badge",
        "bamboo",
        "basket",
    ),
    *("beach", "better", "bird", "blast", "bridge", "bubble", "cabin", "canoe", "carbon", "castle", "cement", "cherry"),
)


class Canary(Record, frozen=True):
    """A planted text, and the secret in it. A look-alike has no secret: the whole text must stay."""

    group: str
    kind: str
    text: str
    secret: str


def make_canaries(count: int, chance: random.Random, *, people: bool = False) -> Iterator[Canary]:
    """Yield some canaries of each kind: of each form of key, and of each text of the table."""
    for form in read_forms():
        for _ in range(count):
            key = make_text(form.form, chance)
            if form.keyword:
                place, group = chance.choice(_NAMED_PLACES), "key beside the name of its provider"
                text = place.format(name=form.keyword, upper=form.keyword.upper(), key=key)
            else:
                text, group = chance.choice(_KEY_PLACES).format(key), "key of a provider"
            secret = key[len(form.literal) :] if form.literal.endswith("=") else key
            yield Canary(group, f"{form.owner} {form.literal or form.keyword}", text, secret)
    for group, text in _read_texts():
        if group == PERSON and not people:
            continue
        for _ in range(count):
            yield _fill(group, text, chance)


def _read_texts() -> list[tuple[str, str]]:
    table = (
        resources.files("fairtrial").joinpath("text", "redaction", "planted_secrets.tsv").read_text(encoding="utf-8")
    )
    rows = (line.partition("\t") for line in table.splitlines()[1:])
    return [(group, text.replace("\\n", "\n")) for group, _, text in rows]


def _fill(group: str, text: str, chance: random.Random) -> Canary:
    values: list[str] = []

    def fill(match: re.Match[str]) -> str:
        values.append(_make(match[1], chance))
        return values[-1]

    filled = _PLACE.sub(fill, text)
    if group == LOOK_ALIKE:
        secret = ""
    elif group == PERSON:
        secret = filled
    else:
        secret = values[-1]
    return Canary(group, text, filled, secret)


def _make(name: str, chance: random.Random) -> str:
    kind, _, size = name.partition("_")
    forms: dict[str, str] = {
        "key": "[A-Za-z][A-Za-z0-9]{30}[0-9]",
        "code": "[1-9][0-9]{5}",
        "four": "[1-9][0-9]{3}",
        "two": "[1-9][0-9]",
        "day": "1[0-9]",
        "hash": "[A-Za-z0-9./]{43}",
        "uuid": "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        "hex": f"[0-9a-f]{{{size}}}",
        "base64": f"[A-Za-z0-9]{{{size}}}",
    }
    if kind in forms:
        return make_text(forms[kind], chance)
    return _MADE[kind](chance)


def _password(chance: random.Random) -> str:
    return make_text("[A-Za-z]{4}[0-9]{2}[A-Za-z0-9!*_]{5}[A-Za-z0-9]", chance)


def _word(chance: random.Random) -> str:
    return f"{chance.choice(_WORDS)}{chance.randint(1, 99)}{chance.choice(_WORDS)}"


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _web_token(chance: random.Random) -> str:
    header = _encode('{"alg":"HS256","typ":"JWT"}').rstrip("=")
    body = _encode(f'{{"sub":"{chance.randrange(10**9)}"}}').rstrip("=")
    return f"{header}.{body}.{make_text('[A-Za-z0-9_-]{43}', chance)}"


_MADE: dict[str, Callable[[random.Random], str]] = {
    "password": _password,
    "word": _word,
    "words": lambda chance: " ".join(chance.sample(_WORDS, 12)),
    "userinfo": lambda chance: _encode(f"app:{_password(chance)}"),
    "jwt": _web_token,
    "pem": lambda chance: "\n".join(make_text("[A-Za-z0-9+/]{64}", chance) for _ in range(4)),
}
