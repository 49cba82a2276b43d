"""The labelled outcomes of a criterion of a run, with their cases, recordings and notes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fairtrial.analysis.alignment.label_split import LabelledOutcome, count_verdicts
from fairtrial.errors import UsageError
from fairtrial.records.contents import readable
from fairtrial.records.keys import outcome_key
from fairtrial.text.display import count
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.api.alignment.rescoring import Place
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.attempt import Recording
    from fairtrial.records.expectation import ExpectedCase

FEWEST_OF_EACH = 10
"""With fewer labels of the rarer verdict, no choice is made: half of them choose, and half of them test."""


@dataclass(frozen=True)
class LabelledRun:
    """The labelled outcomes of a criterion.

    `places` names each outcome, and `notes` are those of people, by place. `digest` is the SHA-256 of the labels.
    """

    outcomes: list[LabelledOutcome]
    recordings: list[tuple[ExpectedCase, Recording]]
    places: Mapping[Place, str]
    notes: Mapping[Place, str]
    digest: str

    @classmethod
    def read(cls, run: Run, criterion: str) -> LabelledRun:
        """Read the outcomes that the judge scored and that most people pass or fail. Raises UsageError for too few."""
        pairs = run.labelled_outcomes().get(criterion, {})
        decided = {place: pair for place, pair in pairs.items() if pair.people_pass is not None}
        positions = {position for position, _ in decided}
        cases = {case.position: case for case in run.expected if case.position in positions}
        recordings = [
            (cases[position], recording)
            for position, recording in run.recordings
            if (position, recording.attempt) in decided and position in cases
        ]
        outcomes = [
            LabelledOutcome(
                _name(case, recording),
                pair.case,
                bool(pair.people_pass),
                _detect(recording),
                pair.weight,
            )
            for case, recording in recordings
            for pair in [decided[case.position, recording.attempt]]
        ]
        _ensure_labels(outcomes, run.info.id, criterion)
        places = {(case.position, own.attempt): _name(case, own) for case, own in recordings}
        position_of = {case.key: case.position for case, _ in recordings}
        notes = {
            (position_of[label.case], label.attempt): label.note
            for label in run.labels
            if label.criterion == criterion and label.note and label.case in position_of
        }
        return cls(outcomes, recordings, places, notes, _digest(criterion, recordings, outcomes))

    def find_places(self, outcomes: Sequence[LabelledOutcome]) -> frozenset[Place]:
        """Return the places of some of the outcomes."""
        return frozenset(self.place_of[outcome.key] for outcome in outcomes)

    @cached_property
    def place_of(self) -> dict[str, Place]:
        """The place of each outcome, by its key."""
        return {name: place for place, name in self.places.items()}

    @cached_property
    def _recorded(self) -> dict[Place, tuple[ExpectedCase, Recording]]:
        return {(case.position, own.attempt): (case, own) for case, own in self.recordings}

    def describe(self, place: Place) -> str:
        """Return a conversation with what was expected, as an example for a judge shows it."""
        case, recording = self._recorded[place]
        expected = case.case.conversation or ()
        lines: list[str] = []
        for number, invocation in enumerate(recording.trace.invocations):
            lines.append(f"User: {readable(invocation.user)}")
            if number < len(expected) and expected[number].final_response is not None:
                lines.append(f"Reference: {readable(expected[number].final_response)}")
            lines.append(f"Reply: {readable(invocation.final_response)}")
        return "\n".join(lines)


def _digest(
    criterion: str, recordings: Sequence[tuple[ExpectedCase, Recording]], outcomes: Sequence[LabelledOutcome]
) -> str:
    rows = sorted(
        (outcome_key(criterion, case.digest, recording.trace), own.passed, own.weight)
        for (case, recording), own in zip(recordings, outcomes, strict=True)
    )
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


def _name(case: ExpectedCase, recording: Recording) -> str:
    return case.name if recording.attempt == 1 else f"{case.name}, attempt {recording.attempt}"


def _detect(recording: Recording) -> str:
    return detect_language(" ".join(readable(own.final_response) for own in recording.trace.invocations))


def _ensure_labels(outcomes: Sequence[LabelledOutcome], run: str, criterion: str) -> None:
    passing, failing = count_verdicts(outcomes)
    lacking = [
        f"{FEWEST_OF_EACH - number} or more that {verb}"
        for verb, number in (("pass", passing), ("fail", failing))
        if number < FEWEST_OF_EACH
    ]
    if lacking:
        raise UsageError(
            f"run {run}: by the labels of {criterion}, {count(passing, 'case')} {'passes' if passing == 1 else 'pass'} "
            f"and {failing} {'fails' if failing == 1 else 'fail'}; a choice needs {FEWEST_OF_EACH} of each: half of "
            f"them choose a judge, and half of them test it. Label {' and '.join(lacking)} with `fairtrial label`, or "
            "add a table of labels with `fairtrial labels --add`",
            code="unusable-run",
        )
