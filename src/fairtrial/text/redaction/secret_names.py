"""Names that announce a secret: `password`, `api_key`, 비밀번호, トークン, 令牌."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from fairtrial.text.lazy_pattern import LazyPattern

NameKind = Literal["password", "other"]

_PASSWORDS = (
    # A check of the character before a word comes after the word: a pattern whose branches all begin with a character
    # is searched several times faster.
    r"pass(?:word|wd|phrase|code|wort)|pwd(?<![a-z]pwd)|pw(?<![a-z]pw)(?![a-z0-9])|kennwort|mot de passe|senha"
    "|identified by|wachtwoord|hasło|şifre|lösenord|mật khẩu|kata sandi|пароль"
    "|비밀번호|비번|암호|패스워드|パスワード|暗証番号|密码|密碼|口令|contraseña"
)
_KEY_WORDS = (
    *("license", "session", "service", "admin", "storage", "jwt", "cipher", "decryption", "deploy", "api", "access"),
    *("private", "account", "signing", "encryption", "master", "auth", "shared", "app", "hmac", "device"),
)
_BEFORE_KEY = LazyPattern(rf"[_-]?sas|[_\- ]?(?:{'|'.join(word[::-1] for word in _KEY_WORDS)})")
"""The text before `key`, backwards, in the names that announce a secret."""
_CORES_OF_MARKS = {
    "pass": LazyPattern(r"pass(?:word|wd|phrase|code|wort|(?<=mot de pass)e|(?![a-z0-9_-]))"),
    "cred": LazyPattern("credential"),
    "auth": LazyPattern("authorization"),
}
"""The cores without `key` that begin with a mark or, as `mot de passe`, end with it."""
_OTHER_SECRETS = (
    "secret"
    + "".join(rf"|{word}[_\- ]?key" for word in _KEY_WORDS)
    + r"|sas[_-]?key|token(?!i[sz])|credential|authorization(?![a-z_-])|pass(?<![a-z]pass)(?![a-z0-9_-])"
    "|비밀키|인증키|api ?키|토큰|시크릿(?: ?키)?|秘密鍵|トークン"
    "|シークレット(?:キー)?|apiキー|アクセスキー|密钥|密鑰|金鑰|令牌|权杖|權杖"
    "|clave_secreta|clave secreta"
)
_CORE = LazyPattern(f"{_PASSWORDS}|{_OTHER_SECRETS}")
_PASSWORD = LazyPattern(_PASSWORDS)
MARKS = (
    *("pass", "pw", "secret", "key", "token", "credential", "bearer", "auth", "cookie", "kennwort"),
    *("mot de passe", "senha", "identified by", "비밀번호", "비번", "암호", "패스워드"),
    *("パスワード", "暗証番号", "密码", "密碼", "口令"),
    *("contrase", "비밀키", "인증키", "토큰", "시크릿", "秘密鍵", "トークン", "シークレット", "密钥", "密鑰", "令牌"),
    *("clave_secreta", "clave secreta", "wachtwoord", "hasło", "şifre", "lösenord", "mật khẩu", "kata sandi", "пароль"),
    *("api키", "api 키", "apiキー", "アクセスキー", "金鑰", "权杖", "權杖"),
)
"""Every text in which a pair of name and secret stands contains one of these strings in lower case."""
_CORE_MARKS = frozenset({*MARKS, "clave", "cred"})
_OTHER_SIGNS = (*("clave", "code", "pin", "otp", "cv", "phrase", "mnemonic", "cred", "psk", "community"),)
"""The marks of other sentences and files with secrets."""
_ALL_MARKS = (*MARKS, *_OTHER_SIGNS)
_SHORTEST_MARKS = tuple(mark for mark in _ALL_MARKS if not any(part in mark for part in _ALL_MARKS if part != mark))
"""The marks that do not contain another mark."""
_ASCII_MARKS = tuple(filter(str.isascii, _SHORTEST_MARKS))
_COMMON_MARKS: dict[str, tuple[LazyPattern, dict[str, str]]] = {
    "k": (
        LazyPattern(r"k(?:(?<=psk)|ennwort|ata sandi|(?<=cook)ie|ey|(?<=tok)en)"),
        {"key": "key", "ken": "token"},
    ),
    "p": (LazyPattern(r"p(?:(?<=otp)|w|hrase|ass|in)"), {"pass": "pass", "pin": "pin"}),
    "c": (LazyPattern(r"c(?:(?<=mnemonic)|htwoord|v|lave|red|(?<=sec)ret|o(?:ntrase|mmunity|de))"), {"code": "code"}),
}
"""For a rare letter the pattern of its marks, and by its match each mark that many texts hold.

Where a rare mark and a common one meet in a letter, for example in `otpass`, the pattern matches the rare one.
"""
_BY_LETTER: dict[str, list[str]] = {}
for _mark in _ASCII_MARKS:
    _BY_LETTER.setdefault(next(filter(_mark.__contains__, _COMMON_MARKS), ""), []).append(_mark)
_OTHER_MARKS = LazyPattern("|".join(mark for mark in _SHORTEST_MARKS if not mark.isascii()))
_LONGEST_PREFIX = len("encryption_")
"""The most characters in a telling word before its mark."""
_LONGEST_REST = 16
"""More characters than a telling word and the checks after it have after its mark begins."""
_LONGEST_LOOK = len("is")
"""The most characters after a telling word at which its pattern looks."""
NOT_A_SECRET = LazyPattern(
    r"(?:(?:(?<=token)|(?<=secret)|(?<=credential))s"
    r"|s?[_-]?(?:count|type|limit|length|len|name|id|expir\w*|url|uri|file|path|policy|reset|usage|hint|field|ttl"
    r"|min|max|required|strength|version|budget|hash|manager|index|rules?|error|input|endpoint|servers?|prefix|arn))"
    r"(?![a-z])",
    flags=re.IGNORECASE,
)
"""A name's end that only describes a secret, for example `_type` or `Count`."""


