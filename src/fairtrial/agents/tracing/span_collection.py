"""Collect the spans of one conversation. Spans outside of conversations belong to nobody here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.spans.span import Span

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import SpanItem

MOST_SPANS = 20_000
"""The spans of one turn that are kept. A turn with more is not recorded in full."""
_HERE: ContextVar[SpanCollection | None] = ContextVar("_HERE", default=None)


@dataclass(eq=False)
class SpanCollection:
    """The spans of a conversation since the latest turn began.

    Spans arrive in other threads too. `traces` are the ids of the traces that began in the conversation, so that spans
    of threads without the context are found. A collection that `is_open` is in a turn of the agent. `gap` says why
    spans may be missing. With `variables` a program sends its spans. If `is_remote`, a program has them.
    """

    is_open: bool = False
    is_remote: bool = False
    gap: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    traces: set[str] = field(default_factory=set)
    latest: float = 0.0
    _items: list[SpanItem] = field(default_factory=list)
    _errors: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, items: Iterable[SpanItem]) -> None:
        """Add spans that have ended."""
        with self._lock:
            for item in items:
                if len(self._items) >= MOST_SPANS:
                    self.gap = self.gap or f"a turn has more than {MOST_SPANS:,} spans"
                    return
                if isinstance(item, Span) and item.span_id in self._errors:
                    item = replace(item, failure=self._errors[item.span_id])  # noqa: PLW2901
                self._items.append(item)
                self.traces.add(item.trace_id)
            self.latest = time.monotonic()

    def note_error(self, span_id: str, error: str) -> None:
        """Note the error of a span that has not ended, which the span itself may hide."""
        self._errors[span_id] = error

    @property
    def size(self) -> int:
        """The number of spans so far."""
        return len(self._items)

    def take(self) -> list[SpanItem]:
        """Return the spans since the last time, and forget them."""
        with self._lock:
            taken, self._items = self._items, []
            self._errors.clear()
        return taken


def current_collection() -> SpanCollection | None:
    """Return the collection of the conversation whose agent works here, or None."""
    collection = _HERE.get()
    return collection if collection is not None and collection.is_open else None


def child_variables() -> dict[str, str]:
    """Return the environment variables with which a program sends its spans to the conversation that starts it."""
    collection = _HERE.get()
    if collection is None:
        return {}
    collection.is_remote = True
    return dict(collection.variables)


@contextmanager
def collect_spans(collection: SpanCollection | None) -> Iterator[None]:
    """Let spans that begin in the block belong to a collection, or to none: for example the calls of a played tool."""
    token = _HERE.set(collection)
    try:
        yield
    finally:
        _HERE.reset(token)


@contextmanager
def hide_spans() -> Iterator[SpanCollection | None]:
    """Let spans that begin in the block belong to nobody, and yield the collection around it."""
    outer = _HERE.get()
    with collect_spans(None):
        yield outer
