"""Parse agent URLs, and check that a server answers there."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit

from fairtrial.errors import AgentError, UsageError


class HttpStatusError(AgentError):
    """A server answered with a status that is not a success. `response` belongs to the HTTP client."""

    def __init__(self, problem: str, response: Any) -> None:
        super().__init__(problem)
        self.response = response


def split_parts(url: str, *, like: str) -> SplitResult:
    """Return the parts of an http or https URL. Raises UsageError for anything else, for example for port 99999."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise UsageError(f"must be a URL such as {like}: {error}", code="unusable-agent") from None
    if not usable:
        raise UsageError(f"must be a URL such as {like}", code="unusable-agent")
    return parts


async def check_answers(client: Any, httpx: Any, url: str) -> None:
    """Raise UsageError if no server accepts a connection for a URL. `httpx` is the module of the client."""
    try:
        await client.head(url)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise UsageError(
            f"{url} does not answer: {type(error).__name__}: {error}; is the server running?", code="no-answer"
        ) from error
    except httpx.HTTPError:
        return  # the server accepts connections, and need not know the method
