"""The index of a run's cases for queries. It holds the marks of all attempts, and no text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from fairtrial.api.viewer.text_index import list_texts
from fairtrial.records.record import Record
from fairtrial.records.result import Verdict

if TYPE_CHECKING:
    from fairtrial.store import AttemptMark, Store

Flag = Literal["failed", "flaky", "changed", "labelled", "invalid"]
Place = tuple[int, int]
"""The position of a case and the number of an attempt."""
Case = tuple["AttemptMark", ...]
"""The marks of the attempts at a case."""

_ATTENTION = {"failed": 0, "error": 1, "unscored": 2, "passed": 3, "informational": 4}
_BROKEN = frozenset({"failed", "error"})
_GREEN = ("passed", "informational")


class CaseQuery(Record, frozen=True):
    """What a reader looks for in the list of cases. Empty values do not limit it.

    `mode` is the number of a failure mode, or `alone` for failures without a mode. `sort` is a column of the grid, with
    a minus before it if downwards. With `group`, cases with the same value in it are a group.
    """

    verdict: str = ""
    criterion: str = ""
    side: str = ""
    tool: str = ""
    flags: tuple[Flag, ...] = ()
    text: str = ""
    mode: str = ""
    sort: str = ""
    group: bool = False


@dataclass
class Conditions:
    """The parts of a query that other tables answered: the attempts and the positions that fit, or None for all."""

    places: list[Collection[Place]] = field(default_factory=list)
    positions: list[Collection[int]] = field(default_factory=list)


class RunIndex:
    """The marks of the attempts of a run. `update` reads only the marks that are new."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._cases: dict[int, Case] = {}
        self._attention: dict[int, tuple[int, int]] = {}
        self._orders: dict[bool, list[int]] = {}
        self.change = -1
        self.attempts = 0

    def update(self) -> None:
        """Read what changed."""
        # Results of an earlier version all have change 0, so that change 0 is read once.
        marks = self._store.marks(self._run_id, self.change)
        cases = self._cases
        for mark in marks:
            case = cases.get(mark.position)
            cases[mark.position] = (mark,) if case is None else _with_mark(case, mark)
        positions = {mark.position for mark in marks}
        for position in positions:
            self._attention[position] = _attention(cases[position])
        if marks:
            self.change = max(mark.changed for mark in marks)
            self.attempts = sum(map(len, cases.values()))
            self._orders = {}

    @property
    def positions(self) -> Sequence[int]:
        """The positions of the cases with results, in file order."""
        return sorted(self._cases)

    @property
    def cases(self) -> int:
        """The number of cases with results."""
        return len(self._cases)

    @property
    def is_repeated(self) -> bool:
        """Whether a case has several attempts."""
        return self.attempts > len(self._cases)

    def attempts_at(self, position: int) -> Case:
        """Return the marks of the attempts at a case, in the order of the attempts."""
        return self._cases.get(position, ())

    def find(self, query: CaseQuery, conditions: Conditions, *, newest_first: bool) -> list[int]:
        """Return the positions of the cases that fit, those that need attention first.

        With `newest_first`, the case that changed last comes first among cases that need the same attention.
        """
        order = self._order(newest_first=newest_first)
        if replace(query, sort="", group=False) == CaseQuery():
            return order
        if len(conditions.places) == 1 and replace(query, text="", sort="", group=False) == CaseQuery():
            found = {position for position, _ in conditions.places[0]}
            return [position for position in order if position in found]
        cases = list(self._cases.values())
        if "flaky" in query.flags:
            cases = [case for case in cases if len(case) > 1 and _is_flaky({mark.verdict for mark in case})]
        positions = {mark.position for mark in _fitting(list(chain.from_iterable(cases)), query, conditions)}
        return [position for position in order if position in positions]

    def _order(self, *, newest_first: bool) -> list[int]:
        orders = self._orders
        if newest_first not in orders:
            keys = sorted(
                (attention, -changed if newest_first else 0, position)
                for position, (attention, changed) in list(self._attention.items())
            )
            orders[newest_first] = [position for *_, position in keys]
        return orders[newest_first]


