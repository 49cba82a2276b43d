"""Transcripts: the conversation that led to a result, beside the expectation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.failure_mode import FailedAttempt
from fairtrial.records.record import Record
from fairtrial.records.result import CaseResult
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.reports.report_table import ReportedRun

_END = (sys.maxsize, Recording("", Trace()))
"""The place after all recordings."""


class Transcript(Record, frozen=True):
    """One attempt: its result, and beside it the recorded conversation and the case. A part that is lost is None.

    `failed` says at which step an attempt that failed went wrong, if it was looked for.
    """

    result: CaseResult
    recording: Recording | None = None
    case: EvalCase | None = None
    failed: FailedAttempt | None = None

    @property
    def invocations(self) -> tuple[Invocation, ...]:
        """The recorded invocations."""
        return () if self.recording is None else self.recording.trace.invocations

    def expected(self, index: int) -> Invocation | None:
        """Return the expectation of the invocation at a position, or None if there is none."""
        conversation = () if self.case is None else self.case.conversation or ()
        return conversation[index] if index < len(conversation) else None

    @property
    def missing(self) -> tuple[Invocation, ...]:
        """The invocations that were expected, and never happened."""
        if self.recording is None or self.case is None:
            return ()
        return (self.case.conversation or ())[len(self.invocations) :]


class JudgedPart(Record, frozen=True):
    """The reason of a judge for a part of a score. `place` names the part, for example its rubric."""

    criterion: str
    place: str
    score: Score
    has_own_words: bool = False


class Attempts(NamedTuple):
    """The results, the cases and the recordings of some attempts, each in file order."""

    cases: Iterable[CaseResult]
    expected: Iterable[ExpectedCase]
    recordings: Iterable[tuple[int, Recording]]


class RecordingReader:
    """Finds the recordings of results. Both come in file order, so that no recording is kept."""

    def __init__(self, recordings: Iterable[tuple[int, Recording]]) -> None:
        self._recordings = iter(recordings)
        self._current = next(self._recordings, _END)

    def at(self, result: CaseResult) -> Recording | None:
        """Return the recording of a result, or None if it is lost."""
        place = (result.position, result.attempt)
        while (self._current[0], self._current[1].attempt) < place:
            self._current = next(self._recordings, _END)
        position, recording = self._current
        return recording if (position, recording.attempt) == place else None


def transcripts(run: ReportedRun | Attempts) -> Iterator[Transcript]:
    """Yield each attempt of a run. Results, recordings and cases are read side by side in file order, and not kept.

    A run that was interrupted may have recordings without a result. They are left out.
    """
    recordings = RecordingReader(run.recordings)
    expected = iter(run.expected)
    case = next(expected, None)
    for result in run.cases:
        while case is not None and case.position < result.position:
            case = next(expected, None)
        has_case = case is not None and case.position == result.position
        yield Transcript(result, recordings.at(result), case.case if has_case and case else None)


def judged_parts(result: CaseResult) -> dict[int | None, list[JudgedPart]]:
    """Return the reasons of judges by the position of the invocation that they judged.

    Reasons about the whole conversation have the key None.
    """
    parts: dict[int | None, list[JudgedPart]] = {}
    for outcome in result.outcomes:
        if outcome.judge_stats is not None:
            for index, place, score in _reasons(outcome.score, None, ()):
                parts.setdefault(index, []).append(
                    JudgedPart(outcome.criterion, ", ".join(place), score, outcome.has_own_words)
                )
    return parts


def _reasons(
    score: Score, index: int | None, place: tuple[str, ...]
) -> Iterator[tuple[int | None, tuple[str, ...], Score]]:
    """Yield each part with a reason or a quote, the invocation that it is about, and the names on the way to it."""
    if score.key is not None and score.key.kind == "invocation":
        index = score.key.index
    elif score.title:
        place = (*place, score.title)
    if score.applicable and (score.reason or score.quotes):
        yield index, place, score
    for part in score.parts:
        yield from _reasons(part, index, place)


def inner_steps(result: ToolResult) -> Iterator[Step]:
    """Yield the steps of the agent that answered as a tool, each of its replies behind the steps that led to it.

    A message without content stands for steps that are not recorded.
    """
    for invocation in result.inner.invocations if result.inner is not None else ():
        if invocation.steps is None:
            yield Message("", withheld="the steps of this agent are not recorded")
        yield from invocation.steps or ()
        if invocation.final_response is not None:
            yield invocation.final_response
