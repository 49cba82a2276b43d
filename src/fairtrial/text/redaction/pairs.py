"""Find secrets beside their names in a text: `password=...`, `"api_key": "..."`, 비밀번호: ..., Bearer ..."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction import secret_code
from fairtrial.text.redaction.secret_names import NOT_A_SECRET, Core, find_cores
from fairtrial.text.redaction.secret_values import is_bare_secret, is_mixed, is_placeholder, is_quoted_secret, trim

_CJK = r"\u3000-\u303f\uff00-\uffef\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_CHARACTER = rf"[^\s\"'`,;&\\|«»“”{_CJK}]"
_ENTITY = r"&(?:lt|gt|amp|quot|apos|\#\w{2,4});"
BARE = rf"(?:{_CHARACTER}{{1,50}}+|{_ENTITY}){{1,8}}+"
"""A value without quotes, or its first 400 characters: a text of names alone is then searched in linear time."""
_WHOLE_BARE = LazyPattern(rf"(?:{_CHARACTER}++|{_ENTITY})++")
_REST_OF_QUOTED = {
    quote: LazyPattern(rf"(?P<rest>(?:(?!{quote})[^\\\n]|\\.)*+){quote}") for quote in ("'", '"', "`", "'''", '"""')
}
_QUOTED = r"(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,400}+)"
"""A value between quotes, or its first 400 characters."""
_TAIL = LazyPattern(
    r"(?P<suffix>[A-Za-z0-9_\-]{0,30})"
    r"(?P<close>\\{0,3}[\"'`]\]?|>|\*{1,2}|`\*{1,2})?"
    r"(?P<sep>(?:\s{0,3}|[ \t]{4,24})(?:=>|->|→|:=|[:=：＝](?!=))"
    r"\*{0,2}(?:\s{0,3}|[ \t]{4,24})(?:[|>][+-]?[ \t]{0,3}\n\s{1,20})?|%3[Dd]|(?<=>)"
    r"|\s{1,2}(?:is|es|was):?\s|\t{1,3}|\s{1,3}(?=[EN]?[\"'])"
    r"|[은는][:：]?\s{0,2}|[はがを]|[是为為][:：]?\s{0,2})"
    rf"(?:(?:[bBrRuUfF]{{1,2}}|[NEL@$])?(?P<quote>\"{{3}}|'{{3}}|[\"'`]){_QUOTED}(?:(?P=quote)|\Z|(?=[^\n]))"
    r"|[「『“«](?P<angled>[^\n]{0,400}?)[」』”»]"
    rf"|(?P<bare>{BARE}))"
)
_ANNOTATED = LazyPattern(
    r"\w{0,30}:\s{0,2}&?[A-Za-z][\w.\[\]|<> ]{0,40}?\s{0,2}=\s{0,2}(?P<quote>[\"'`])(?P<quoted>[^\n]{0,400}?)(?P=quote)"
)
"""A name with its type before the value, as in Python, TypeScript or Rust: `key: str = "..."`."""
_FLAG = LazyPattern(
    rf"[\w\-]{{0,30}}[ =]+(?:(?P<quote>[\"']){_QUOTED}(?:(?P=quote)|(?=[^\n]))"
    rf"|(?P<bare>{BARE}))"
)
_PROMPT = LazyPattern(r"[\w .,%*<>{}()-]{0,80}(?P<quote>[\"'`])[bBrRuUfF]{0,2}(?:[\s(\[{=,:+]|\Z)")
"""The text before a name, backwards, up to the quote that opens the text in which the name stands."""
_PROMPT_END = LazyPattern(r"\)(?=[\s).,:;\"'\]}]|\Z)|\s*(?:,\s|\+\s|%\s|\.\w+\()")
"""The code after the quote that ends a prompt, as in `input("Password: ")`."""
_RESOURCE = LazyPattern(r"[^\s\"'=&;]*:nra\b")
"""The text before a name, backwards, in an AWS resource name. Such a name is no secret."""
_ASSIGNED = LazyPattern(r"[\w.-]*+(?:\Z|[?&;\n]| tropxe)")
_ELEMENT = LazyPattern(r"[\w:.-]*+<")
_OPTION = LazyPattern(r"[\w-]*-(?:\Z|\s)")
"""The text before a name, backwards: an assignment in a shell or a URL, an XML element, or a command option."""
_LONGEST_WORD = 20
"""The fewest letters after `Bearer` that are no word in a sentence."""
_BEARERS = (
    ("bearer", LazyPattern(r"\b.{6}\s+(?P<bare>[A-Za-z0-9._~+/=-]{12,20000})")),
    (
        "authorization",
        LazyPattern(r".{13}[\"']?\s*[:=]\s*[\"']?[A-Za-z][A-Za-z0-9-]{1,24}\s+(?P<bare>[A-Za-z0-9._~+/=-]{12,20000})"),
    ),
)
"""A word, and the secret pattern after it that begins at the word."""


