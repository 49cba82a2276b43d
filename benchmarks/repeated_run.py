"""A run of many attempts at the size of real dialogues, without memory for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.run_parts.collected_failures import report_changes, report_failures
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.records.summary import Summary
from fairtrial.records.trace import Invocation, Message, ToolResult
from fairtrial.reports.report_table import ReportedRun


@dataclass
class RepeatedRun:
    """A run of so many attempts, made from a few dialogues while it is read."""

    dialogues: Sequence[Recording]
    attempts: int
    info = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00+00:00", "0", "score", finished="2026-01-01")
    calibrations = ()
    labels = ()
    board_events = ()
    attacks = None
    lasting_failure = None
    ballots: Mapping[str, Ballot] = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)

    def _dialogue(self, place: int) -> Recording:
        return self.dialogues[place % len(self.dialogues)]

    @property
    def cases(self) -> Iterator[CaseResult]:
        """A result of each attempt, by the reward of its dialogue."""
        for place in range(self.attempts):
            reward = self._dialogue(place).trace.reward or 0.0
            outcome = Outcome("reward", Score(reward, "" if reward else "the database differs"), 1.0)
            count = Outcome("tool_call_count_v1", Score(7.0))
            yield CaseResult(f"task_{place // 4}", place // 4, (outcome, count), place % 4 + 1, eval_set="airline")

    @property
    def summary(self) -> Summary:
        """The numbers over all attempts."""
        return aggregate(self.cases)

    @property
    def failure_modes(self) -> Failures | None:
        """The modes of the failures."""
        return report_failures(self)

    def mode_changes(self, base: ReportedRun) -> ModeChanges | None:
        """The changes of the modes since a base run."""
        return report_changes(self, base)

    @property
    def expected(self) -> Iterator[ExpectedCase]:
        """The first message of each case."""
        for position in range((self.attempts + 3) // 4):
            first = self._dialogue(position * 4).trace.invocations[0]
            case = EvalCase(f"task_{position}", (Invocation(first.user),))
            yield ExpectedCase(position, f"task_{position}", case, "airline")

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The dialogues, with their words in another order in each repetition."""
        for place in range(self.attempts):
            words = random.Random(place)
            recording = replace(self._dialogue(place), attempt=place % 4 + 1, case_id=f"task_{place // 4}")
            if place >= len(self.dialogues):
                invocations = tuple(_shuffled(entry, words) for entry in recording.trace.invocations)
                recording = replace(recording, trace=replace(recording.trace, invocations=invocations))
            yield place // 4, recording


def _shuffled(invocation: Invocation, words: random.Random) -> Invocation:
    steps = tuple(_shuffled_step(step, words) for step in invocation.steps or ())
    reply = invocation.final_response
    return replace(
        invocation,
        user=_shuffled_step(invocation.user, words),
        steps=steps,
        final_response=None if reply is None else _shuffled_step(reply, words),
    )


def _shuffled_step(step: Any, words: random.Random) -> Any:
    if isinstance(step, Message):
        return replace(step, text=_shuffled_text(step.text, words))
    if isinstance(step, ToolResult) and isinstance(step.response, str):
        return replace(step, response=_shuffled_text(step.response, words))
    return step


def _shuffled_text(text: str, words: random.Random) -> str:
    parts = text.split(" ")
    words.shuffle(parts)
    return " ".join(parts)
