"""Find secrets apart from their names: objects, lists, tables, cookies, netrc files and command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.secret_names import kind_of_name, lower
from fairtrial.text.redaction.secret_values import is_bare_secret, is_mixed, is_placeholder, is_quoted_secret
from fairtrial.text.runs import match_from

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

NAME_KEYS = frozenset(
    {"name", "key", "header", "field", "variable", "env", "parameter", "param", "label", "k"}
    | {"selector", "locator", "element", "placeholder"}
)
VALUE_KEYS = frozenset(
    {
        "value",
        "val",
        "v",
        "content",
        "default",
        "current",
        "previous",
        "new",
        "old",
        "plain",
        "plaintext",
        "raw",
        "text",
    }
    | {"data", "stringvalue", "string_value", "secretvalue", "secret"}
)
"""The object keys under which a variable's name and value stand, in lower case."""
ATTRIBUTES = frozenset({"path", "expires", "max-age", "domain", "samesite", "priority", "version"})

STRING = r"(?:\"(?:\\.|[^\"\\\n]){0,400}\"|'(?:\\.|[^'\\\n]){0,400}')"
_OBJECT = LazyPattern(rf"\{{(?>[^{{}}\"']{{1,400}}|{STRING}|\{{(?>[^{{}}\"']{{1,400}}|{STRING}){{0,40}}\}}){{0,60}}\}}")
_MEMBER = LazyPattern(rf"[\"']([\w.-]{{1,40}})[\"']\s*:\s*({STRING})")
_OPENING = LazyPattern(r":\s*([{\[])")
_DEEPEST = 4
"""So many objects or lists under telling names may be inside each other, so that hostile text takes linear time."""
_ITEMS = LazyPattern(STRING)
_TOKEN = LazyPattern(rf"{STRING}|[{{}}\[\]]")
_YAML = LazyPattern(
    r"^[ \t-]*(?:name|key):[ \t]*[\"']?(?P<name>[\w.-]{1,60})[\"']?[ \t]*\n[ \t]*value:[ \t]*(?P<value>[^\n]{1,400})",
    flags=re.MULTILINE,
)
_ROW = LazyPattern(r"^[^\n|]{0,400}\|([^\n]*)\|[ \t]*$", flags=re.MULTILINE)
_RULE = LazyPattern(r"[\s|:-]+$")
_COOKIE = LazyPattern(
    r"(?<![\w-])(?:set-)?cookie2?[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?P<cookies>[^\n\"']{1,4000})", flags=re.IGNORECASE
)
_CRUMB = LazyPattern(r"(?P<name>[^\s=;,:]{1,100})=(?P<value>[^\s;,\"']{1,2000})")
_SESSION = LazyPattern(r"sess|sid|auth|token|csrf|jwt|login", flags=re.IGNORECASE)
_SQL_STRING = r"(?:'(?:\\.|''|[^'\\\n]){0,400}'|\"(?:\\.|\"\"|[^\"\\\n]){0,400}\")"
_SQL_NAME = r"(?:'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|`[^`\n]{0,80}`|[\w.%-]{1,80})"
_SQL = LazyPattern(
    rf"(?:set\s+password(?:\s+for\s+{_SQL_NAME}(?:@{_SQL_NAME})?)?\s*=\s*(?:\w{{1,20}}\s?\()?"
    rf"|(?:create|alter)\s+(?:user|role|login)\s[^;\n]{{1,120}}?\s(?:password|by)\s+"
    rf"|identified\s+with\s+{_SQL_NAME}\s+by\s+|identified\s+by\s+(?={_SQL_STRING}\s+replace\s))[EN]?"
    rf"(?P<new>{_SQL_STRING})(?:\s+replace\s+(?P<old>{_SQL_STRING}))?",
    flags=re.IGNORECASE,
)
_NETRC = LazyPattern(r"\blogin\s+\S{1,100}\s+(?:password|passwd)\s+(?P<value>\S{1,200})")


