"""Langfuse: traces, scores, and the scores that people gave in its user interface."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from fairtrial.errors import UsageError, spell
from fairtrial.formats.spans.span_values import member
from fairtrial.platforms.http_client import HttpClient, RefusedRequestError
from fairtrial.platforms.platform import GivenLabel, Page, PullQuery, PushedScore, score_value
from fairtrial.records.record import Json

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_ADDRESSES = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
_DEFAULT_URL = "https://cloud.langfuse.com"
_PAGE_SIZE = "50"
_GONE = 404


class Langfuse:
    """A project of Langfuse. Its keys are in the environment."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that the environment names. Raises UsageError without keys."""
        if project:
            raise UsageError(
                f"{spell('project')}: the keys of Langfuse belong to one project; use the keys of another project"
            )
        public, secret = (os.environ.get(name, "") for name in KEYS)
        if not public or not secret:
            raise UsageError(f"Langfuse needs {' and '.join(KEYS)} in the environment; its project settings show them")
        token = base64.b64encode(f"{public}:{secret}".encode()).decode()
        address = url or next((os.environ[name] for name in _ADDRESSES if os.environ.get(name)), _DEFAULT_URL)
        headers = {"Authorization": f"Basic {token}"}
        self._client = HttpClient("Langfuse", address, headers, keys=KEYS, secrets=[secret, token], wait=wait)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield pages of whole traces, the oldest first, so that traces that come meanwhile move no page."""
        filters = {
            "fromTimestamp": query.since,
            "toTimestamp": query.until,
            "sessionId": query.session,
            "filter": query.filter,
        }
        conditions = [(name, value) for name, value in filters.items() if value]
        number = int(cursor or 1)
        while True:
            paging = [("page", str(number)), ("limit", _PAGE_SIZE), ("orderBy", "timestamp.asc"), ("fields", "core")]
            listing = self._client.get("/api/public/traces", [*paging, *conditions])
            found = {str(trace["id"]): self._trace(str(trace["id"])) for trace in _objects(listing, "data")}
            number += 1
            has_more = number <= int(member(listing or {}, "meta").get("totalPages") or 0)
            traces = [trace for trace in found.values() if trace is not None]
            missing = tuple(trace_id for trace_id, trace in found.items() if trace is None)
            yield Page(traces, str(number) if has_more else "", missing)
            if not has_more:
                return

    def _trace(self, trace_id: str) -> Json:
        """Return a trace, or None if it was deleted after it was listed, for example because of its age."""
        try:
            return self._client.get(f"/api/public/traces/{quote(trace_id, safe='')}")
        except RefusedRequestError as error:
            if error.status != _GONE:
                raise
            return None

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send scores. Langfuse replaces a score with the same id."""
        for score in scores:
            if score.value is None:
                continue  # Langfuse has no score without a value
            is_of_session = score.scope == "conversation" and score.session_id
            place = {"sessionId": score.session_id} if is_of_session else {"traceId": score.trace_id}
            body = {
                "id": score.id,
                **place,
                "name": score.name,
                "value": score.value,
                "dataType": "NUMERIC",
                "comment": score.explanation or None,
                "metadata": {**score.metadata, "verdict": score.label, "annotator": score.annotator},
            }
            self._client.post("/api/public/scores", body)

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the scores of source ANNOTATION on the traces and the sessions of a run."""
        scores = list(places)
        traces = {score.trace_id for score in scores}
        sessions = {score.session_id for score in scores if score.session_id}
        number, has_more = 1, True
        while has_more:
            query = [("page", str(number)), ("limit", "100"), ("source", "ANNOTATION")]
            listing = self._client.get("/api/public/v2/scores", query)
            for score in _objects(listing, "data"):
                is_of_run = score.get("traceId") in traces or score.get("sessionId") in sessions
                if is_of_run and isinstance(score.get("value"), int | float):
                    yield GivenLabel(
                        str(score.get("name") or ""),
                        score_value(score["value"]),
                        str(score.get("authorUserId") or "Langfuse"),
                        str(score.get("comment") or ""),
                        str(score.get("timestamp") or ""),
                        str(score.get("traceId") or ""),
                        str(score.get("observationId") or ""),
                        str(score.get("sessionId") or ""),
                    )
            number += 1
            has_more = number <= int(member(listing or {}, "meta").get("totalPages") or 0)


def _objects(document: Json, key: str) -> list[dict[str, Json]]:
    values = document.get(key) if isinstance(document, dict) else None
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
