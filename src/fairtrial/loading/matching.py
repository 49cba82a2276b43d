"""Which recording answers which case?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    session = (heard.session_input.extra or {}).get("session_id", "") if heard.session_input else ""
    return Recording(heard.id, Trace(heard.conversation or (), str(session or "")))


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
                    yield work, Recording(work.id, Trace(), failure=failure, ended_by="failure")
                else:
                    yield work, replace(as_recording(heard), case_id=work.id, attempt=attempt)

    def of(self, works: Sequence[PlannedCase]) -> MatchedRecordings:
        """Return what answers these cases."""
        kept = {work.position for work in works}
        pairs = [pair for pair in zip(self.works, self.heard, strict=True) if pair[0].position in kept]
        return MatchedRecordings(tuple(work for work, _ in pairs), tuple(heard for _, heard in pairs))


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
    """Return for each recording the case that it answers: the one it names, by the case's own id or its unique one."""
    home: dict[str, PlannedCase] = {}
    for i, work in enumerate(todo):
        home.setdefault(_key(work, i, by), work)
    if by != "order":
        for work in todo:
            home.setdefault(work.id, work)
    return [home.get(_said(one, i, by)) for i, one in enumerate(heard)]


def _key(work: PlannedCase, i: int, by: Match) -> str:
    if by == "session":
        return as_recording(work.case).trace.session_id or work.case.id
    return work.case.id if by == "id" else str(i)


def _said(one: RecordedInput, i: int, by: Match) -> str:
    if by == "session":
        return as_recording(one).trace.session_id
    if by == "id":
        return one.case_id if isinstance(one, Recording) else one.id
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


def disambiguate(todo: Sequence[PlannedCase], found: Sequence[Source]) -> list[RecordedInput]:
    """Return what the files recorded; where eval sets share the id of a case, a recording names its set too."""
    shared = {work.case.id for work in todo if work.id != work.case.id}
    if not shared:
        return recordings_of(found)
    ids = {work.id for work in todo}
    heard: list[RecordedInput] = []
    for source in found:
        eval_set = source.loaded.eval_set
        for one in map(as_recording, recordings_of([source])):
            full = f"{eval_set.id}:{one.case_id}" if eval_set else ""
            named = one.case_id in shared and full in ids
            heard.append(replace(one, case_id=full) if named else one)
    return heard
