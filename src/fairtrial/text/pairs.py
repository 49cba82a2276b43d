"""Which secrets stand beside their names in a text: `password=...`, `"api_key": "..."`, 비밀번호: ..., Bearer ...?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairtrial.text.secret_names import CORE, NOT_A_SECRET, has_mark
from fairtrial.text.secret_values import is_bare_secret, is_mixed, is_quoted_secret, trim

_CJK = r"\u3000-\u303f\uff00-\uffef\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
BARE = rf"(?:[^\s\"'`,;&\\|«»“”{_CJK}]|&(?:lt|gt|amp|quot|apos|\#\w{{2,4}});){{1,400}}"
_TAIL = re.compile(
    r"(?P<suffix>[A-Za-z0-9_\-]{0,30})"
    r"(?P<close>\\{0,3}[\"'`]\]?|>|\*{1,2}|`\*{1,2})?"
    r"(?P<sep>\s{0,3}(?:=>|:=|[:=：＝](?!=))\*{0,2}\s{0,3}|%3[Dd]|(?<=>)|\s{1,2}(?:is|es|was):?\s"
    r"|[은는][:：]?\s{0,2}|[はがを]|[是为為][:：]?\s{0,2})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,400})(?:(?P=quote)|\Z)"
    r"|[「『“«](?P<angled>[^\n]{0,400}?)[」』”»]"
    rf"|(?P<bare>{BARE}))"
)
_ANNOTATED = re.compile(
    r"\w{0,30}:\s{0,2}&?[A-Za-z][\w.\[\]|<> ]{0,40}?\s{0,2}=\s{0,2}(?P<quote>[\"'`])(?P<quoted>[^\n]{0,400}?)(?P=quote)"
)
"""A name with its type before the value, as in Python, TypeScript or Rust: `key: str = "..."`."""
_FLAG = re.compile(
    r"[\w\-]{0,30}[ =]+(?:(?P<quote>[\"'])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){1,400})(?P=quote)"
    rf"|(?P<bare>{BARE}))"
)
_BEARER = re.compile(
    r"(?:\bbearer\s+|authorization[\"']?\s*[:=]\s*[\"']?[a-z][a-z0-9-]{1,24}\s+)"
    r"(?P<bare>[A-Za-z0-9._~+/=-]{12,2000})",
    re.IGNORECASE,
)


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each secret that stands beside a name, without the quotes around it."""
    if not has_mark(text):
        return
    for match in _BEARER.finditer(text):
        inner = match["bare"][1:]
        if is_mixed(match["bare"]) or (inner != inner.lower() and inner != inner.upper()):
            yield *match.span("bare"), "authorization"
    end_of_previous = 0
    for core in CORE.finditer(text):
        if core.start() < end_of_previous or NOT_A_SECRET.match(text, core.end()):
            continue
        span = _beside(text, core)
        if span is not None:
            end_of_previous = span[1]
            yield *span, core[0].lower()


def _beside(text: str, core: re.Match[str]) -> tuple[int, int] | None:
    before = text[max(0, core.start() - 40) : core.start()]
    password = core["password"] is not None
    tail = _TAIL.match(text, core.end())
    if tail is not None and (tail["close"] != ">" or re.search(r"<[\w:.-]*$", before)):
        if tail["bare"] is None:
            return _quoted_span(tail, "angled" if tail["quoted"] is None else "quoted", password=password)
        is_element = tail["close"] == ">"
        assigned = bool(re.search(r"(?:^|[?&;\n]|export )[\w.-]*$", before)) and tail["sep"] == "="
        span = _bare_span(tail, password=password, assigned=assigned or is_element, is_element=is_element)
        if span is not None:
            return span
    typed = _ANNOTATED.match(text, core.end())
    if typed is not None and is_quoted_secret(typed["quoted"], password=password):
        return typed.span("quoted")
    flag = _FLAG.match(text, core.end()) if re.search(r"(?:^|\s)--?[\w-]*$", before) else None
    if flag is None:
        return None
    if flag["quoted"] is not None:
        return _quoted_span(flag, "quoted", password=password)
    return _bare_span(flag, password=password)


def _quoted_span(match: re.Match[str], group: str, *, password: bool) -> tuple[int, int] | None:
    return match.span(group) if is_quoted_secret(match[group], password=password) else None


def _bare_span(
    match: re.Match[str], *, password: bool, assigned: bool = False, is_element: bool = False
) -> tuple[int, int] | None:
    """Return the span of a value without quotes, up to the next tag if it stands in an XML element."""
    value = match["bare"]
    if is_element and "<" in value[1:]:
        value = value[: value.index("<", 1)]
    value = trim(value)
    if not is_bare_secret(value, password=password, assigned=assigned):
        return None
    return match.start("bare"), match.start("bare") + len(value)
