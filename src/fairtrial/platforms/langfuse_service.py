"""Langfuse: traces, scores, and the scores that people gave in its user interface."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.formats.spans.span_values import member
from fairtrial.platforms.http_client import HttpClient, RefusedRequestError
from fairtrial.platforms.platform import GivenLabel, Page, PullQuery, PushedScore, score_value

if TYPE_CHECKING:
    from fairtrial.records.record import Json

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_ADDRESSES = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
_DEFAULT_URL = "https://cloud.langfuse.com"
_PAGE_SIZE = "50"
_OBSERVATIONS = "100"
"""A page of observations is at most so long."""
_GONE = 404
_UNKNOWN = (400, _GONE, 405, 410, 501)
"""The statuses of a server that has no observations of several traces."""


class Langfuse:
    """A project of Langfuse. Its keys are in the environment."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that the environment names. Raises UsageError without keys."""
        if project:
            raise UsageError(
                f"{spell('project')}: the keys of Langfuse belong to one project; use the keys of another project",
                code="not-supported",
            )
        public, secret = (os.environ.get(name, "") for name in KEYS)
        if not public or not secret:
            raise UsageError(
                f"Langfuse needs {' and '.join(KEYS)} in the environment; its project settings show them",
                code="missing-key",
            )
        token = base64.b64encode(f"{public}:{secret}".encode()).decode()
        address = url or next((os.environ[name] for name in _ADDRESSES if os.environ.get(name)), _DEFAULT_URL)
        headers = {"Authorization": f"Basic {token}"}
        self._client = HttpClient("Langfuse", address, headers, keys=KEYS, secrets=[secret, token], wait=wait)
        self._takes_filter = True

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
            found = self._whole_traces({str(trace["id"]): trace for trace in _objects(listing, "data")})
            number += 1
            has_more = number <= _last_page(listing)
            traces = [trace for trace in found.values() if trace is not None]
            missing = tuple(trace_id for trace_id, trace in found.items() if trace is None)
            yield Page(traces, str(number) if has_more else "", missing)
            if not has_more:
                return

    def _whole_traces(self, listed: dict[str, dict[str, Json]]) -> dict[str, Json]:
        """Return traces with their observations. A trace that was deleted meanwhile is None.

        The observations of all traces come in pages. A trace without any of them is asked for by itself, which shows
        whether it was deleted.
        """
        observations = self._observations(list(listed)) if listed and self._takes_filter else None
        if observations is None:
            return {trace_id: self._trace(trace_id) for trace_id in listed}
        return {
            trace_id: {**trace, "observations": observations[trace_id]}
            if observations[trace_id]
            else self._trace(trace_id)
            for trace_id, trace in listed.items()
        }

    def _observations(self, trace_ids: list[str]) -> dict[str, list[Json]] | None:
        """Return the observations of traces, or None if the server cannot filter them, as older versions cannot."""
        of_traces = {"type": "stringOptions", "column": "traceId", "operator": "any of", "value": trace_ids}
        query = [("limit", _OBSERVATIONS), ("filter", msgspec.json.encode([of_traces]).decode())]
        found: dict[str, dict[str, Json]] = {trace_id: {} for trace_id in trace_ids}
        number, has_more = 1, True
        while has_more:
            try:
                page = self._client.get("/api/public/observations", [("page", str(number)), *query])
            except RefusedRequestError as error:
                if error.status not in _UNKNOWN:
                    raise
                self._takes_filter = False
                return None
            for observation in _objects(page, "data"):
                of_trace = found.get(str(observation.get("traceId")))
                if of_trace is None:  # a server that ignores the filter gives the observations of any trace
                    self._takes_filter = False
                    return None
                of_trace[str(observation.get("id"))] = observation
            number += 1
            has_more = number <= _last_page(page)
        return {trace_id: list(of_trace.values()) for trace_id, of_trace in found.items()}

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
            has_more = number <= _last_page(listing)


def _last_page(listing: Json) -> int:
    return int(member(listing or {}, "meta").get("totalPages") or 0)


def _objects(document: Json, key: str) -> list[dict[str, Json]]:
    values = document.get(key) if isinstance(document, dict) else None
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
