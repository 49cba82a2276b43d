"""The keys in the environment of this process, which must never be written to a file or a log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_NAMES = re.compile(
    r"((API|ACCESS|AUTH|PRIVATE)_?KEY|TOKEN|SECRET|PASSWORD|(?<!APPLICATION_)CREDENTIALS)$", re.IGNORECASE
)
"""GOOGLE_APPLICATION_CREDENTIALS is a file path."""

_URL = re.compile(
    r"(?P<start>\b[A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/\"'<>]*@)?(?P<place>[^\s?#\"'<>]*)(?P<query>\?[^\s\"'<>#]*)?"
)


def known_secrets() -> tuple[str, ...]:
    """Return the values of environment variables that hold keys by their names, longest first."""
    values = {value for name, value in os.environ.items() if _NAMES.search(name) and len(value) >= 8}
    return tuple(sorted(values, key=len, reverse=True))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret replaced by `[secret]`."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, "[secret]")
    return text


def without_credentials(text: str) -> str:
    """Return a text whose URLs have neither a user, nor a password, nor a query.

    For example, `http://me:p@ss@host/v1?key=abc` becomes `http://host/v1?...`.
    """
    return _URL.sub(lambda url: url["start"] + url["place"] + ("?..." if url["query"] else ""), text)
