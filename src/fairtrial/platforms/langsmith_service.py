"""LangSmith: runs, feedback, and the feedback that people gave."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.formats.spans.span_values import member
from fairtrial.platforms.http_client import HttpClient
from fairtrial.platforms.platform import GivenLabel, Page, PullQuery, PushedScore, score_value

if TYPE_CHECKING:
    from fairtrial.records.record import Json

KEYS = ("LANGSMITH_API_KEY",)
_DEFAULT_URL = "https://api.smith.langchain.com"
_DEFAULT_PROJECT = "default"
_PAGE_SIZE = 100
_SESSION_KEYS = ("session_id", "conversation_id", "thread_id")
_PEOPLE = ("app", "api")
"""The sources of feedback in which a person may be the author. A model that judges has the source `model`."""
_OURS = "fairtrial"


class LangSmith:
    """A workspace of LangSmith. Its key is in the environment."""

    def __init__(self, url: str, project: str, wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that the environment names. Raises UsageError without a key."""
        key = os.environ.get(KEYS[0], "")
        if not key:
            raise UsageError(
                f"LangSmith needs {KEYS[0]} in the environment; the settings of the workspace show it",
                code="missing-key",
            )
        address = url or os.environ.get("LANGSMITH_ENDPOINT") or _DEFAULT_URL
        self._project = project or os.environ.get("LANGSMITH_PROJECT") or _DEFAULT_PROJECT
        self._client = HttpClient("LangSmith", address, {"x-api-key": key}, keys=KEYS, secrets=[key], wait=wait)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield pages of whole traces: a page of root runs, with all runs of their traces."""
        body: dict[str, Json] = {"session": [self._project_id(self._project)], "is_root": True, "limit": _PAGE_SIZE}
        body |= {"start_time": query.since} if query.since else {}
        body |= {"end_time": query.until} if query.until else {}
        filters = [filter_text for filter_text in (query.filter, _session_filter(query.session)) if filter_text]
        if filters:
            body["filter"] = filters[0] if len(filters) == 1 else f"and({', '.join(filters)})"
        while True:
            roots, cursor = self._runs(body | ({"cursor": cursor} if cursor else {}))
            runs = [run for root in roots for run in self._trace(str(root.get("trace_id") or root.get("id")))]
            yield Page(runs, cursor)
            if not cursor:
                return

    def _trace(self, trace_id: str) -> Iterator[dict[str, Json]]:
        cursor, has_more = "", True
        while has_more:
            place = {"cursor": cursor} if cursor else {}
            runs, cursor = self._runs({"trace": trace_id, "limit": _PAGE_SIZE, **place})
            yield from runs
            has_more = bool(cursor)

    def _runs(self, query: dict[str, Json]) -> tuple[list[dict[str, Json]], str]:
        listing = self._client.post("/runs/query", query)
        runs = listing.get("runs") if isinstance(listing, dict) else None
        cursors = member(listing, "cursors") if isinstance(listing, dict) else {}
        return [run for run in runs or [] if isinstance(run, dict)], str(cursors.get("next") or "")

    def _project_id(self, name: str) -> str:
        projects = self._client.get("/sessions", [("name", name), ("limit", "1")])
        if not isinstance(projects, list) or not projects:
            raise UsageError(
                f"LangSmith has no project {name!r}; choose one with {spell('project')} or LANGSMITH_PROJECT",
                code="unknown-name",
            )
        return str(projects[0]["id"])

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send feedback. LangSmith replaces feedback with the same id."""
        for score in scores:
            run_id = _make_uuid(score.span_id) or _make_uuid(score.trace_id)
            if not run_id:
                raise UsageError(
                    f"push: {score.span_id or score.trace_id!r} is not the id of a run of LangSmith; "
                    "the recordings were not pulled from there",
                    code="not-supported",
                )
            source = {
                "type": "model" if score.annotator == "LLM" else "api",
                "metadata": {**score.metadata, _OURS: True},
            }
            body = {
                "id": str(uuid.UUID(score.id[:32])),
                "run_id": run_id,
                "trace_id": _make_uuid(score.trace_id) or None,
                "key": score.name,
                "score": score.value,
                "value": score.label or None,
                "comment": score.explanation or score.problem or None,
                "feedback_source": source,
            }
            self._client.post("/feedback", body)

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the feedback of people on the runs of a run."""
        ids = sorted({_make_uuid(place.span_id) or _make_uuid(place.trace_id) for place in places} - {""})
        for run_id in ids:
            offset, count = 0, _PAGE_SIZE
            while count == _PAGE_SIZE:
                query = [("run", run_id), ("limit", str(_PAGE_SIZE)), ("offset", str(offset))]
                listing = self._client.get("/feedback", [*query, *(("source", source) for source in _PEOPLE)])
                feedback = [item for item in listing or [] if isinstance(item, dict)]
                yield from filter(None, map(_read_label, feedback))
                count = len(feedback)
                offset += count


def _read_label(feedback: dict[str, Any]) -> GivenLabel | None:
    source = member(feedback, "feedback_source")
    is_ours = bool(member(source, "metadata").get(_OURS))
    if is_ours or source.get("type") not in _PEOPLE or not isinstance(feedback.get("score"), int | float):
        return None
    return GivenLabel(
        str(feedback.get("key") or ""),
        score_value(feedback["score"]),
        str(source.get("user_name") or source.get("user_id") or "LangSmith"),
        str(feedback.get("comment") or ""),
        str(feedback.get("created_at") or ""),
        str(feedback.get("trace_id") or ""),
        str(feedback.get("run_id") or ""),
    )


def _session_filter(session: str) -> str:
    """Return the filter for the runs of a conversation. The text is quoted as JSON, as LangSmith's language wants."""
    if not session:
        return ""
    keys = msgspec.json.encode(_SESSION_KEYS).decode()
    value = msgspec.json.encode(session).decode()
    return f"and(in(metadata_key, {keys}), eq(metadata_value, {value}))"


def _make_uuid(name: str) -> str:
    """Return an id as a UUID, or an empty text for another id."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return ""
