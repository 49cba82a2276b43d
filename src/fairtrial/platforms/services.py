"""The services that traces are pulled from and that scores are pushed to."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from fairtrial.errors import UsageError, nearest

if TYPE_CHECKING:
    from fairtrial.platforms.platform import LabelSource, ScoreTarget, TraceSource

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
        from fairtrial.platforms.trace_urls import TraceUrl

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
