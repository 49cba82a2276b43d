"""The protocols of trace services, which give pages of traces, take scores and give human labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

from fairtrial.formats.number_range import finite
from fairtrial.records.record import Json, Record

Annotator = Literal["CODE", "LLM", "HUMAN"]
"""Who gave a score: a program, a language model or a person."""


class PullQuery(Record, frozen=True):
    """The traces that are wanted. Times are in ISO 8601, and empty without a limit.

    `session` is the id of a conversation. `filter` is in the language of the service.
    """

    since: str = ""
    until: str = ""
    session: str = ""
    filter: str = ""


class Page(NamedTuple):
    """Documents as a reader of spans knows them. `cursor` is the place of the next page, empty after the last page.

    `missing` are the ids of traces that the service lists and does not have, for example because they are too old.
    """

    documents: list[Json]
    cursor: str
    missing: tuple[str, ...] = ()


class PushedScore(Record, frozen=True):
    """A score on its way to a service. `id` stays the same when the score is pushed again.

    `value` is None if the criterion could not be scored, and `problem` then says why. `trace_id` and `span_id` are
    those of the source: the root span of the invocation, or of the last one if the score is about the `conversation`.
    `session_id` is the id of the conversation in the source, empty if the source has none.
    """

    id: str
    name: str
    trace_id: str
    span_id: str = ""
    session_id: str = ""
    value: float | None = None
    label: str = ""
    explanation: str = ""
    problem: str = ""
    annotator: Annotator = "CODE"
    response_id: str = ""
    scope: Literal["invocation", "conversation"] = "conversation"
    metadata: dict[str, Json] = {}
    time: int = 0


class GivenLabel(Record, frozen=True):
    """A score that a person gave in a service, for a trace or a span of it, or for a session.

    `value` is None for a number that is not finite or beyond 64 bits. `at` is empty if the time is not a time.
    """

    name: str
    value: float | None
    author: str = ""
    note: str = ""
    at: str = ""
    trace_id: str = ""
    span_id: str = ""
    session_id: str = ""


def score_value(raw: Any) -> float | None:
    """Return the number or the yes or no of a person as a finite number of 64 bits, or None for any other."""
    return finite(int(raw) if isinstance(raw, bool) else raw)


class Service(Protocol):
    """A service with connections, or a file in the place of a service."""

    def close(self) -> None:
        """Close the connections."""
        ...


class TraceSource(Service, Protocol):
    """A service that gives traces."""

    def pages(self, query: PullQuery, cursor: str) -> Iterator[Page]:
        """Yield the pages from a cursor on. An empty cursor is the first page."""
        ...


class ScoreTarget(Service, Protocol):
    """A service that takes scores. A score that is pushed twice is there once."""

    def push(self, scores: Iterable[PushedScore]) -> None:
        """Send scores."""
        ...


class LabelSource(Service, Protocol):
    """A service in which people give scores."""

    def labels(self, places: Iterable[PushedScore]) -> Iterator[GivenLabel]:
        """Yield the scores that people gave at the places of scores of a run."""
        ...
