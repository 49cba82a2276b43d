"""How do the recordings of a run become a file for another tool?"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Literal, get_args

from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError
from fairtrial.formats.exports.genai_form import GenAiForm
from fairtrial.formats.exports.message_export import messages_of
from fairtrial.formats.exports.openinference_form import OpenInferenceForm
from fairtrial.formats.exports.span_export import document, spans_of
from fairtrial.records.attempt import Recording

ExportForm = Literal["otlp", "openinference", "messages"]


def export_recordings(run: Run, form: ExportForm) -> Generator[bytes]:
    """Yield the recordings of a run, a line each: OTLP in the GenAI conventions or OpenInference, or chat messages.

    Raises UsageError for another form.
    """
    lines: dict[str, Callable[[Recording], bytes]] = {
        "otlp": lambda recording: document(spans_of(recording, GenAiForm())),
        "openinference": lambda recording: document(spans_of(recording, OpenInferenceForm())),
        "messages": messages_of,
    }
    if form not in lines:
        raise UsageError(f"form must be one of {', '.join(get_args(ExportForm))}, got {form!r}")
    return (lines[form](recording) for _, recording in run.recordings)
