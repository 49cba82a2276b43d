"""Export the recordings of a run into files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Literal, get_args

from fairtrial.api.value.redacting import redact
from fairtrial.errors import UsageError
from fairtrial.formats.exports.genai_form import GenAiForm
from fairtrial.formats.exports.message_export import collect_messages, list_losses
from fairtrial.formats.exports.openinference_form import OpenInferenceForm
from fairtrial.formats.exports.span_export import SpanForm, conversation_name, document, make_spans
from fairtrial.text.redaction.redact import make_finders

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.attempt import Recording

ExportForm = Literal["otlp", "openinference", "messages"]


Redacted = Literal["secrets", "people"]


def export_recordings(
    run: Run, form: ExportForm, *, redacted: Redacted | None = None, note: Callable[[str], object] = str
) -> Generator[bytes]:
    """Yield the recordings of a run, a line each: OTLP in the GenAI conventions or OpenInference, or chat messages.

    With `redacted`, the recordings are without secrets and e-mail addresses. With `people`, they are without other
    personal data, too. At the end, `note` receives what is in the recordings and has no place in chat messages. Raises
    UsageError for another form.
    """
    if form not in get_args(ExportForm):
        raise UsageError(f"form must be one of {', '.join(get_args(ExportForm))}, got {form!r}")
    recordings = (recording for _, recording in run.recordings)
    if redacted is not None:
        make_finders(people=redacted == "people")  # raises if the library is missing
        recordings = (redact(recording, people=redacted == "people")[0] for recording in recordings)
    if form == "messages":
        return _message_lines(recordings, note)
    span_line = _SpanLines(GenAiForm() if form == "otlp" else OpenInferenceForm())
    return (span_line(recording) for recording in recordings)


def _message_lines(recordings: Iterable[Recording], note: Callable[[str], object]) -> Generator[bytes]:
    losses: set[str] = set()
    for recording in recordings:
        losses |= list_losses(recording)
        yield collect_messages(recording)
    if losses:
        note(f"chat messages have no place for {', '.join(sorted(losses))}, which the other forms keep")


class _SpanLines:
    """Lines of OTLP. Each conversation has an id of its own, also if several recordings have the same session."""

    def __init__(self, form: SpanForm) -> None:
        self._form = form
        self._take_objects: set[str] = set()

    def __call__(self, recording: Recording) -> bytes:
        spans = make_spans(recording, self._form, self._take_objects)
        self._take_objects.add(conversation_name(recording, self._take_objects))
        return document(spans)
