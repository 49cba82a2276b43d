"""Recognise secrets among the values beside a telling name, and placeholders that only stand for one."""

from __future__ import annotations

import re

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.secret_names import kind_of_name
from fairtrial.text.redaction.secret_references import is_reference

_PLACEHOLDER = LazyPattern(
    r"(?:[*x•.\-_#?]+|null|none|nil|true|false|undefined|required|optional|hidden|redacted|secret|password|changeme|todo"
    r"|\[REDACTED.*|\[{4,}.*|.*\byour[\-_ ].*"
    r"|.*(?:process\.env\b|import\.meta\.env\b|os\.environ|getenv\b).*"
    r"|(?:[a-z_]+\.)*(?:settings|config)\.[a-z_.]+|.*\{[^{}]*(?:settings|config)\.[^{}]*\}.*)",
    flags=re.IGNORECASE | re.DOTALL,
)
_VARIABLE = LazyPattern(
    # Shell, PHP and templates: $NAME, $1, ${...}, $(...), $a->b, {{...}}, {name}, <name>, %NAME%, %s, (words).
    r"\$(?:[A-Z_][A-Z0-9_]*|[A-Za-z_]*\d{0,2}|\{.*|\(.*|[a-z]\w*->.*)|\{\{.*|\{[^{}]*\}.*|<[^<>]*>|%[\w.-]*%|%\([^)]*\)?\w?|%[sdr]"
    r"|\([^)]*\)",
    flags=re.DOTALL,
)
_SIGNS = "$%({<"
_CALL = LazyPattern(
    r"(?=[A-Za-z_])(?:[a-z_]+\d{0,3}|_?[A-Za-z]?[a-z]*(?:[A-Z][a-z]+)*\d{0,3})(?:\.\w+)*(?:\((?!.*\d.*[A-Z])|\[(?!\[))"
)
"""How a call or an index starts in code, for example `get_token(` or `data['password']`."""
_AWS_SECRET = LazyPattern(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z/+]{40}$")
"""A secret key of AWS without a digit, as one in a thousand is. It would otherwise look like a word."""
_DIGIT = LazyPattern(r"\d")
_LETTER = LazyPattern(r"[^\W\d_]")
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}


def is_placeholder(value: str) -> bool:
    """Return whether a value only stands for a secret: empty, stars, a variable, a word such as `required`.

    A password may begin with a variable sign: `$4b7xQ` and `{9kTz` are passwords, `$DB_PASSWORD` is not.
    """
    if not value or _PLACEHOLDER.fullmatch(value):
        return True
    if value[0] not in _SIGNS:
        return False
    return _VARIABLE.fullmatch(value) is not None or not is_mixed(value)


def secret_under(key: str, value: str) -> bool:
    """Return whether a JSON member's value is a secret, because its key names one."""
    kind = kind_of_name(key)
    return kind is not None and is_quoted_secret(value, password=kind == "password")


def is_quoted_secret(value: str, *, password: bool) -> bool:
    """Return whether a value between quotes is a secret. Any other text between quotes is taken as a password."""
    if is_placeholder(value):
        return False
    return len(value) >= 4 if password else len(value) >= 8 and (is_mixed(value) or " " not in value)


def is_bare_secret(value: str, *, password: bool, assigned: bool = False) -> bool:
    """Return whether a value without quotes is a secret: not if it reads like a word, a name in code, or a number."""
    if is_placeholder(value) or _CALL.match(value) or is_reference(value):
        return False
    if value.isdigit():
        return password and len(value) >= 4
    if password:
        return len(value) >= 4 and (assigned or is_mixed(value) or bool(re.search(r"[^\w.:/?()\[\]{}<>-]", value)))
    return len(value) >= 8 and (is_mixed(value) or _AWS_SECRET.match(value) is not None)


def is_mixed(value: str) -> bool:
    """Return whether a value has both letters and digits, as generated strings do and words seldom do."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def trim(value: str) -> str:
    """Return a value without punctuation from the sentence around it: `abc1).` is `abc1`, and `a(bc)` stays."""
    while value and (value[-1] == "." or (value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value)):
        value = value[:-1]
    return value
