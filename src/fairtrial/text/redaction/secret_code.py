"""Find secrets in code and markup near their names: arguments of calls, attributes of tags, defaults, rows of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.key_forms import measure_entropy
from fairtrial.text.redaction.secret_names import Core, kind_of_name
from fairtrial.text.redaction.secret_values import is_mixed, is_placeholder, is_quoted_secret
from fairtrial.text.runs import match_from

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

_QUOTED = r"[\"'`](?P<value>[^\"'`\n]{4,400})[\"'`]"


class _Place(NamedTuple):
    """The text after the name of a secret, with its value, and the text before the name, backwards."""

    after: LazyPattern
    before: LazyPattern
    is_attribute: bool = False


_PLACES = (
    # the arguments of calls after the name, for example of cfg.set
    _Place(
        LazyPattern(r"[\w .#\]*:-]{0,30}[\"'`]\s{0,3}(?:,|\)\s{0,3}\.\s{0,3}\w{1,24}\()\s{0,20}" + _QUOTED),
        LazyPattern(r"[\w .\#:@*=\[-]{0,40}[\"'`][rbuf]{0,2}\s{0,3}\("),
    ),
    # the calls of setters, for example of setPassword
    _Place(
        LazyPattern(r"\w{0,20}\(\s{0,3}" + _QUOTED),
        LazyPattern(r"\w{0,20}(?<!teg)(?<!dnif)(?<!hctef)(?<!daer)(?<!daol)(?<!yfirev)(?<!kcehc)(?<!hsah)(?!\w)"),
    ),
    # <add key="Password" value="..."/>, <input type=password value="...">
    _Place(
        LazyPattern(r"[^<>\n]{0,200}?\svalue\s?=\s?[\"'](?P<value>[^\"'<>\n]{4,400})[\"']", flags=re.IGNORECASE),
        LazyPattern(r"[^<>\n]{0,100}<"),
        is_attribute=True,
    ),
    # variable "db_password" { default = "..." }
    _Place(
        LazyPattern(r"[\w-]{0,20}[\"']?\s{0,3}\{[^{}]{0,300}?\bdefault\s{0,10}=\s{0,3}" + _QUOTED),
        LazyPattern(r"[\w-]{0,40}[\"']\s{1,3}elbairav"),
    ),
    # username admin password 0 ..., enable secret 5 ...
    _Place(
        LazyPattern(r"[ \t]{1,2}\d{1,2}[ \t]{1,2}(?P<value>[^\s\"']{4,200})"),
        LazyPattern(r"[ \t]{1,3}(?:\S{1,40}[ \t]{1,3}emanresu|elbane)\b"),
    ),
    # setenv DB_PASSWORD ...
    _Place(
        LazyPattern(r"\w{0,30}[ \t]{1,3}[\"']?(?P<value>[^\s\"']{4,400})"),
        LazyPattern(r"\w{0,40}[ \t]{1,3}vnetes\b"),
    ),
    # if password == "...":
    _Place(
        LazyPattern(r"\w{0,30}[\"'`]?\]?\s{0,2}(?:[!=]==?|\.equals\()\s{0,2}" + _QUOTED),
        LazyPattern(""),
    ),
    # <secret>{id ...}</secret>
    _Place(
        LazyPattern(r"[\w.-]{0,20}>\{(?:[^{}<>\n]{0,80}\s)?(?P<value>[^{}<>\s]{8,400})\}<"),
        LazyPattern(r"[\w:.-]{0,40}<"),
    ),
    # buildConfigField 'String', 'API_KEY', '"..."'
    _Place(
        LazyPattern(r"\w{0,20}[\"']\s{0,3},\s{0,3}[\"']\\?[\"'](?P<value>[^\"'\\\n]{8,400})\\?[\"']{2}"),
        LazyPattern(r"\w{0,40}[\"']\s{0,3},\s{0,3}[\"']gnirts[\"']"),
    ),
)
_COLUMNS = LazyPattern(
    r"\(([^()]{1,400}+)\)\s{0,5}values\s{0,5}"
    r"\(((?>'(?>[^'\n]|''){0,400}+'|[^()'\n]{1,40}+|\([^()\n]{0,40}+\)){1,40}+)\)",
    flags=re.IGNORECASE,
)
_ITEM = LazyPattern(r"\s*+('(?>[^'\n]|'')*+'|[^,']*+)(?:,|\Z)")
_LOGIN_STARTS = (
    "directoryentry",
    "login",
    "log_in",
    "signin",
    "sign_in",
    "auth",
    "cred",
    "getconnection",
    "get_connection",
    "connect",
    "userpass",
)
_LOGIN = LazyPattern(
    r"\w{4,24}\s?=?\s?\(\s{0,3}(?:[\w.+/:-]{1,60}\s{0,3},\s{0,3}){0,2}[\"'`][^\"'`\n]{1,80}[\"'`]\s{0,3},\s{0,3}"
    + _QUOTED
    + r"\s{0,3}\)"
)
"""A user's name and a password in a call: `login("admin", "...")`, `auth=("admin", "...")`."""
_PARAMETER_STARTS = (
    *("key=", "code=", "sig=", "signature=", "auth=", "session=", "ticket=", "hmac=", "otp=", "jwt=", "sid="),
    *("sessionid=", "session_id=", "sessid="),
)
_PARAMETER = LazyPattern(
    r"(?:(?<=[?&;#])(?:key|code|sig|signature|auth|session|ticket|hmac|otp|jwt)|(?<![a-z])(?:sessionid|session_id|sid)"
    r"|(?<=php)sessid|(?<=j)sessionid)=(?P<value>[A-Za-z0-9%+/_.~-]{16,1000}={0,2})",
    flags=re.IGNORECASE,
)
"""A parameter of a URL or a cookie that holds a secret."""
_LEAST_ENTROPY = 3.3
_SHORTEST = 6
_SIGN = LazyPattern(r"[^\w\s.:/,;=()<>-]")


