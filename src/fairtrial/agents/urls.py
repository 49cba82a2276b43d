"""Is a text the URL of an agent?"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from fairtrial.errors import UsageError


def parts_of(url: str, *, like: str) -> SplitResult:
    """Return the parts of an http or https URL. Raises UsageError for anything else, for example for port 99999."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise UsageError(f"must be a URL such as {like}: {error}") from None
    if not usable:
        raise UsageError(f"must be a URL such as {like}")
    return parts
