"""Which cases of a run does a query find, and in which order? The marks of all attempts are held, and no text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from fairtrial.records.record import Record
from fairtrial.records.result import Verdict

if TYPE_CHECKING:
    from fairtrial.store import AttemptMark, Store

Flag = Literal["failed", "flaky", "changed", "labelled", "invalid"]
Place = tuple[int, int]
"""The position of a case and the number of an attempt."""

_ATTENTION = {"failed": 0, "error": 1, "unscored": 2, "passed": 3, "informational": 4}
_BROKEN = frozenset({"failed", "error"})
_GREEN = ("passed", "informational")


class CaseQuery(Record, frozen=True):
    """What a reader looks for in the list of cases. Empty values do not limit it."""

    verdict: str = ""
    criterion: str = ""
    side: str = ""
    tool: str = ""
    flags: tuple[Flag, ...] = ()
    text: str = ""


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
        self._cases: dict[int, dict[int, AttemptMark]] = {}
        self._attention: dict[int, tuple[int, int]] = {}
        self._orders: dict[bool, list[int]] = {}
        self.change = -1

    def update(self) -> set[int]:
        """Read what changed, and return the positions of the cases that changed."""
        # Results of an earlier version all have change 0, so that change 0 is read once.
        marks = self._store.marks(self._run_id, self.change)
        for mark in marks:
            self._cases.setdefault(mark.position, {})[mark.attempt] = mark
        positions = {mark.position for mark in marks}
        for position in positions:
            self._attention[position] = _attention(self._cases[position])
        if marks:
            self.change = max(mark.changed for mark in marks)
            self._orders = {}
        return positions

    @property
    def positions(self) -> Sequence[int]:
        """The positions of the cases with results, in file order."""
        return sorted(self._cases)

    @property
    def is_repeated(self) -> bool:
        """Whether a case has several attempts."""
        return any(len(attempts) > 1 for attempts in self._cases.values())

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return sum(map(len, self._cases.values()))

    def attempts_of(self, position: int) -> Mapping[int, AttemptMark]:
        """Return the marks of the attempts at a case by their numbers."""
        return self._cases.get(position, {})

    def find(self, query: CaseQuery, conditions: Conditions, *, newest_first: bool) -> list[int]:
        """Return the positions of the cases that fit, those that need attention first.

        With `newest_first`, the case that changed last comes first among cases that need the same attention.
        """
        order = self._order(newest_first=newest_first)
        if query == CaseQuery():
            return order
        return [position for position in order if _fits(self._cases[position], query, conditions)]

    def _order(self, *, newest_first: bool) -> list[int]:
        orders = self._orders
        if newest_first not in orders:
            keys = sorted(
                (attention, -changed if newest_first else 0, position)
                for position, (attention, changed) in list(self._attention.items())
            )
            orders[newest_first] = [position for *_, position in keys]
        return orders[newest_first]


def _fits(case: Mapping[int, AttemptMark], query: CaseQuery, conditions: Conditions) -> bool:
    attempts = case.values()
    if "flaky" in query.flags and not _is_flaky({mark.verdict for mark in attempts}):
        return False
    return any(_attempt_fits(mark, query, conditions) for mark in attempts)


def _attempt_fits(mark: AttemptMark, query: CaseQuery, conditions: Conditions) -> bool:
    return (
        query.verdict in ("", mark.verdict)
        and query.side in ("", mark.fault_side)
        and ("failed" not in query.flags or mark.verdict not in _GREEN)
        and ("invalid" not in query.flags or mark.valid is False)
        and all((mark.position, mark.attempt) in places for places in conditions.places)
        and all(mark.position in positions for positions in conditions.positions)
    )


def _is_flaky(verdicts: Collection[str]) -> bool:
    return "passed" in verdicts and not _BROKEN.isdisjoint(verdicts)


def _attention(case: Mapping[int, AttemptMark]) -> tuple[int, int]:
    """Return a number by which cases are sorted, as the program of a page sorts the cases of a file, and the change."""
    if len(case) == 1:  # most runs have one attempt at each case, and a list of 100,000 must be there at once
        (mark,) = case.values()
        return 4 * _ATTENTION[mark.verdict] + (0 if mark.valid is False else 2), mark.changed
    verdicts = {mark.verdict for mark in case.values()}
    worst = min(_ATTENTION[verdict] for verdict in verdicts)
    has_invalid = any(mark.valid is False for mark in case.values())
    changed = max(mark.changed for mark in case.values())
    return 4 * worst + _is_flaky(verdicts) + (0 if has_invalid else 2), changed


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
        for value, key in _texts(msgspec.json.decode(content)):
            if key == "tool_call":
                yield position, attempt, value


_SEARCHED = ("text", "reason", "cause")


def places_with_text(store: Store, run_id: str, text: str) -> set[Place]:
    """Return the attempts whose messages, reasons or tools contain a text, without regard to case."""
    import msgspec

    small = text.lower()
    wanted = msgspec.json.encode(small).decode()[1:-1]
    places: set[Place] = set()
    for of_results in (False, True):
        for position, attempt, content in store.bodies_with(run_id, wanted, of_results=of_results):
            if any(small in value.lower() for value, key in _texts(msgspec.json.decode(content))):
                places.add((position, attempt))
    return places


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield the texts of a stored record that a search reads: messages, thoughts, reasons, and the names of tools."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        kind = value.get("kind")
        if kind in ("tool_call", "tool_result") and isinstance(value.get("name"), str):
            yield value["name"], kind
        for key, item in value.items():
            if key in _SEARCHED and isinstance(item, str):
                yield item, key
            elif key not in ("args", "response", "extra"):
                yield from _texts(item)