def find_named(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and name of each secret that a shape with its name shows, without the quotes around it.

    `lowered` is the text in lower case.
    """
    for mark, finder in _NAMED_SHAPES:
        if mark in lowered:
            yield from finder(text)


def names_secret(name: str) -> bool:
    """Return whether a name announces a secret or cookies, for example `DB_PASSWORD` or `Set-Cookie`."""
    return len(name) <= 80 and (kind_of_name(name) is not None or name.lower() in {"cookie", "set-cookie"})


def find_cookies(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the values in a cookie header's value: those of sessions, and long values that look generated."""
    for crumb in _CRUMB.finditer(text):
        name, value = crumb["name"].lower(), crumb["value"]
        if name in ATTRIBUTES or is_placeholder(value):
            continue
        if (_SESSION.search(name) and len(value) >= 4) or (len(value) >= 12 and is_mixed(value)):
            yield start + crumb.start("value"), start + crumb.end("value"), f"cookie {crumb['name']}"


def _cookies(text: str) -> Iterator[Span]:
    for match in _COOKIE.finditer(text):
        yield from find_cookies(match["cookies"], match.start("cookies"))


def _objects(text: str) -> Iterator[Span]:
    for match in _OBJECT.finditer(text):
        members = list(_MEMBER.finditer(match[0]))
        name = next(
            (inner[2][1:-1] for inner in members if inner[1].lower() in NAME_KEYS and names_secret(inner[2][1:-1])),
            None,
        )
        if name is not None:
            yield from _values(members, match.start(), name)


def _values(members: list[re.Match[str]], start: int, name: str) -> Iterator[Span]:
    """Yield object members that hold a name's secret."""
    for member in members:
        place = start + member.start(2) + 1
        value = member[2][1:-1]
        if member[1].lower() not in VALUE_KEYS:
            continue
        if "cookie" in name.lower():
            yield from find_cookies(value, place)
        elif is_quoted_secret(value, password=kind_of_name(name) == "password"):
            yield place, place + len(value), name


def _find_nested(text: str) -> Iterator[Span]:
    """Yield the secrets in an object or a list under a telling name: `"password": {"value": "..."}`."""
    ends: list[int] = []
    for opening in _OPENING.finditer(text):
        name = _name_before(text, opening.start())
        if kind_of_name(name) is None:
            continue
        start = opening.start(1)
        ends = [end for end in ends if end > start]
        if len(ends) >= _DEEPEST:  # the objects around are searched with their members
            continue
        end = _close(text, start)
        ends.append(end)
        inner = text[start:end]
        if opening[1] == "{":
            yield from _values(list(_MEMBER.finditer(inner)), start, name)
        else:
            yield from _list_items(inner, start, name)


def _name_before(text: str, end: int) -> str:
    """Return the short text between quotes that ends before a place, or an empty string."""
    while end and text[end - 1].isspace():
        end -= 1
    quote = text[end - 1 : end]
    if quote not in ("'", '"'):
        return ""
    first = max(0, end - 82)
    start = text.rfind(quote, first, end - 1)
    while start > 0 and text[start - 1] == "\\":
        start = text.rfind(quote, first, start - 1)
    name = _ITEMS.match(text, max(0, start), end)
    return name[0][1:-1] if name is not None and name.end() == end else ""


def _list_items(inner: str, start: int, name: str) -> Iterator[Span]:
    if "{" in _ITEMS.sub("", inner):  # a list of objects, each of which has its own names
        return
    for item in _ITEMS.finditer(inner):
        if is_quoted_secret(item[0][1:-1], password=kind_of_name(name) == "password"):
            yield start + item.start() + 1, start + item.end() - 1, name


def _close(text: str, start: int, limit: int = 2000) -> int:
    """Return the place after the bracket that closes the bracket at `start`, or after `limit` characters."""
    depth = 0
    for token in _TOKEN.finditer(text, start, start + limit):
        if token[0] in "{}[]":
            depth += 1 if token[0] in "{[" else -1
        if not depth:
            return token.end()
    return start + limit


def _yaml(text: str) -> Iterator[Span]:
    for match in _YAML.finditer(text):
        if names_secret(match["name"]):
            yield from _cell(match["value"], match.start("value"), match["name"])


def _cell(raw: str, start: int, name: str) -> Iterator[Span]:
    """Yield the secret in a table cell or a YAML line, without the quotes or backticks around it."""
    value = raw.strip().strip("`\"'")
    if value and is_bare_secret(value, password=kind_of_name(name) == "password"):
        place = start + raw.index(value)
        yield place, place + len(value), name


def _tables(text: str) -> Iterator[Span]:
    """Yield the secrets in Markdown tables: in the cell after a name, and in the cells below a name."""
    columns: dict[int, str] = {}
    header: list[str] = []
    for row in _ROW.finditer(text):
        if _RULE.match(row[1]):
            columns = {place: cell.strip() for place, cell in enumerate(header) if _is_cell_name(cell)}
            continue
        cells = row[1].split("|")
        start = row.start(1)
        for place, cell in enumerate(cells):
            name = columns.get(place) or (cells[place - 1].strip() if place and _is_cell_name(cells[place - 1]) else "")
            if name:
                yield from _cell(cell, start, name)
            start += len(cell) + 1
        header = cells


def _is_cell_name(cell: str) -> bool:
    return len(cell) <= 60 and kind_of_name(cell.strip()) is not None


def _sql(text: str) -> Iterator[Span]:
    """Yield the new and the old password of statements that change one."""
    for match in match_from(_SQL, ("set", "create", "alter", "identified"), text, lower(text)):
        for group in ("new", "old"):
            start, end = match.span(group)
            if start >= 0 and is_quoted_secret(text[start + 1 : end - 1], password=True):
                yield start + 1, end - 1, "password"


def _netrc(text: str) -> Iterator[Span]:
    for match in _NETRC.finditer(text):
        if not is_placeholder(match["value"]):
            yield *match.span("value"), "password"


_NAMED_SHAPES: tuple[tuple[str, Callable[[str], Iterator[Span]]], ...] = (
    ("cookie", _cookies),
    ("{", _objects),
    (":", _find_nested),
    ("value:", _yaml),
    ("|", _tables),
    ("login", _netrc),
    ("set password", _sql),
    ("identified ", _sql),
    ("create ", _sql),
    ("alter ", _sql),
)
"""The shapes with names. Every text with the shape contains the string in lower case."""
