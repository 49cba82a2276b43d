"""Phoenix: spans, annotations of spans, traces and sessions, and the annotations that people gave."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairtrial.errors import UsageError, spell
from fairtrial.formats.spans.span_values import member
from fairtrial.platforms.http_client import HttpClient, RefusedRequestError
from fairtrial.platforms.platform import GivenLabel, Page, PullQuery, PushedScore, score_value

if TYPE_CHECKING:
    from fairtrial.records.record import Json

KEYS = ("PHOENIX_API_KEY",)
_ADDRESSES = ("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL")
_DEFAULT_URL = "http://localhost:6006"
_DEFAULT_PROJECT = "default"
_PAGE_SIZE = "100"
_BATCH = 50
_NOT_FOUND = 404


class Phoenix:
    """A Phoenix server. Its key is in the environment, if it needs one."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that the environment names."""
        key = os.environ.get(KEYS[0], "")
        address = url or next((os.environ[name] for name in _ADDRESSES if os.environ.get(name)), _DEFAULT_URL)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = HttpClient("Phoenix", address, headers, keys=KEYS, secrets=[key], wait=wait)
        name = project or os.environ.get("PHOENIX_PROJECT_NAME") or _DEFAULT_PROJECT
        self._project = f"/v1/projects/{quote(name, safe='')}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield pages of spans. A trace may go on in the next page."""
        if query.filter:
            raise UsageError(
                f"{spell('filter_text')}: Phoenix has no language for filters; use "
                f"{spell('since')}, {spell('until')} and {spell('session')}",
                code="not-supported",
            )
        conditions = [
            (name, value) for name, value in (("start_time", query.since), ("end_time", query.until)) if value
        ]
        if not query.session:
            yield from self._listings("spans", [("limit", _PAGE_SIZE), *conditions], cursor)
            return
        # Often only the root span has the id of the session. The server knows the traces of a session.
        session = [("limit", str(_BATCH)), ("session_identifier", query.session), *conditions]
        for page in self._listings("traces", session, cursor):
            ids = [("trace_id", str(trace.get("trace_id") or "")) for trace in page.documents]
            listings = self._listings("spans", [("limit", _PAGE_SIZE), *ids], "") if ids else ()
            yield Page([span for listing in listings for span in listing.documents], page.cursor)

    def _listings(self, path: str, query: Sequence[tuple[str, str]], cursor: str) -> Iterator[Page]:
        """Yield the pages of a listing of the project, from a cursor on. An empty cursor is the first page."""
        while True:
            place = [("cursor", cursor)] if cursor else []
            listing = self._client.get(f"{self._project}/{path}", [*query, *place])
            fields = listing if isinstance(listing, dict) else {}
            cursor = str(fields.get("next_cursor") or "")
            items = fields.get("data")
            yield Page([item for item in items if isinstance(item, dict)] if isinstance(items, list) else [], cursor)
            if not cursor:
                return

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send annotations. Phoenix replaces an annotation with the same name and identifier at its place."""
        by_path: dict[str, list[Json]] = defaultdict(list)
        for score in scores:
            path, place = _read_place(score)
            by_path[path].append({**place, **_annotation(score)})
        for path, items in by_path.items():
            for start in range(0, len(items), _BATCH):
                body = {"data": items[start : start + _BATCH]}
                self._client.post(f"/v1/{path}", body, [("sync", "true")])

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the annotations of people on the spans, the traces and the sessions of a run."""
        self._client.get(self._project)  # raises an error if there is no such project
        scores = list(places)
        kinds = {
            "span": {score.span_id for score in scores if score.span_id},
            "trace": {score.trace_id for score in scores if score.trace_id},
            "session": {score.session_id for score in scores if score.session_id},
        }
        for kind, ids in kinds.items():
            ordered = sorted(ids)
            for start in range(0, len(ordered), _BATCH):
                yield from self._labels(kind, ordered[start : start + _BATCH])

    def _labels(self, kind: str, ids: list[str]) -> Iterator[GivenLabel]:
        query = [*((f"{kind}_ids", name) for name in ids), ("limit", "1000")]
        try:
            annotations = [item for page in self._listings(f"{kind}_annotations", query, "") for item in page.documents]
        except RefusedRequestError as error:
            if error.status != _NOT_FOUND:
                raise
            return  # Phoenix answers so if none of the ids is in the project
        for annotation in annotations:
            result = member(annotation, "result")
            is_human = annotation.get("annotator_kind") == "HUMAN"
            if is_human and not _is_ours(annotation) and isinstance(result.get("score"), int | float):
                yield GivenLabel(
                    str(annotation.get("name") or ""),
                    score_value(result["score"]),
                    str(annotation.get("user_id") or "Phoenix"),
                    str(result.get("explanation") or ""),
                    str(annotation.get("updated_at") or ""),
                    **{f"{kind}_id": str(annotation.get(f"{kind}_id") or "")},
                )


def _read_place(score: PushedScore) -> tuple[str, dict[str, str]]:
    if score.session_id and score.scope == "conversation":
        return "session_annotations", {"session_id": score.session_id}
    if score.span_id and score.scope == "invocation":
        return "span_annotations", {"span_id": score.span_id}
    return "trace_annotations", {"trace_id": score.trace_id}


def _annotation(score: PushedScore) -> dict[str, Json]:
    result = {"score": score.value, "label": score.label or None, "explanation": score.explanation or score.problem}
    return {
        "name": score.name,
        "annotator_kind": score.annotator,
        "identifier": f"fairtrial:{score.id}",
        "result": {name: value for name, value in result.items() if value not in (None, "")},
        "metadata": score.metadata,
    }


def _is_ours(annotation: dict[str, Json]) -> bool:
    return str(annotation.get("identifier") or "").startswith("fairtrial:")