_PROSE = LazyPattern(
    r"(?:'?s'?)?(?:[.,!?;)]{0,3} {1,2}(?!(?:is|es|was)\b|\w{1,12}=)[a-z(]"
    r"|[.!?]{1,3}[\s\"'])(?![^\"\n]{0,60}\"\s?:)"
)
"""The text after a word in a sentence. After the name of a secret, a sign, a quote or a word such as `is` follows."""
_SENTENCE_END = LazyPattern(r"[\"'][,}\]]")
_OPTION = LazyPattern(r"(?:-|setenv\s)[\w-]{0,30}\Z")
_LONGEST_NAME = 80


class Core(NamedTuple):
    """The name part that announces a secret: its place, and whether the secret is a password."""

    start: int
    end: int
    text: str
    is_password: bool


def find_cores(lowered: str, marks: Iterable[str]) -> Iterator[Core]:
    """Yield the words that announce a secret, also words that only describe a secret.

    The text is that of `lower`, and `marks` are the marks in it.
    """
    for start, end in _parts_around(lowered, marks):
        for match in _CORE.finditer(lowered, start, end + _LONGEST_LOOK):
            if match.end() <= end:
                yield Core(*match.span(), match[0], _PASSWORD.fullmatch(match[0]) is not None)


def _parts_around(lowered: str, marks: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of text parts near its marks. Every core begins and ends near a mark.

    A search for constants is faster than the core pattern.
    """
    places: list[int] = []
    for mark in _CORE_MARKS.intersection(marks):
        place = lowered.find(mark)
        while place >= 0:
            if _is_of_core(mark, lowered, place):
                places.append(place)
            place = lowered.find(mark, place + 1)
    start = end = 0
    for place in sorted(places):
        if place - _LONGEST_PREFIX > end:
            if end:
                yield start, end
            start = place - _LONGEST_PREFIX
        end = place + _LONGEST_REST
    if end:
        yield start, end


def _is_of_core(mark: str, lowered: str, place: int) -> bool:
    """Return whether the mark at a place may be part of a core. Words such as `passenger` and `author` are frequent."""
    if mark == "key":
        return _BEFORE_KEY.match(lowered[max(0, place - _LONGEST_PREFIX) : place][::-1]) is not None
    core = _CORES_OF_MARKS.get(mark)
    return core is None or core.match(lowered, place) is not None


def lower(text: str) -> str:
    """Return a text in lower case, with all characters in their places."""
    return text.lower() if text.isascii() else text.replace("İ", "I").lower()


def find_signs(lowered: str, marks: Collection[str]) -> set[str]:
    """Return the words in a text beside which a secret may stand. In most sentences with such a word, none can.

    The text is that of `lower`, and `marks` are the marks in it.
    """
    if not marks:
        return set()
    signs = {mark for mark in ("cookie", "bearer") if mark in marks}
    if "auth" in marks and "authorization" in lowered:
        signs.add("authorization")
    has_rows: bool | None = None
    for core in find_cores(lowered, marks):
        if core.text in signs:
            continue
        if has_rows is None:
            has_rows = any(sign in lowered for sign in _ROW_SIGNS)
        if has_rows or not _is_in_sentence(lowered, core):
            signs.add(core.text)
    return signs


_ROW_SIGNS = ("|", "login", "set password", "identified")
"""With one of these in a text, a secret may stand far from its name: in a table, in .netrc or in SQL."""


def _is_in_sentence(lowered: str, core: Core) -> bool:
    """Return whether a word is one of a sentence: no sign, quote or option shows that its secret follows."""
    if _OPTION.search(lowered, max(0, core.start - _LONGEST_NAME), core.start):
        return False
    if _PROSE.match(lowered, core.end):
        return True
    if _SENTENCE_END.match(lowered, core.end):
        before = lowered[max(0, core.start - _LONGEST_NAME) : core.start]
        return len(before) == _LONGEST_NAME and '"' not in before and "'" not in before
    return False


def find_marks(lowered: str) -> set[str]:
    """Return the marks in a text. Without any, no secret stands beside a name in it. The text is that of `lower`.

    A pattern that begins with a rare letter is searched as fast as the letter, and shows all marks with it at once. A
    pattern of all marks is 20 times slower than a search for each of them.
    """
    marks = {mark for mark in _BY_LETTER[""] if mark in lowered}
    for letter, (pattern, common) in _COMMON_MARKS.items():
        matches = set(pattern.findall(lowered))
        if matches <= common.keys():
            marks.update([common[match] for match in matches])
        else:
            marks.update([mark for mark in _BY_LETTER[letter] if mark in lowered])
    if not lowered.isascii():
        marks.update(match[0] for match in _OTHER_MARKS.finditer(lowered))
    return marks


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind | None:
    """Return the kind of secret that a name announces, or None. Few names occur many times."""
    lowered = lower(name)
    core = next(find_cores(lowered, find_marks(lowered)), None)
    if core is None or NOT_A_SECRET.match(name, core.end):
        return None
    return "password" if core.is_password else "other"
