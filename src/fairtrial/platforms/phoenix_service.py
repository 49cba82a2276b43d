"""Phoenix: spans, annotations of spans, traces and sessions, and the annotations that people gave."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from fairtrial.errors import UsageError
from fairtrial.formats.spans.span_values import member
from fairtrial.platforms.http_client import HttpClient
from fairtrial.platforms.platform import GivenLabel, Page, PullQuery, PushedScore
from fairtrial.records.record import Json

KEYS = ("PHOENIX_API_KEY",)
_ADDRESSES = ("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL")
_DEFAULT_URL = "http://localhost:6006"
_DEFAULT_PROJECT = "default"
_PAGE_SIZE = "100"
_BATCH = 50


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

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield pages of spans. A trace may go on in the next page."""
        if query.filter:
            raise UsageError("--filter: Phoenix has no language for filters; use --since, --until and --session")
        conditions = [
            (name, value) for name, value in (("start_time", query.since), ("end_time", query.until)) if value
        ]
        while True:
            place = [("cursor", cursor)] if cursor else []
            listing = self._client.get(f"{self._project}/spans", [("limit", _PAGE_SIZE), *place, *conditions])
            cursor = str(listing.get("next_cursor") or "") if isinstance(listing, dict) else ""
            spans = [span for span in _annotations(listing) if _is_of_session(span, query.session)]
            yield Page(spans, cursor)
            if not cursor:
                return

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send annotations. Phoenix replaces an annotation with the same name and identifier at its place."""
        by_path: dict[str, list[Json]] = defaultdict(list)
        for score in scores:
            path, place = _place_of(score)
            by_path[path].append({**place, **_annotation(score)})
        for path, items in by_path.items():
            for start in range(0, len(items), _BATCH):
                body = {"data": items[start : start + _BATCH]}
                self._client.post(f"/v1/{path}", body, [("sync", "true")])

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the annotations of people on the spans, the traces and the sessions of a run."""
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
        cursor = ""
        while True:
            place = [("cursor", cursor)] if cursor else []
            query = [*((f"{kind}_ids", name) for name in ids), ("limit", "1000"), *place]
            listing = self._client.get(f"{self._project}/{kind}_annotations", query)
            for annotation in _annotations(listing):
                result = member(annotation, "result")
                is_human = annotation.get("annotator_kind") == "HUMAN"
                if is_human and not _is_ours(annotation) and isinstance(result.get("score"), int | float):
                    yield GivenLabel(
                        str(annotation.get("name") or ""),
                        float(result["score"]),
                        str(annotation.get("user_id") or "Phoenix"),
                        str(result.get("explanation") or ""),
                        str(annotation.get("updated_at") or ""),
                        **{f"{kind}_id": str(annotation.get(f"{kind}_id") or "")},
                    )
            cursor = str(listing.get("next_cursor") or "") if isinstance(listing, dict) else ""
            if not cursor:
                return


def _place_of(score: PushedScore) -> tuple[str, dict[str, str]]:
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


def _annotations(listing: Json) -> list[dict[str, Json]]:
    data = listing.get("data") if isinstance(listing, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _is_of_session(span: dict[str, Json], session: str) -> bool:
    return not session or member(span, "attributes").get("session.id") == session
