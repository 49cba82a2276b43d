"""Runs whose attempts have values that a test chooses: a reply is its own value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairtrial import Criterion, EvalCase, EvalSet, Failure, Invocation, Message, Range, Recording, Run, Trace, score
from fairtrial.records.attempt import Side

Value = float | Side | None
"""The value of an attempt, None if it cannot be scored, or the side that broke it."""


def quality(trace: Trace, case: EvalCase) -> float:
    """The number that the agent replied. Anything else cannot be scored."""
    del case
    return float(trace.invocations[-1].reply)


def graded_run(
    attempts: Mapping[str, Sequence[Value]],
    *,
    store: str | None = None,
    criteria: Sequence[Criterion] | None = None,
    queries: Mapping[str, str] | None = None,
    eval_set: str = "grades",
) -> Run:
    """A run of cases with these values. `queries` are the messages of users, which belong to the key of a case."""
    messages = {name: (queries or {}).get(name, "Grade?") for name in attempts}
    cases = tuple(EvalCase(name, (Invocation(Message(message)),)) for name, message in messages.items())
    recordings = [
        recording(name, value, number) for name, values in attempts.items() for number, value in enumerate(values, 1)
    ]
    return score(recordings, EvalSet(eval_set, cases), list(criteria or [graded()]), store=store)


def graded(threshold: float | None = 0.5, *, lower_is_better: bool = False, span: Range | None = None) -> Criterion:
    """The criterion `quality`."""
    return Criterion("quality", quality, threshold, lower_is_better=lower_is_better, range=span or Range())


def recording(name: str, value: Value, attempt: int) -> Recording:
    """An attempt whose reply is a value."""
    failure = Failure(value, "it fell over") if isinstance(value, str) else None
    reply = "" if value is None or failure else str(value)
    return Recording(name, Trace((Invocation(Message("Grade?"), (), Message(reply)),)), attempt, failure)
