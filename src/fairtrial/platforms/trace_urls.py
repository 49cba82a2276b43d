"""A trace by its URL, in Tempo or in Jaeger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from fairtrial.errors import UsageError, spell
from fairtrial.platforms.forwarding import parse_headers
from fairtrial.platforms.http_client import HttpClient, check_url
from fairtrial.platforms.platform import Page, PullQuery

HEADERS = "FAIRTRIAL_PULL_HEADERS"
"""The variable with the headers of the request, for example `Authorization=Bearer%20...`."""


class TraceUrl:
    """A URL such as http://tempo:3200/api/traces/ID. Tempo answers with OTLP, and Jaeger in its own form."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Prepare a request to the URL. Raises UsageError if it is not a URL."""
        if project:
            raise UsageError(f"{spell('project')}: a URL is one trace; leave it out", code="options-conflict")
        parts = urlsplit(check_url(url, "SOURCE"))
        headers = parse_headers(os.environ.get(HEADERS, ""), HEADERS)
        base = f"{parts.scheme}://{parts.netloc}"
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._client = HttpClient(
            "the trace",
            base,
            {"Accept": "application/json", **headers},
            keys=[HEADERS],
            secrets=[*headers.values()],
            wait=wait,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:  # noqa: ARG002  (a trace has one page)
        """Yield the trace."""
        if query != PullQuery():
            raise UsageError(
                f"pull: a URL is one trace; {spell('since')}, {spell('until')}, "
                f"{spell('session')} and {spell('filter_text')} choose no part",
                code="not-supported",
            )
        yield Page([self._client.get(self._path)], "")