def find(text: str, lowered: str, marks: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each secret that stands beside a name, without the quotes around it.

    `lowered` is the text in lower case, and `marks` are the marks in it.
    """
    for word, pattern in _BEARERS:
        place = lowered.find(word)
        while place >= 0:
            match = pattern.match(text, place)
            if match is not None and _is_generated(match["bare"]):
                yield *match.span("bare"), "authorization"
            place = lowered.find(word, place + 1)
    end_of_previous = 0
    for core in find_cores(lowered, marks):
        if core.start < end_of_previous or NOT_A_SECRET.match(text, core.end):
            continue
        span = _beside(text, core) or secret_code.beside(text, core)
        if span is not None:
            end_of_previous = span[1]
            yield *span, core.text


def _is_generated(value: str) -> bool:
    inner = value[1:]
    if is_mixed(value) or (inner != inner.lower() and inner != inner.upper()):
        return True
    return len(value) >= _LONGEST_WORD and value.isalpha() and not is_placeholder(value)


def _beside(text: str, core: Core) -> tuple[int, int] | None:
    before = text[max(0, core.start - 100) : core.start][::-1]
    password = core.is_password or text[core.start : core.end] == "PASS"
    tail = _TAIL.match(text, core.end)
    if _RESOURCE.match(before) or (tail is not None and _ends_prompt(before, tail)):
        return None
    if tail is not None and (tail["close"] != ">" or _ELEMENT.match(before)):
        if tail["bare"] is None:
            return _quoted_span(tail, "angled" if tail["quoted"] is None else "quoted", password=password)
        is_element = tail["close"] == ">"
        assigned = tail["sep"] == "=" and _ASSIGNED.match(before) is not None
        span = _bare_span(tail, password=password, assigned=assigned or is_element, is_element=is_element)
        if span is not None:
            return span
    return _annotated_span(text, core) or (_flag_span(text, core) if _OPTION.match(before) else None)


def _annotated_span(text: str, core: Core) -> tuple[int, int] | None:
    typed = _ANNOTATED.match(text, core.end)
    is_secret = typed is not None and is_quoted_secret(typed["quoted"], password=core.is_password)
    return typed.span("quoted") if typed is not None and is_secret else None


def _flag_span(text: str, core: Core) -> tuple[int, int] | None:
    flag = _FLAG.match(text, core.end)
    if flag is None:
        return None
    if flag["quoted"] is not None:
        return _quoted_span(flag, "quoted", password=core.is_password)
    return _bare_span(flag, password=core.is_password)


def _ends_prompt(before: str, tail: re.Match[str]) -> bool:
    """Return whether the quote after a name ends a text in which the name stands, as in `input("Password: ")`."""
    if tail["quoted"] is None or tail["close"] is not None:
        return False
    opening = _PROMPT.match(before)
    is_same = opening is not None and opening["quote"] == tail["quote"]
    return is_same and _PROMPT_END.match(tail.string, tail.start("quoted")) is not None


def _quoted_span(match: re.Match[str], group: str, *, password: bool) -> tuple[int, int] | None:
    """Return a value's span between quotes, up to the closing quote. An unclosed quote closes with the text."""
    value = match[group]
    if not is_quoted_secret(value, password=password):
        return None
    is_apart = match.re is _TAIL.compiled and match["sep"].isspace()
    if is_apart and (" " in value or not is_bare_secret(value, password=password)):
        return None  # a sentence may quote words after a name
    start, end = match.span(group)
    if end < match.end() or end == len(match.string):
        return start, end
    rest = _REST_OF_QUOTED[match["quote"]].match(match.string, end)
    return None if rest is None else (start, rest.end("rest"))


def _bare_span(
    match: re.Match[str], *, password: bool, assigned: bool = False, is_element: bool = False
) -> tuple[int, int] | None:
    """Return a value's span without quotes, up to the next tag if it stands in an XML element."""
    value = match["bare"]
    if is_element and "<" in value[1:]:
        value = value[: value.index("<", 1)]
    value = trim(value)
    if not is_bare_secret(value, password=password, assigned=assigned):
        return None
    start = match.start("bare")
    whole = None if is_element else _WHOLE_BARE.match(match.string, start)
    return start, start + len(value if whole is None else trim(whole[0]))
