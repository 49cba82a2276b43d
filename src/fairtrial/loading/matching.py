"""Which recording answers which case?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec.structs import replace

from fairtrial.loading.cases import LoadedSet
from fairtrial.loading.sources import Source
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace

Match = Literal["id", "session", "order"]
RecordedInput = Recording | EvalCase
"""A recording, or a case that was itself recorded: its conversation is what happened."""

NO_RECORDING = "no recording"


def recordings_of(found: Sequence[Source]) -> list[RecordedInput]:
    """Return what the files recorded, in order; an eval set without recordings is one: its conversations happened."""
    heard: list[RecordedInput] = []
    for source in found:
        loaded = source.loaded
        heard += loaded.recordings or (loaded.eval_set or EvalSet("")).cases
    return heard


def as_recording(heard: RecordedInput) -> Recording:
    """Return a recording, or the conversation of a case, as something that happened."""
    if isinstance(heard, Recording):
        return heard
    session_id = heard.session_input.session_id if heard.session_input else ""
    return Recording(heard.id, Trace(heard.conversation or (), session_id))


def without_reference(eval_set: EvalSet) -> EvalSet:
    """Return an eval set that was itself recorded: its conversations are what happened, not what was expected."""
    return replace(eval_set, cases=tuple(replace(case, conversation=None) for case in eval_set.cases))


class MatchedRecordings(Record, frozen=True):
    """Cases with what answers them, the attempts of a case one after another; None: nobody recorded the case.

    Recordings are made of it as they are asked for, so that a large run does not hold them all.
    """

    works: tuple[PlannedCase, ...] = ()
    heard: tuple[RecordedInput | None, ...] = ()

    def __len__(self) -> int:
        return len(self.works)

    def __iter__(self) -> Iterator[Pair]:
        pairs = zip(self.works, self.heard, strict=True)
        for _, attempts in groupby(pairs, key=lambda pair: pair[0].position):
            for attempt, (work, heard) in enumerate(attempts, 1):
                if heard is None:
                    failure = Failure("infrastructure", NO_RECORDING)
                    yield work, _of_case(Recording(work.case.id, Trace(), failure=failure, ended_by="failure"), work)
                else:
                    yield work, _of_case(replace(as_recording(heard), attempt=attempt), work)

    def of(self, works: Sequence[PlannedCase]) -> MatchedRecordings:
        """Return what answers these cases."""
        kept = {work.position for work in works}
        pairs = [pair for pair in zip(self.works, self.heard, strict=True) if pair[0].position in kept]
        return MatchedRecordings(tuple(work for work, _ in pairs), tuple(heard for _, heard in pairs))


def _of_case(recording: Recording, work: PlannedCase) -> Recording:
    """Return a recording under the id and the set of the case that it answers."""
    return replace(recording, case_id=work.case.id, eval_set=work.eval_set)


def match(
    todo: Sequence[PlannedCase], heard: Sequence[RecordedInput], *, by: Match = "id"
) -> tuple[MatchedRecordings, list[str]]:
    """Return the recordings beside the cases that they answer, and a warning for each that answers none.

    Several recordings of a case are its attempts 1..n in order. A case without recording gets one that failed for want
    of infrastructure. `by`: the case's id; the session's id (the case's pinned session, or its id); or the order.
    """
    found = _homes(todo, heard, by)
    left = [as_recording(one) for one, work in zip(heard, found, strict=True) if work is None]
    works = [work for work in found if work is not None]
    answers: list[RecordedInput | None] = [one for one, work in zip(heard, found, strict=True) if work is not None]
    answered = {work.position for work in works}
    works += [work for work in todo if work.position not in answered]
    answers += [None] * (len(works) - len(answers))
    order = sorted(range(len(works)), key=lambda i: works[i].position)
    recorded = MatchedRecordings(tuple([works[i] for i in order]), tuple([answers[i] for i in order]))
    return recorded, [f"recording {one.case_id or one.trace.session_id!r} belongs to no case" for one in left]


def _homes(todo: Sequence[PlannedCase], heard: Sequence[RecordedInput], by: Match) -> list[PlannedCase | None]:
    """Return for each recording the case that it answers, or None.

    Eval sets may share the id of a case. A recording that names its set answers the case of that set. A recording that
    does not name a set answers the first case with its id, or the case that reports call by that id.
    """
    homes: dict[tuple[str, str], PlannedCase] = {}
    for i, work in enumerate(todo):
        place = _expected_name(work, i, by)
        homes.setdefault((work.eval_set, place), work)
        homes.setdefault(("", place), work)
    if by != "order":
        for work in todo:
            homes.setdefault(("", work.name), work)
    return [_home(homes, recorded, i, by) for i, recorded in enumerate(heard)]


def _home(
    homes: Mapping[tuple[str, str], PlannedCase], recorded: RecordedInput, i: int, by: Match
) -> PlannedCase | None:
    name = _recorded_name(recorded, i, by)
    of_set = homes.get((recorded.eval_set, name)) if by == "id" and isinstance(recorded, Recording) else None
    return of_set or homes.get(("", name))


def _expected_name(work: PlannedCase, i: int, by: Match) -> str:
    """Return the name under which a case waits for its recordings."""
    if by == "session":
        return as_recording(work.case).trace.session_id or work.case.id
    return work.case.id if by == "id" else str(i)


def _recorded_name(recorded: RecordedInput, i: int, by: Match) -> str:
    """Return the name under which a recording looks for its case."""
    if by == "session":
        return as_recording(recorded).trace.session_id
    if by == "id":
        return recorded.case_id if isinstance(recorded, Recording) else recorded.id
    return str(i)


def match_each(
    todo: Sequence[PlannedCase], wanted: Sequence[LoadedSet], found: Sequence[Source], *, by: Match = "id"
) -> tuple[MatchedRecordings, list[str]]:
    """Return the recordings of each file beside the cases of the same file; the rest is as in `match`."""
    works: list[PlannedCase] = []
    heard: list[RecordedInput | None] = []
    warnings: list[str] = []
    start = 0
    for one, source in zip(wanted, found, strict=True):
        end = start + len(one.eval_set.cases)
        matched, said = match(todo[start:end], recordings_of([source]), by=by)
        works += matched.works
        heard += matched.heard
        warnings += said
        start = end
    return MatchedRecordings(tuple(works), tuple(heard)), warnings


def with_sets(found: Sequence[Source]) -> list[RecordedInput]:
    """Return what the files recorded. If a file holds an eval set, its recordings name that set."""
    heard: list[RecordedInput] = []
    for source in found:
        eval_set, recorded = source.loaded.eval_set, recordings_of([source])
        if eval_set is None:
            heard += recorded
        else:
            heard += [replace(as_recording(item), eval_set=eval_set.id) for item in recorded]
    return heard
