"""The services that traces are pulled from and that scores are pushed to."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from fairtrial.errors import UsageError, nearest, spell
from fairtrial.platforms.forwarding import parse_headers
from fairtrial.platforms.http_client import HttpClient, check_url
from fairtrial.platforms.platform import Page, PullQuery

if TYPE_CHECKING:
    from fairtrial.platforms.platform import LabelSource, ScoreTarget, TraceSource

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


SERVICES = {
    "langfuse": ("fairtrial.platforms.langfuse_service", "Langfuse"),
    "phoenix": ("fairtrial.platforms.phoenix_service", "Phoenix"),
    "langsmith": ("fairtrial.platforms.langsmith_service", "LangSmith"),
    "mlflow": ("fairtrial.platforms.mlflow_service", "MLflow"),
}
"""The services by their names on the command line. Each gives traces and labels, and takes scores."""
Wait = Callable[[float], None]


def trace_source(name: str, *, url: str = "", project: str = "", wait: Wait = time.sleep) -> TraceSource:
    """Return the service with a name, or the trace at a URL. Raises UsageError."""
    if name.startswith(("http://", "https://")):
        return TraceUrl(name, project, wait)
    return cast("TraceSource", _service(name, url, project, wait))


def score_target(name: str, *, url: str = "", project: str = "", wait: Wait = time.sleep) -> ScoreTarget:
    """Return the service with a name. Raises UsageError."""
    if name == "otlp":
        from fairtrial.platforms.otlp_logs import OtlpLogs

        return OtlpLogs(url, project, wait)
    return cast("ScoreTarget", _service(name, url, project, wait))


def label_source(name: str, *, url: str = "", project: str = "", wait: Wait = time.sleep) -> LabelSource:
    """Return the service with a name. Raises UsageError."""
    return cast("LabelSource", _service(name, url, project, wait))


def _service(name: str, url: str, project: str, wait: Wait) -> Any:
    if name not in SERVICES:
        raise UsageError(
            f"{name!r} is not a service; use {', '.join(SERVICES)}{nearest(name, SERVICES)}", code="unknown-name"
        )
    module, kind = SERVICES[name]
    return getattr(importlib.import_module(module), kind)(url, project, wait)
