"""Texts that try to come alive where they are shown: in HTML, Markdown, spreadsheets, XML and terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec

_TAGS = ("script", "img", "svg", "iframe", "object", "embed", "style", "link", "meta", "base", "form", "video", "math")
_HANDLERS = ("onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onanimationstart")
_URLS = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "https://evil-site.com/x",
    "//evil-site.com/x",
    "www.evil-site.com",
)
_ENDS = (
    "</script>",
    "</SCRIPT >",
    "</style>",
    "</title>",
    "</textarea>",
    "-->",
    "<!--",
    "]]>",
    "<![CDATA[",
    "<?php ?>",
    "</code>",
    "</details>",
    "</summary>",
    "</pre>",
)
_MARKDOWN = (
    "@octocat",
    "@org/team",
    "#123",
    "GH-12",
    "octo/repo#7",
    "!45",
    "~label",
    "%5",
    "https://evil-site.com",
    "me@evil-site.com",
    "www.evil-site.com/a?b=c",
    "[click](https://evil-site.com)",
    "![x](https://evil-site.com/x.png)",
    "[a]: https://evil-site.com",
    "[a][b]",
    "<https://evil-site.com>",
    "<me@evil-site.com>",
    "`code`",
    "``",
    "```",
    "````js",
    "~~~",
    "`` ` ``",
    "a ` b `` c ``` d ```` e",
    "`@octocat`",
    "` @octocat `",
    "**bold**",
    "# title",
    "- item",
    "1. item",
    "> quote",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "a | b",
    "a \\| b",
    "\\",
    "\\`",
    "a\\",
    "---",
    "***",
    "~~gone~~",
    ":smile:",
    "$x$",
    "```math\nx\n```",
    "```mermaid\ngraph TD\n```",
    "[^1]",
    "- [ ] task",
    "&lt;b&gt;",
    "&#64;octocat",
    "    indented",
    "\tindented",
    "<details><summary>x</summary>",
    "\n\n<b>bold</b>\n\n",
    "\n\n@octocat\n\n# 123",
    "\n```\n@octocat\n```\n",
    "\n````\n@octocat\n",
    "5dc1e6a66e50bd241dd8c95e88481de39aadcf6d",
)
_FORMULAS = (
    "=1+1",
    '=HYPERLINK("https://evil-site.com")',
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "=cmd|' /C calc'!A0",
    '"=1+1"',
    "'=1",
    " =1",
    "\n=1",
)
_CHARACTERS = (
    "\u202eabc",
    "\u2066x\u2069",
    "\u200bzero",
    "\u200e",
    "\ufeff",
    "nul \x00 here",
    "\x1b[31mred",
    "\x9b31m",
    "\ud800",
    "\udfff tail",
    "\ufffe",
    "\U000e0041",
    "e\u0301" * 20,
    "\x08\x08\x08",
    "\r over",
    "\u2028line",
    "\x85next",
    "\x0c",
    "한국어",
    "日本語",
    "繁體中文",
    "简体中文",
    "👩\u200d👩\u200d👧",
    "",
    " ",
    "\n",
    "\n\n\n",
)
_STYLES = (
    "</style><style>*{background:url(//evil-site.com)}",
    "expression(alert(1))",
    "@import 'https://evil-site.com';",
    "a{b:url(javascript:1)}",
    "\\3c script\\3e",
)
_TEMPLATES = (
    "{{7*7}}",
    "${7*7}",
    "<%= 7*7 %>",
    "#{7*7}",
    "{%raw%}",
    "%s%n",
    "../../../etc/passwd",
    "'; DROP TABLE x;--",
)

HOSTILE: tuple[str, ...] = (
    *(f"<{tag} {handler}=alert(1)>" for tag, handler in product(_TAGS, _HANDLERS)),
    *(f'<{tag} src="{url}">' for tag, url in product(_TAGS[:4], _URLS)),
    *(f'"><a href="{url}">x</a>' for url in _URLS),
    *_URLS,
    *_ENDS,
    *(f"{end}<script>alert(1)</script>" for end in _ENDS),
    *_MARKDOWN,
    *(f"text {text} text" for text in _MARKDOWN),
    *_FORMULAS,
    *_CHARACTERS,
    *_STYLES,
    *_TEMPLATES,
)
"""More than two hundred strings. Each of them must appear as text wherever an agent can put it."""

LONG = ("x" * 1_000_000, "한" * 1_000_000, "`" * 100_000, "<b>" * 100_000, "word " * 200_000)
"""Long lines, up to a megabyte and more."""


def filled(record: Any, text: str | Callable[[], str]) -> Any:
    """Return a record with a text in place of every free text, at any depth. Literals and enumerations stay."""
    value = text if callable(text) else lambda: text
    return _fill_placeholders(record, value)


def _fill_placeholders(item: Any, text: Callable[[], str]) -> Any:
    if isinstance(item, msgspec.Struct):
        fields = {name: new for name, new in _fields(item, text) if new is not getattr(item, name)}
        return msgspec.structs.replace(item, **fields)
    if type(item) is str:
        return text()
    if isinstance(item, tuple | list):
        return type(item)(_fill_placeholders(inner, text) for inner in item)
    if isinstance(item, dict):
        return {f"{text()}{number}": _fill_placeholders(inner, text) for number, inner in enumerate(item.values())}
    return item


def _fields(record: msgspec.Struct, text: Callable[[], str]) -> Iterator[tuple[str, Any]]:
    for field in msgspec.inspect.type_info(type(record)).fields:  # type: ignore[attr-defined]
        value = getattr(record, field.name)
        kinds = {type(kind).__name__ for kind in getattr(field.type, "types", (field.type,))}
        if "LiteralType" in kinds or field.name in {"digest", "started", "finished"}:
            yield field.name, value
        else:
            yield field.name, _fill_placeholders(value, text)
