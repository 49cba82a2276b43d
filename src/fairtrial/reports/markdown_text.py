"""Escape foreign text for Markdown, without links, mentions, images or HTML.

In code, neither CommonMark nor GitHub or GitLab looks for markup, `@names`, `#123` or addresses. Therefore foreign text
stands in code spans and fences only. Many people may read a comment, so that secrets are replaced in it.
"""

from __future__ import annotations

import html
import re

from fairtrial.text.display import shorten, visible, visible_line

_NAME_LENGTH = 120
_BACKTICKS = re.compile("`+")


def code_span(text: str, limit: int = _NAME_LENGTH) -> str:
    r"""Return a text as a code span on one line, in at most `limit` characters, also for a cell of a table.

    A pipe is spelt out as \x7c, because renderers do not agree on how it is escaped inside code.
    """
    line = shorten(_without_secrets(visible_line(text)), limit).replace("|", r"\x7c").strip()
    if not line:
        return "(empty)"
    fence = "`" * (_longest_run(line) + 1)
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def code_block(text: str, language: str = "text") -> str:
    """Return a text as a fenced block of a language. The fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{_without_secrets(visible(text))}\n{fence}"


def code_in_html(text: str, limit: int = _NAME_LENGTH) -> str:
    """Return a text as code for a line of HTML, for example of a summary, in which Markdown is not read."""
    return f"<code>{html.escape(shorten(_without_secrets(visible_line(text)), limit))}</code>"


def _without_secrets(text: str) -> str:
    # A terminal's report shares this module, and needs no search for secrets.
    from fairtrial.text.redaction.redact import without_secrets

    return without_secrets(text)


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
