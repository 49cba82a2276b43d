"""Which names announce a secret: `password`, `api_key`, 비밀번호, トークン, 令牌?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

NameKind = Literal["password", "other"]

_PASSWORDS = (
    # A check of the character before a word comes after the word: a pattern whose branches all begin with a character
    # is searched several times faster.
    r"pass(?:word|wd|phrase|code|wort)|pwd(?<![a-z]pwd)|pw(?<![a-z]pw)(?![a-z0-9])|kennwort|mot de passe|senha"
    "|identified by|비밀번호|비번|암호|패스워드|パスワード|暗証番号|密码|密碼|口令|contraseña"
)
_OTHER_SECRETS = (
    "secret"
    + "".join(
        rf"|{word}[_\- ]?key"
        for word in ("api", "access", "private", "account", "signing", "encryption", "master", "auth", "shared")
    )
    + r"|sas[_-]?key|token(?!i[sz])|credential|authorization(?![a-z_-])|pass(?<![a-z]pass)(?![a-z0-9_-])"
    "|비밀키|인증키|토큰|시크릿|秘密鍵|トークン|シークレット|密钥|密鑰|令牌|clave_secreta|clave secreta"
)
_CORE = re.compile(f"{_PASSWORDS}|{_OTHER_SECRETS}")
_PASSWORD = re.compile(_PASSWORDS)
MARKS = (
    *("pass", "pwd", "pw", "secret", "key", "token", "credential", "bearer", "authorization", "cookie", "kennwort"),
    *("mot de passe", "senha", "identified by", "비밀번호", "비번", "암호", "패스워드"),
    *("パスワード", "暗証番号", "密码", "密碼", "口令"),
    *("contraseña", "비밀키", "인증키", "토큰", "시크릿", "秘密鍵", "トークン", "シークレット", "密钥", "密鑰", "令牌"),
    *("clave_secreta", "clave secreta"),
)
"""Every text in which a pair of name and secret stands contains one of these strings in lower case."""
_SHORTEST_MARKS = tuple(mark for mark in MARKS if not any(part in mark for part in MARKS if part != mark))
"""The marks that do not contain another mark."""
_ASCII_MARKS = tuple(filter(str.isascii, _SHORTEST_MARKS))
_OTHER_MARKS = re.compile("|".join(mark for mark in _SHORTEST_MARKS if not mark.isascii()))
_LONGEST_PREFIX = len("encryption_")
"""The most characters of a telling word before its mark."""
_LONGEST_REST = 16
"""More characters than a telling word and the checks after it have after the beginning of its mark."""
NOT_A_SECRET = re.compile(
    r"(?:(?:(?<=token)|(?<=secret)|(?<=credential))s"
    r"|[_-]?(?:count|type|limit|length|len|name|id|expir\w*|url|uri|file|path|policy|reset|usage|hint|field|ttl"
    r"|min|max|required|strength|version|budget|hash|manager|index|rules?|error|input|endpoint|servers?|prefix|arn))"
    r"(?![a-z])",
    re.IGNORECASE,
)
"""The end of a name that only describes a secret, for example `_type` or `Count`."""


class Core(NamedTuple):
    """The part of a name that announces a secret: its place, and whether the secret is a password."""

    start: int
    end: int
    text: str
    is_password: bool


def find_cores(lowered: str) -> Iterator[Core]:
    """Yield the words that announce a secret, also words that only describe a secret. The text is that of `lower`."""
    # A search for constants is faster than the pattern, whose words begin and end near a mark.
    marks = [mark for mark in _marks(lowered) if mark in lowered]
    if not marks:
        return
    start = min([lowered.find(mark) for mark in marks]) - _LONGEST_PREFIX
    end = max([lowered.rfind(mark) for mark in marks]) + _LONGEST_REST
    for match in _CORE.finditer(lowered, max(0, start), end):
        yield Core(*match.span(), match[0], _PASSWORD.fullmatch(match[0]) is not None)


def lower(text: str) -> str:
    """Return a text in lower case, with all characters in their places."""
    return text.replace("İ", "I").lower()


def _marks(lowered: str) -> tuple[str, ...]:
    return _ASCII_MARKS if lowered.isascii() else _SHORTEST_MARKS


def has_mark(lowered: str) -> bool:
    """Return whether a text can hold a pair. The text is that of `lower`.

    Searching for each string of common letters in turn is 20 times faster than a pattern. For strings that begin with
    a rare letter, a pattern is 4 times faster.
    """
    for mark in _ASCII_MARKS:
        if mark in lowered:
            return True
    return not lowered.isascii() and _OTHER_MARKS.search(lowered) is not None


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind | None:
    """Return the kind of secret that a name announces, or None. Few names occur many times."""
    core = next(find_cores(lower(name)), None)
    if core is None or NOT_A_SECRET.match(name, core.end):
        return None
    return "password" if core.is_password else "other"
