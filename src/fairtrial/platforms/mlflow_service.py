"""MLflow, by its own client: traces, feedback, and the feedback that people gave."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.formats.timestamps import time_text
from fairtrial.platforms.platform import Annotator, GivenLabel, Page, PullQuery, PushedScore, score_value
from fairtrial.system.importing import import_extra
from fairtrial.text.display import describe_error, shorten

_PAGE_SIZE = 100
_DEFAULT_EXPERIMENT = "Default"
_SESSION = "metadata.`mlflow.trace.session`"
_SOURCES: dict[Annotator, str] = {"CODE": "CODE", "LLM": "LLM_JUDGE", "HUMAN": "HUMAN"}
_ID = "fairtrial.id"


class MLflow:
    """A tracking server of MLflow. Its client reads its own variables, for example MLFLOW_TRACKING_TOKEN."""

    def __init__(self, url: str, project: str, _wait: Callable[[float], None]) -> None:
        """Connect to a URL, or to the one that MLFLOW_TRACKING_URI names. Raises UsageError without the package."""
        self._mlflow = import_extra("mlflow", "mlflow")
        self._entities = import_extra("mlflow.entities", "mlflow")
        self._experiment = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or _DEFAULT_EXPERIMENT
        if url:
            self._mlflow.set_tracking_uri(url)
        self._client = import_extra("mlflow.tracking", "mlflow").MlflowClient()

    def close(self) -> None:
        """Do nothing: the client of MLflow keeps its own connections."""

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield pages of whole traces, the oldest first."""
        name = self._experiment
        experiment = self._call(self._client.get_experiment_by_name, name)
        if experiment is None:
            raise UsageError(
                f"MLflow has no experiment {name!r}; choose one with {spell('project')}", code="unknown-name"
            )
        conditions = [
            *([f"timestamp_ms >= {_milliseconds(query.since)}"] if query.since else []),
            *([f"timestamp_ms < {_milliseconds(query.until)}"] if query.until else []),
            *([f"{_SESSION} = '{_quotable(query.session)}'"] if query.session else []),
            *([query.filter] if query.filter else []),
        ]
        while True:
            page = self._call(
                self._client.search_traces,
                [experiment.experiment_id],
                filter_string=" AND ".join(conditions) or None,
                max_results=_PAGE_SIZE,
                order_by=["timestamp_ms ASC"],
                page_token=cursor or None,
            )
            cursor = page.token or ""
            yield Page([msgspec.json.decode(trace.to_json()) for trace in page], cursor)
            if not cursor:
                return

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Log feedback. Feedback that is there already is not logged again."""
        known: dict[str, set[str]] = {}
        for score in scores:
            trace_id = _trace_name(score.trace_id)
            if trace_id not in known:
                known[trace_id] = {str((feedback.metadata or {}).get(_ID)) for feedback in self._feedback(trace_id)}
            if score.id in known[trace_id]:
                continue
            source = self._entities.AssessmentSource(source_type=_SOURCES[score.annotator], source_id="fairtrial")
            problem = score.problem or "not scored"
            metadata = {name: str(value) for name, value in score.metadata.items()}
            self._call(
                self._mlflow.log_feedback,
                trace_id=trace_id,
                name=score.name,
                value=score.value,
                error=None if score.value is not None else self._entities.AssessmentError("UNSCORED", problem),
                source=source,
                rationale=score.explanation or None,
                metadata={**metadata, "verdict": score.label, _ID: score.id},
            )

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the feedback of people on the traces of a run."""
        for trace_id in sorted({place.trace_id for place in places}):
            for feedback in self._feedback(_trace_name(trace_id)):
                value, source = feedback.value, feedback.source
                is_ours = _ID in (feedback.metadata or {})
                if source.source_type == "HUMAN" and not is_ours and isinstance(value, bool | int | float):
                    number = score_value(value)
                    at, author = time_text(feedback.create_time_ms or 0), str(source.source_id or "MLflow")
                    yield GivenLabel(feedback.name, number, author, feedback.rationale or "", at, trace_id)

    def _feedback(self, trace_id: str) -> list[Any]:
        trace = self._call(self._client.get_trace, trace_id)
        return [item for item in trace.info.assessments or () if isinstance(item, self._entities.Feedback)]

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call the client of MLflow, whose errors have many classes."""
        try:
            return function(*arguments, **options)
        except Exception as error:  # noqa: BLE001  (the client has its own errors, and those of its transports)
            raise UsageError(f"MLflow: {shorten(describe_error(error), 300)}", code="no-answer") from None


def _trace_name(trace_id: str) -> str:
    """Return the id that MLflow gives to a trace of OpenTelemetry."""
    return trace_id if trace_id.startswith("tr-") else f"tr-{trace_id}"


def _milliseconds(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def _quotable(text: str) -> str:
    if "'" in text:
        raise UsageError(
            f"{spell('session')}: MLflow cannot search for a text with a quote, got {text!r}", code="not-supported"
        )
    return text
