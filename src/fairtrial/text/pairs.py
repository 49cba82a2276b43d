"""Which secrets stand beside their names in a text: `password=...`, `"api_key": "..."`, 비밀번호: ..., Bearer ...?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from fairtrial.text.provider_keys import ESCAPED

# The lookahead for the word comes first: it seldom matches, and is cheaper than the check of the character before.
_APART = rf"(?:(?<![a-z])|{ESCAPED})"
_PASSWORDS = rf"pass(?:word|wd|phrase|code)|(?=pwd){_APART}pwd"
_OTHER_SECRETS = (
    r"secret|(?:api|access|private|account|signing|encryption|master|auth|shared)[_\- ]?key|sas[_-]?key"
    r"|token(?!i[sz])|credential|authorization(?![a-z_-])"
    rf"|(?=pass){_APART}pass(?![a-z0-9_-])"
)
_FOREIGN_PASSWORDS = (
    "비밀번호",
    "비번",
    "암호",
    "패스워드",
    "パスワード",
    "暗証番号",
    "密码",
    "密碼",
    "口令",
    "contraseña",
)
_FOREIGN_OTHER_SECRETS = ("비밀키", "인증키", "秘密鍵", "密钥", "密鑰", "clave_secreta", "clave secreta")


def _also_escaped(word: str) -> str:
    r"""Return the pattern of a word, written plainly or with JSON's \u escapes, whose backslashes may be escaped."""
    if word.isascii():
        return re.escape(word)
    escaped = "".join(re.escape(char) if char.isascii() else rf"\\{{1,4}}u{ord(char):04x}" for char in word)
    return f"{re.escape(word)}|{escaped}"


def _joined(words: tuple[str, ...]) -> str:
    return "|".join(map(_also_escaped, words))