def beside(text: str, core: Core) -> tuple[int, int] | None:
    """Return the span of the secret that code puts after its name, or None."""
    before: str | None = None
    for place in _PLACES:
        match = place.after.match(text, core.end)
        if match is None:
            continue
        if before is None:
            before = text[max(0, core.start - 100) : core.start][::-1].lower()
        if place.before.match(before) and _is_secret(match["value"], core, is_attribute=place.is_attribute):
            return match.span("value")
    return None


def find(text: str, lowered: str) -> Iterator[Span]:
    """Yield the secrets in calls, rows of SQL and URLs. `lowered` is the text in lower case."""
    if "values" in lowered and "(" in text:
        yield from _rows(text)
    if "(" in text:
        for match in match_from(_LOGIN, _LOGIN_STARTS, text, lowered):
            value = match["value"]
            is_object = "redential(" in match[0] or "DirectoryEntry" in match[0]
            is_long = len(value) >= _SHORTEST and " " not in value
            if is_long and (is_object or is_mixed(value)) and not is_placeholder(value):
                yield *match.span("value"), "password"
    if "=" in text:
        for match in match_from(_PARAMETER, _PARAMETER_STARTS, text, lowered):
            value = match["value"]
            if is_mixed(value) and measure_entropy(value) >= _LEAST_ENTROPY and not is_placeholder(value):
                yield *match.span("value"), "parameter"


def _is_secret(value: str, core: Core, *, is_attribute: bool) -> bool:
    if " " in value or not is_quoted_secret(value, password=core.is_password):
        return False
    return len(value) >= _SHORTEST and (
        is_mixed(value) or (is_attribute and core.is_password) or (core.is_password and _SIGN.search(value) is not None)
    )


def _rows(text: str) -> Iterator[Span]:
    """Yield the values of columns such as `password` in SQL that inserts a row."""
    for match in _COLUMNS.finditer(text):
        names = [name.strip(' `"[]\n\t') for name in match[1].split(",")]
        place = match.start(2)
        for name in names:
            item = _ITEM.match(text, place, match.end(2))
            if item is None:
                break
            place = item.end()
            value = item[1].strip()
            kind = kind_of_name(name) if len(name) <= 60 and value[:1] == "'" else None
            if kind is not None and is_quoted_secret(value[1:-1], password=kind == "password"):
                yield item.start(1) + 1, item.start(1) + len(value) - 1, name
