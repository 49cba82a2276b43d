"""Recognise secrets among the values beside a telling name, and placeholders that only stand for one."""

from __future__ import annotations

import re

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.secret_names import kind_of_name

_ROOTS = frozenset(
    {"self", "this", "cls", "super", "settings", "config", "configuration", "cfg", "conf", "env", "environ", "os"}
    | {"process", "req", "request", "res", "resp", "response", "ctx", "context", "args", "opts", "options", "params"}
    | {"props", "event", "body", "form", "state", "data", "var", "vars", "local", "locals", "module", "secrets", "st"}
    | {"vault", "app", "client", "session", "creds", "com", "org", "io", "net", "java", "javax"}
)
"""The first names of chains in code: of objects that hold settings or requests, of modules and of packages."""
_FOLDERS = (
    r"/(?:home|Users|root|etc|var|usr|opt|tmp|run|srv|mnt|media|app|data|secrets?|proc|dev|private|workspace|work|builds?"
    r"|lib|bin|Library|Volumes|nix)(?:/|$)"
)
_EXTENSIONS = (
    "pem|key|pub|crt|cer|der|csr|p12|pfx|jks|gpg|asc|json|jsonl|ya?ml|toml|ini|cfg|conf|env|properties|xml|csv|tsv|txt"
    "|md|rst|log|html?|py|pyi|js|mjs|jsx|ts|tsx|go|rs|java|kt|rb|php|sh|sql|db|sqlite|tf|tfvars|lock|bin|zip|gz|tar"
)
_FILE = LazyPattern(rf"(?:[\w.-]{{1,100}}/){{0,20}}[\w-][\w.-]{{0,100}}\.(?:{_EXTENSIONS})(?::\d+)?$")
_PATH = LazyPattern(rf"(?:~|\.{{1,2}})/[\w./-]+$|{_FOLDERS}|[A-Za-z]:\\")
_ADDRESS = LazyPattern(
    r"(?:https?|vault|op|ssm|env|file|keyring|secretref|doppler):(?P<place>/{0,3}[\w.:/\#-]+)$|(?P<path>/[\w./-]+)$"
)
_DOTTED = LazyPattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_BETWEEN = LazyPattern(r"[^A-Za-z0-9]+")
_NAME = LazyPattern(
    r"(?:[A-Za-z]\d{0,3}[a-z]{0,9}|(?>[A-Z]?[a-z]{2,}+|[A-Z]{2,}+)++(?:\d{1,3}+(?:[A-Z]?[a-z]{2,}+)*+)?|\d{1,5})$"
)
"""A name as people choose it, in small letters, in capitals or in camel case, with few digits: `OAuth2Token`, `v1`."""
_VERSION = LazyPattern(r"v\d{1,3}(?:(?:alpha|beta)\d{1,2})?$")


def is_reference(value: str) -> bool:
    """Return whether a value without quotes is a file path, a secret's address, or a name in code.

    A password may have dots and slashes. With a digit, a chain of names is code only if some name in it shows that.
    """
    if _DOTTED.match(value):
        return _is_chain(value)
    if _PATH.match(value) or _FILE.match(value):
        return True
    address = _ADDRESS.match(value)
    return address is not None and _has_names(address["place"] or address["path"])


def _is_chain(value: str) -> bool:
    names = value.split(".")
    if not any(map(str.isdigit, value)) or _FILE.match(value) or kind_of_name(names[-1]) is not None:
        return True
    is_rooted = names[0] in _ROOTS or any(map(_VERSION.match, names)) or kind_of_name(names[0]) is not None
    return is_rooted and _has_names(value)


def _has_names(value: str) -> bool:
    """Return whether every value part is a name as people choose it, and none is generated."""
    return all(not part or _NAME.match(part) for part in _BETWEEN.split(value))


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
