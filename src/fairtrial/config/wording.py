"""How does a message show a value, and describe the values that are allowed?"""

from __future__ import annotations

from typing import Any


def shown(value: Any) -> str:
    """Return a short text for a JSON value in a message. For example, `[1, 2]` is "an array of 2"."""
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(map(repr, list(value)[:3])))}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}" if value else "an empty array"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}...{text[0] if isinstance(value, str) else ''}"
