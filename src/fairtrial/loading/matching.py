"""Match recordings with cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import is_
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from fairtrial.errors import spell
from fairtrial.loading.spooled_recordings import SpooledRecording, SpooledRecordings
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.loading.cases import LoadedSet
    from fairtrial.loading.sources import Source

Match = Literal["id", "session", "query", "order"]
RecordedInput = Recording | EvalCase | SpooledRecording
"""A recording, in memory or on disk, or a case whose conversation was recorded."""

NO_RECORDING = "no recording"
_COMPARED: tuple[Match, ...] = ("id", "session", "query")
"""The properties that a recording shares with its case. The order is none."""


def collect_recordings(sources: Sequence[Source]) -> list[RecordedInput]:
    """Return the recordings of files, in order. In an eval set without recordings, the cases are the recordings."""
    recordings: list[RecordedInput] = []
    for source in sources:
        loaded = source.loaded
        if isinstance(loaded.recordings, SpooledRecordings):
            recordings += loaded.recordings.references
        else:
            recordings += loaded.recordings or (loaded.eval_set or EvalSet("")).cases
    return recordings


def as_recording(recorded: RecordedInput) -> Recording:
    """Return a recording, or the conversation of a case as a recording."""
    if isinstance(recorded, Recording):
        return recorded
    if isinstance(recorded, SpooledRecording):
        return recorded.read()
    session_id = recorded.session_input.session_id if recorded.session_input else ""
    return Recording(recorded.id, Trace(recorded.conversation or (), session_id))


def without_reference(eval_set: EvalSet) -> EvalSet:
    """Return an eval set without its conversations, because they were recorded and are not an expectation."""
    return replace(eval_set, cases=tuple(replace(case, conversation=None) for case in eval_set.cases))


class MatchedRecordings(Record, frozen=True):
    """Cases beside their recordings, with the attempts of a case next to each other.

    A case that nobody recorded has None. Recordings are completed during the iteration, so that a large run does not
    hold them twice.
    """

    cases: tuple[PlannedCase, ...] = ()
    recordings: tuple[RecordedInput | None, ...] = ()

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Pair]:
        pairs = zip(self.cases, self.recordings, strict=True)
        for _, attempts in groupby(pairs, key=lambda pair: pair[0].position):
            for attempt, (case, recorded) in enumerate(attempts, 1):
                if recorded is None:
                    failure = Failure("infrastructure", NO_RECORDING)
                    yield (
                        case,
                        _assign_case(Recording(case.case.id, Trace(), failure=failure, ended_by="failure"), case),
                    )
                else:
                    yield case, _assign_case(replace(as_recording(recorded), attempt=attempt), case)

    def for_cases(self, cases: Sequence[PlannedCase]) -> MatchedRecordings:
        """Return the recordings of some of the cases."""
        positions = {case.position for case in cases}
        pairs = [pair for pair in zip(self.cases, self.recordings, strict=True) if pair[0].position in positions]
        return MatchedRecordings(tuple(case for case, _ in pairs), tuple(recorded for _, recorded in pairs))


def _assign_case(recording: Recording, case: PlannedCase) -> Recording:
    """Return a recording under the id and the set of the case that it answers."""
    return replace(recording, case_id=case.case.id, eval_set=case.eval_set)


def match(
    cases: Sequence[PlannedCase],
    recordings: Sequence[RecordedInput],
    *,
    by: Match = "id",
    sets: Sequence[str] | None = None,
) -> tuple[MatchedRecordings, list[str]]:
    """Return the recordings beside the cases that they answer, and a warning for each recording without a case.

    Several recordings of a case are its attempts 1..n in order. A case without a recording gets an attempt that failed
    on the side of the infrastructure. With `by="session"`, the id of a recording's session names the session of the
    case, or the case itself. With `by="query"`, the recording and its case begin with the same text of the user. `sets`
    holds the id of the eval set of each recording, or "" for a recording of no set.
    """
    homes = _homes(cases, recordings, by, sets)
    if len(homes) == len(cases) and all(map(is_, homes, cases)):
        # In most files, each case has one recording, in the order of the cases.
        return MatchedRecordings(tuple(cases), tuple(recordings)), []
    pairs = [(case, recorded) for case, recorded in zip(homes, recordings, strict=True) if case is not None]
    answered = {case.position for case, _ in pairs}
    unanswered = [(case, None) for case in cases if case.position not in answered]
    ordered = sorted([*pairs, *unanswered], key=lambda pair: pair[0].position)
    matched = MatchedRecordings(tuple([case for case, _ in ordered]), tuple([recorded for _, recorded in ordered]))
    strays = [_read_name(recorded) for recorded, case in zip(recordings, homes, strict=True) if case is None]
    warnings = [f"recording {name!r} belongs to no case" for name in strays]
    return matched, warnings if pairs else [*_better_matches(cases, recordings, by, sets), *warnings]


def _better_matches(
    cases: Sequence[PlannedCase], recordings: Sequence[RecordedInput], by: Match, sets: Sequence[str] | None
) -> Iterator[str]:
    """Yield a warning that says which other property pairs the most recordings with cases, if one does."""
    keys = [key for key in _COMPARED if key != by]
    numbers = {key: sum(home is not None for home in _homes(cases, recordings, key, sets)) for key in keys}
    best = max(keys, key=lambda key: numbers[key])
    if numbers[best]:
        pairs = f"{numbers[best]:,} of {count(len(recordings), 'recording')}"
        yield f"{spell('match')} {by} pairs no recording with a case; {spell('match')} {best} would pair {pairs}"


def _homes(
    cases: Sequence[PlannedCase], recordings: Sequence[RecordedInput], by: Match, sets: Sequence[str] | None
) -> list[PlannedCase | None]:
    """Return the case of each recording, or None."""
    finder = CaseFinder(cases, by)
    set_ids = sets or map(_read_set, recordings)
    return [
        finder.find(recorded, i, set_id) for i, (recorded, set_id) in enumerate(zip(recordings, set_ids, strict=True))
    ]


def _read_name(recorded: RecordedInput) -> str:
    recording = as_recording(recorded)
    return recording.case_id or recording.trace.session_id


def _read_set(recorded: RecordedInput) -> str:
    """Return the eval set that a recording itself names. A recorded eval case names none."""
    return recorded.eval_set if isinstance(recorded, Recording) else ""


class CaseFinder:
    """Finds the case that a recording answers.

    Eval sets may share the id of a case. A recording that names its set answers the case of that set. A recording that
    does not name a set answers the first case with its id, or the case that reports call by that id.
    """

    def __init__(self, cases: Sequence[PlannedCase], by: Match = "id") -> None:
        """Index cases by the property that recordings share with them."""
        self._by = by
        self._cases: dict[str, PlannedCase] = {}
        self._namesakes: dict[tuple[str, str], PlannedCase] = {}
        for i, case in enumerate(cases):
            place = _expected_name(case, i, by)
            if self._cases.setdefault(place, case) is not case:
                self._namesakes.setdefault((case.eval_set, place), case)
        if by == "query":
            self._cases.pop("", None)  # a text that was not recorded is not an empty text
        elif by != "order":
            for case in cases:
                self._cases.setdefault(case.name, case)

    def find(self, recorded: RecordedInput, number: int = 0, set_id: str = "") -> PlannedCase | None:
        """Return the case of a recording, or None. `number` is its place among all recordings."""
        name = _recorded_name(recorded, number, self._by)
        namesake = self._cases.get(name)
        if namesake is None or not set_id or self._by != "id":
            return namesake
        if namesake.eval_set == set_id and namesake.case.id == name:
            return namesake
        of_set = self._namesakes.get((set_id, name))
        return of_set or (namesake if _may_answer(recorded, namesake.case) else None)


def _may_answer(recorded: RecordedInput, case: EvalCase) -> bool:
    """Whether a recording of a set with another name may be of a case: the user begins as the case says.

    For example, the id of a set changes when its file is renamed. But ids such as `case_1` occur in many sets.
    """
    invocations, expected = as_recording(recorded).trace.invocations, case.conversation
    if not invocations or not expected or invocations[0].user.withheld:
        return True
    return invocations[0].query.strip() == expected[0].query.strip()


def _expected_name(case: PlannedCase, i: int, by: Match) -> str:
    """Return the name under which a case waits for its recordings."""
    if by == "session":
        return as_recording(case.case).trace.session_id or case.case.id
    if by == "query":
        return _first_query(case.case)
    return case.case.id if by == "id" else str(i)


def _recorded_name(recorded: RecordedInput, i: int, by: Match) -> str:
    """Return the name under which a recording looks for its case."""
    if by == "session":
        return as_recording(recorded).trace.session_id
    if by == "query":
        return _first_query(recorded)
    if by == "id":
        return recorded.id if isinstance(recorded, EvalCase) else recorded.case_id
    return str(i)


def _first_query(recorded: RecordedInput) -> str:
    """Return the first text of the user, with single spaces, or an empty text."""
    if isinstance(recorded, EvalCase) and recorded.scenario is not None:
        return " ".join(recorded.scenario.starting_prompt.split())
    invocations = as_recording(recorded).trace.invocations
    return " ".join(invocations[0].query.split()) if invocations else ""


def match_each(
    cases: Sequence[PlannedCase], sets: Sequence[LoadedSet], sources: Sequence[Source], *, by: Match = "id"
) -> tuple[MatchedRecordings, list[str]]:
    """Return the recordings of each file beside the cases of the same file, otherwise as `match` does."""
    matched_cases: list[PlannedCase] = []
    recordings: list[RecordedInput | None] = []
    warnings: list[str] = []
    start = 0
    for loaded, source in zip(sets, sources, strict=True):
        end = start + len(loaded.eval_set.cases)
        matched, strays = match(cases[start:end], collect_recordings([source]), by=by)
        matched_cases += matched.cases
        recordings += matched.recordings
        warnings += strays
        start = end
    return MatchedRecordings(tuple(matched_cases), tuple(recordings)), warnings


def with_sets(sources: Sequence[Source]) -> tuple[list[RecordedInput], list[str]]:
    """Return the recordings of files, and the id of the eval set of each. It is "" if a recording names no set."""
    recordings: list[RecordedInput] = []
    sets: list[str] = []
    for source in sources:
        eval_set, of_source = source.loaded.eval_set, collect_recordings([source])
        recordings += of_source
        sets += [eval_set.id] * len(of_source) if eval_set is not None else map(_read_set, of_source)
    return recordings, sets
