"""How can text that somebody else wrote be shown safely, and how are values shown shortly?"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

_ENCODER = msgspec.json.Encoder(order="sorted")


def visible(text: str) -> str:
    r"""Return a text in which control characters are shown as \x1b, those that turn the direction of writing as \u202e.

    Newlines and tabs stay. What is returned can neither move a cursor, nor colour, nor reorder what stands beside it.
    """
    return _CONTROLS.sub(_spelt_out, text.replace("\r\n", "\n"))


def _spelt_out(found: re.Match[str]) -> str:
    code = ord(found.group())
    return rf"\x{code:02x}" if code < 0x100 else rf"\u{code:04x}"


def described(error: BaseException) -> str:
    """Return an exception as `Type: message`, also one that cannot say what it is, or says what is no Unicode."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  (the message of a user's exception is code of the user)
        message = "<its message cannot be read>"
    text = f"{type(error).__name__}: {message}".rstrip(": ")
    return text.encode("utf-8", "replace").decode()


def call(name: str, args: dict[str, Any], *, limit: int = 0) -> str:
    """Return a tool call as `name(key="value")`, arguments by key; cut to `limit` characters where it is not 0."""
    inner = ", ".join([f"{key}={compact(value)}" for key, value in sorted(args.items())])
    return shortened(f"{name}({inner})", limit)


def compact(value: Any) -> str:
    """Return a JSON value on one line, text of any language as itself."""
    try:
        text = _ENCODER.encode(value)
    except (RecursionError, TypeError, ValueError):
        return f"<{type(value).__name__}>"
    if isinstance(value, (dict, list)):
        text = msgspec.json.format(text, indent=0)
    return text.decode()


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with an ellipsis where something was cut; 0 is no limit."""
    return text if not limit or len(text) <= limit else text[: limit - 1] + "…"
