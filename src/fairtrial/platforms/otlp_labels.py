"""Events `gen_ai.evaluation.result` in a file of OTLP, which another program than this one wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.formats.spans.span import LogRecord, SpanEvent
from fairtrial.platforms.otlp_logs import EVENT
from fairtrial.platforms.platform import GivenLabel, PushedScore, score_value


class EvaluationFile:
    """A file of spans or log records of OpenTelemetry."""

    def __init__(self, path: Path) -> None:
        """Read a file when its labels are wanted."""
        self._path = path

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the evaluations of the traces of a run. Raises FormatError for a file of something else."""
        traces = {place.trace_id for place in places}
        try:
            loaded = read(self._path.read_bytes(), str(self._path))
        except OSError as error:
            raise FormatError(str(self._path), [error.strerror or str(error)]) from None
        for item in loaded.spans:
            events = [item.event] if isinstance(item, LogRecord) else item.events
            for event in events:
                label = _read_label(event, item.trace_id, item.span_id) if item.trace_id in traces else None
                if label is not None:
                    yield label


def _read_label(event: SpanEvent, trace_id: str, span_id: str) -> GivenLabel | None:
    attributes = event.attributes
    value = attributes.get("gen_ai.evaluation.score.value")
    if event.name != EVENT or "fairtrial.score.id" in attributes or not isinstance(value, int | float):
        return None
    return GivenLabel(
        str(attributes.get("gen_ai.evaluation.name") or ""),
        score_value(value),
        str(attributes.get("gen_ai.evaluation.evaluator") or "OpenTelemetry"),
        str(attributes.get("gen_ai.evaluation.explanation") or ""),
        datetime.fromtimestamp(event.time / 1e9, UTC).isoformat(),
        trace_id,
        span_id,
    )
