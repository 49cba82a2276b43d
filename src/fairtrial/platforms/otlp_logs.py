"""Any service that takes OTLP: a score is an event `gen_ai.evaluation.result` in the trace that it is about."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, spell
from fairtrial.platforms.forwarding import parse_headers
from fairtrial.platforms.http_client import HttpClient

if TYPE_CHECKING:
    from fairtrial.platforms.platform import PushedScore
    from fairtrial.records.record import Json

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
EVENT = "gen_ai.evaluation.result"
_DEFAULT_URL = "http://localhost:4318"
_BATCH = 200
_INFO = 9
"""The number of the severity INFO."""


class OtlpLogs:
    """A service that takes log records over HTTP, for example a collector."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that OpenTelemetry's own variable names."""
        if project:
            raise UsageError(
                f"{spell('project')}: OTLP knows no projects; use OTEL_EXPORTER_OTLP_HEADERS if the service does",
                code="not-supported",
            )
        headers = parse_headers(os.environ.get(HEADERS, ""), HEADERS)
        address = url or os.environ.get(ENDPOINT) or _DEFAULT_URL
        secrets = list(headers.values())
        self._client = HttpClient("OTLP", address, headers, keys=[HEADERS], secrets=secrets, wait=wait)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send log records. Those of a score are equal whenever it is pushed, with the id as an attribute."""
        records = [_record(score) for score in scores]
        for start in range(0, len(records), _BATCH):
            scope = {"scope": {"name": "fairtrial"}, "logRecords": records[start : start + _BATCH]}
            resource = {"attributes": [_attribute("service.name", "fairtrial")]}
            self._client.post("/v1/logs", {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})


def _record(score: PushedScore) -> Json:
    attributes: dict[str, Json] = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": score.label or None,
        "gen_ai.evaluation.explanation": score.explanation or None,
        "gen_ai.response.id": score.response_id or None,
        "gen_ai.conversation.id": score.session_id or None,
        "error.type": "unscored" if score.value is None else None,
        "error.message": score.problem or None,
        "fairtrial.score.id": score.id,
        "fairtrial.annotator": score.annotator,
        **{f"fairtrial.{name}": value for name, value in score.metadata.items()},
    }
    return {
        "timeUnixNano": str(score.time),
        "observedTimeUnixNano": str(score.time),
        "severityNumber": _INFO,
        "eventName": EVENT,
        "traceId": score.trace_id,
        "spanId": score.span_id,
        "attributes": [_attribute(name, value) for name, value in attributes.items() if value is not None],
    }


def _attribute(name: str, value: Json) -> Json:
    if isinstance(value, bool):
        return {"key": name, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": name, "value": {"intValue": str(value)}}
    kind = "doubleValue" if isinstance(value, float) else "stringValue"
    return {"key": name, "value": {kind: value if isinstance(value, float) else str(value)}}
