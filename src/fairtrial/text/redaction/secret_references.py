"""Recognise values that refer to a secret elsewhere: a variable, code, a file or a vault."""

from __future__ import annotations

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