def _with_mark(case: Case, mark: AttemptMark) -> Case:
    """Return a case with one more attempt, or with another mark of an attempt."""
    marks = {own.attempt: own for own in (*case, mark)}
    return tuple(marks[attempt] for attempt in sorted(marks))


def _fitting(marks: list[AttemptMark], query: CaseQuery, conditions: Conditions) -> list[AttemptMark]:
    """Return the attempts that fit. Each condition is one pass: 100,000 attempts must not wait for a call each."""
    if query.verdict:
        marks = [mark for mark in marks if mark.verdict == query.verdict]
    if query.side:
        marks = [mark for mark in marks if mark.fault_side == query.side]
    if "failed" in query.flags:
        marks = [mark for mark in marks if mark.verdict not in _GREEN]
    if "invalid" in query.flags:
        marks = [mark for mark in marks if mark.valid is False]
    for places in conditions.places:
        marks = [mark for mark in marks if (mark.position, mark.attempt) in places]
    for positions in conditions.positions:
        marks = [mark for mark in marks if mark.position in positions]
    return marks


def _is_flaky(verdicts: Collection[str]) -> bool:
    return "passed" in verdicts and not _BROKEN.isdisjoint(verdicts)


def _attention(case: Case) -> tuple[int, int]:
    """Return a number by which cases are sorted, as the program of a page sorts the cases of a file, and the change."""
    if len(case) == 1:  # most runs have one attempt at each case, and a list of 100,000 must be there at once
        (mark,) = case
        return 4 * _ATTENTION[mark.verdict] + (0 if mark.valid is False else 2), mark.changed
    verdicts = {mark.verdict for mark in case}
    worst = min(_ATTENTION[verdict] for verdict in verdicts)
    has_invalid = any(mark.valid is False for mark in case)
    return 4 * worst + _is_flaky(verdicts) + (0 if has_invalid else 2), max(mark.changed for mark in case)


NOT_MET = (Verdict.FAILED, Verdict.UNSCORED)


def places_of_tool(store: Store, run_id: str, tool: str) -> Iterator[Place]:
    """Yield the attempts whose recordings call a tool."""
    for position, attempt, name in called_tools(store, run_id, tool):
        if name == tool:
            yield position, attempt


def called_tools(store: Store, run_id: str, tool: str = "") -> Iterator[tuple[int, int, str]]:
    """Yield the names of the tools that recordings call, with position and attempt, or only around a name."""
    import msgspec

    wanted = msgspec.json.encode(tool).decode()[1:-1].lower() if tool else '"tool_call"'
    for position, attempt, content in store.bodies_with(run_id, wanted, of_results=False):
        for name in _list_calls(msgspec.json.decode(content)):
            yield position, attempt, name


def _list_calls(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _list_calls(item)
    elif isinstance(value, dict):
        if value.get("kind") == "tool_call" and isinstance(value.get("name"), str):
            yield value["name"]
        for key, item in value.items():
            if key not in ("args", "response", "extra"):
                yield from _list_calls(item)


def places_with_text(store: Store, run_id: str, text: str, is_current: Callable[[], bool]) -> set[Place] | None:
    """Return the attempts whose texts contain a text, without regard to case, by reading all of them.

    The result is None if somebody searches for something else meanwhile.
    """
    small = text.lower()
    # Such characters stand in another form in JSON.
    wanted = "" if any(sign in small for sign in '"\\\n\t') else small
    places: set[Place] = set()
    for of_results in (False, True):
        for position, attempt, content in store.bodies_with(run_id, wanted, of_results=of_results):
            if not is_current():
                return None
            if any(small in value.lower() for value in list_texts(content, of_results=of_results)):
                places.add((position, attempt))
    return places
