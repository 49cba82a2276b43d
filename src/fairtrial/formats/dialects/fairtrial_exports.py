"""Spans that fairtrial exported: names that the conventions do not have stand in attributes of our own."""

from __future__ import annotations

from fairtrial.formats.dialects.attributes import text_of
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span

CASE_ID = "fairtrial.case.id"
ATTEMPT = "fairtrial.attempt"
INVOCATION = "fairtrial.invocation.id"


def _is_span(span: Span) -> bool:
    return INVOCATION in span.attributes


def _read(span: Span, _reading: Diagnostics) -> Facts:
    return Facts(invocation=text_of(span, INVOCATION))


FAIRTRIAL_EXPORTS = Dialect("fairtrial's export", _is_span, _read)
