"""Make templates of error texts: ids, numbers and quotes become slots."""

from __future__ import annotations

import unicodedata

from fairtrial.analysis.failures.events import json_text
from fairtrial.text.lazy_pattern import LazyPattern

_LONGEST = 160
_READ = 2_000
_SLOTS = (
    (LazyPattern(r"https?://\S+"), "URL"),
    (LazyPattern(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "EMAIL"),
    (
        LazyPattern(
            r"\"[^\"]{1,200}\"|'[^'\s][^']{0,200}'|「[^」]{1,200}」|『[^』]{1,200}』|“[^”]{1,200}”|`[^`]{1,200}`"
        ),
        "…",
    ),
    (LazyPattern(r"(?<!\w)(?:/[\w.-]+){2,}"), "PATH"),
    (LazyPattern(r"#?(?=[A-Za-z_-]{0,40}\d)[A-Za-z\d][A-Za-z\d_-]{0,100}(?:[.:,]\d+)*"), "#"),
)
_SPACE = LazyPattern(r"\s+")
_REPEATED = LazyPattern(r"(# ?,? ?)+(?=#)")
_KEYS = ("error", "message", "detail", "reason", "errors", "msg", "text", "content")


def error_text(response: object) -> str:
    """Return the text of an error: the message inside of an object, otherwise the whole."""
    for _ in range(4):
        if isinstance(response, list) and response:
            response = response[0]
        elif isinstance(response, dict):
            inner = next((response[key] for key in _KEYS if response.get(key)), None)
            if inner is None:
                break
            response = inner
        else:
            break
    return json_text(response)


def make_template(text: str) -> str:
    """Return an error text with slots, on a line.

    For example, "Error: item 9127591879 not found" becomes "Error: item # not found".
    """
    plain = unicodedata.normalize("NFKC", text[:_READ])
    plain = plain.strip().splitlines()[-1] if plain.startswith("Traceback") and plain.strip() else plain
    for pattern, slot in _SLOTS:
        plain = pattern.sub(slot, plain)
    plain = _REPEATED.sub("", _SPACE.sub(" ", plain)).strip()
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