_CORE = re.compile(
    f"(?P<password>{_PASSWORDS}|{_joined(_FOREIGN_PASSWORDS)})|(?P<other>{_OTHER_SECRETS}|{_joined(_FOREIGN_OTHER_SECRETS)})",
    re.IGNORECASE,
)
_MARKS = (
    *("pass", "pwd", "secret", "key", "token", "credential", "bearer", "authorization", "\\u"),
    *_FOREIGN_PASSWORDS,
    *_FOREIGN_OTHER_SECRETS,
)
"""Every text that `_CORE` or `_BEARER` match contains one of these strings in lower case."""
_NOT_A_SECRET = re.compile(
    r"(?:(?:(?<=token)|(?<=secret)|(?<=credential))s"
    r"|[_-]?(?:count|type|limit|length|len|name|id|expir\w*|url|uri|file|path|policy|reset|usage|hint|field|ttl"
    r"|min|max|required|strength|version|budget|hash|manager|index|rules?|error|input|endpoint|servers?|prefix|arn))"
    r"(?![a-z])",
    re.IGNORECASE,
)
_CJK = r"\u3000-\u303f\uff00-\uffef\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BARE = rf"[^\s\"'`,;&<>(){{}}\[\]\\|«»“”{_CJK}]{{1,400}}"
_TAIL = re.compile(
    r"(?P<suffix>[A-Za-z0-9_\-]{0,30})"
    r"(?P<close>\\{0,3}[\"'`]\]?|>)?"
    r"(?P<sep>\s{0,3}(?:=>|:=|[:=：＝](?!=))\s{0,3}|%3[Dd]|\\{1,4}u003[dD]|(?<=>)|\s{1,2}(?:is|es|was):?\s"
    r"|[은는][:：]?\s{0,2}|[はがを]|[是为為][:：]?\s{0,2})"
    rf"(?:(?P<quote>\\{{0,3}}[\"'`]|[「『“«])(?P<quoted>[^\n]{{0,400}}?)(?:(?P=quote)|[」』”»])|(?P<bare>{_BARE}))"
)
_ANNOTATED = re.compile(
    r"\w{0,30}:\s{0,2}&?[A-Za-z][\w.\[\]|<> ]{0,40}?\s{0,2}=\s{0,2}(?P<quote>[\"'`])(?P<quoted>[^\n]{0,400}?)(?P=quote)"
)
"""A name with its type before the value, as in Python, TypeScript or Rust: `key: str = "..."`."""
_FLAG = re.compile(rf"[\w\-]{{0,30}}[ =]+[\"']?(?P<bare>{_BARE})")
_BEARER = re.compile(
    r"(?:\bbearer\s+|authorization\\{0,3}[\"']?\s*[:=]\s*\\{0,3}[\"']?[a-z][a-z0-9-]{1,24}\s+)"
    r"(?P<bare>[A-Za-z0-9._~+/=-]{12,2000})",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"^(?:[*x•.\-_#?]+|null|none|nil|true|false|undefined|required|optional|hidden|redacted|secret|password|changeme|todo"
    r"|\[REDACTED.*|[$<%{].*|\(.*|.*\byour[\-_ ].*|.*(?:process\.env|os\.environ|getenv|settings\.|config\.).*)$",
    re.IGNORECASE | re.DOTALL,
)
_AWS_SECRET = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z/+]{40}$")
"""A secret key of AWS without a digit, as one in a thousand is. It would otherwise look like a word."""
_DOTTED = re.compile(r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")


def names_secret(text: str) -> bool:
    """Return whether a text may hold the name of a secret. This takes far less time than to find the secrets."""
    lowered = text.lower()
    return any(mark in lowered for mark in _MARKS)


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each secret that stands beside a name, without the quotes around it."""
    # Most texts do not name a secret. Searching for each string in turn shows this 20 times faster than the patterns.
    if not names_secret(text):
        return
    for match in _BEARER.finditer(text):
        inner = match["bare"][1:]
        if _mixed(match["bare"]) or (inner != inner.lower() and inner != inner.upper()):
            yield *match.span("bare"), "authorization"
    end_of_previous = 0
    for core in _CORE.finditer(text):
        if core.start() < end_of_previous or _NOT_A_SECRET.match(text, core.end()):
            continue
        span = _beside(text, core)
        if span is not None:
            end_of_previous = span[1]
            yield *span, core[0].lower()


def secret_under(key: str, value: str) -> bool:
    """Return whether the value of a JSON member is a secret, because its key names one."""
    kind = _kind_of(key)
    return kind is not None and _quoted_secret(value, password=kind == "password")


@lru_cache(maxsize=4096)
def _kind_of(key: str) -> str | None:
    """Return the kind of secret that a key names, `password` or `other`, or None. Few keys occur many times."""
    core = _CORE.search(key)
    return None if core is None or _NOT_A_SECRET.match(key, core.end()) else core.lastgroup


def is_placeholder(value: str) -> bool:
    """Return whether a value only stands for a secret: empty, stars, a variable, a word such as `required`."""
    return not value or _PLACEHOLDER.match(value) is not None


def _beside(text: str, core: re.Match[str]) -> tuple[int, int] | None:
    before = text[max(0, core.start() - 40) : core.start()]
    password = core["password"] is not None
    tail = _TAIL.match(text, core.end())
    if tail is not None and (tail["close"] != ">" or re.search(r"<[\w:.-]*$", before)):
        if tail["bare"] is None:
            return tail.span("quoted") if _quoted_secret(tail["quoted"], password=password) else None
        assigned = bool(re.search(r"(?:^|[?&;\n]|export )[\w.-]*$", before)) and tail["sep"] == "="
        if _bare_secret(text, tail, password=password, assigned=assigned or tail["close"] == ">"):
            return _trimmed(tail)
    typed = _ANNOTATED.match(text, core.end())
    if typed is not None and _quoted_secret(typed["quoted"], password=password):
        return typed.span("quoted")
    flag = _FLAG.match(text, core.end()) if re.search(r"(?:^|\s)--?[\w-]*$", before) else None
    if flag is not None and _bare_secret(text, flag, password=password, assigned=False):
        return flag.span("bare")
    return None


def _trimmed(match: re.Match[str]) -> tuple[int, int]:
    start, end = match.span("bare")
    return start, end - (len(match["bare"]) - len(match["bare"].rstrip(".")))


def _quoted_secret(value: str, *, password: bool) -> bool:
    if is_placeholder(value):
        return False
    return len(value) >= 4 if password else len(value) >= 8 and (_mixed(value) or " " not in value)


def _bare_secret(text: str, match: re.Match[str], *, password: bool, assigned: bool) -> bool:
    """Return whether a value without quotes is a secret: not if it reads like a word, a name in code, or a number."""
    value, after = match["bare"].rstrip("."), text[match.end("bare") : match.end("bare") + 1]
    if is_placeholder(value) or _DOTTED.match(value) or after == "(":
        return False
    if value.isdigit():
        return password and len(value) >= 4
    if password:
        return len(value) >= 4 and (assigned or _mixed(value) or bool(re.search(r"[^\w.:/?-]", value)))
    return len(value) >= 8 and (_mixed(value) or _AWS_SECRET.match(value) is not None)


def _mixed(value: str) -> bool:
    """Return whether a value has both letters and digits, as generated strings do and words seldom do."""
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
