"""Which names announce a secret: `password`, `api_key`, 비밀번호, トークン, 令牌?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

NameKind = Literal["password", "other"]

_APART = r"(?<![a-z])"
# The lookahead for the word comes first: it seldom matches, and is cheaper than the check of the character before.
_PASSWORDS = (
    rf"pass(?:word|wd|phrase|code|wort)|(?=pwd){_APART}pwd|(?=pw){_APART}pw(?![a-z0-9])|kennwort|mot de passe|senha"
    "|비밀번호|비번|암호|패스워드|パスワード|暗証番号|密码|密碼|口令|contraseña"
)
_OTHER_SECRETS = (
    r"secret|(?:api|access|private|account|signing|encryption|master|auth|shared)[_\- ]?key|sas[_-]?key"
    r"|token(?!i[sz])|credential|authorization(?![a-z_-])"
    rf"|(?=pass){_APART}pass(?![a-z0-9_-])"
    "|비밀키|인증키|토큰|시크릿|秘密鍵|トークン|シークレット|密钥|密鑰|令牌|clave_secreta|clave secreta"
)
CORE = re.compile(f"(?P<password>{_PASSWORDS})|(?P<other>{_OTHER_SECRETS})", re.IGNORECASE)
MARKS = (
    *("pass", "pwd", "pw", "secret", "key", "token", "credential", "bearer", "authorization", "cookie", "kennwort"),
    *(
        "mot de passe",
        "senha",
        "비밀번호",
        "비번",
        "암호",
        "패스워드",
        "パスワード",
        "暗証番号",
        "密码",
        "密碼",
        "口令",
    ),
    *("contraseña", "비밀키", "인증키", "토큰", "시크릿", "秘密鍵", "トークン", "シークレット", "密钥", "密鑰", "令牌"),
    *("clave_secreta", "clave secreta"),
)
"""Every text in which a pair of name and secret stands contains one of these strings in lower case."""
NOT_A_SECRET = re.compile(
    r"(?:(?:(?<=token)|(?<=secret)|(?<=credential))s"
    r"|[_-]?(?:count|type|limit|length|len|name|id|expir\w*|url|uri|file|path|policy|reset|usage|hint|field|ttl"
    r"|min|max|required|strength|version|budget|hash|manager|index|rules?|error|input|endpoint|servers?|prefix|arn))"
    r"(?![a-z])",
    re.IGNORECASE,
)
"""The end of a name that only describes a secret, for example `_type` or `Count`."""


def has_mark(text: str) -> bool:
    """Return whether a text can hold a pair. Searching for each string in turn is 20 times faster than a pattern."""
    lowered = text.lower()
    for mark in MARKS:  # noqa: SIM110  # and a loop is faster than a generator
        if mark in lowered:
            return True
    return False


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind | None:
    """Return the kind of secret that a name announces, or None. Few names occur many times."""
    core = CORE.search(name)
    if core is None or NOT_A_SECRET.match(name, core.end()):
        return None
    return "password" if core["password"] else "other"
