"""Escape keys for JSON pointers."""

from __future__ import annotations


def escape(key: str) -> str:
    """Return a key as one reference token in a JSON pointer (RFC 6901). Half a surrogate pair becomes `?`."""
    return key.encode("utf-8", "replace").decode().replace("~", "~0").replace("/", "~1")
