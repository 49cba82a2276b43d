"""Store the alignment of two call lists in a score, so that reports can show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.records.equality import equal_json
from fairtrial.records.score import AlignedCall
from fairtrial.text.pointer import escape

if TYPE_CHECKING:
    from fairtrial.metrics.alignment import Row
    from fairtrial.metrics.argument_matching import CallMatcher
    from fairtrial.records.record import Json
    from fairtrial.records.trace import ToolCall

_MOST_POINTERS = 20


class CallLists(NamedTuple):
    """All actual and all expected calls, with the calls of optional tools."""

    actual: Sequence[ToolCall]
    expected: Sequence[ToolCall]


class ToolRules(NamedTuple):
    """The tools that a criterion treats in a special way."""

    optional: Sequence[str] = ()
    forbidden: Sequence[str] = ()


def aligned_calls(
    rows: Sequence[Row], calls: CallLists, match: CallMatcher, tools: ToolRules, places: Sequence[int] | None = None
) -> tuple[AlignedCall, ...]:
    """Return the rows of an alignment with the places of their calls.

    A missing call that stands at another place is one row, which is moved. A missing call and a surplus call of the
    same tool are one row, which is changed. If the order is free, a moved call is allowed. `places` are then those of
    the actual calls, in the order of the rows, without the calls of optional tools. These become rows of their own.
    """
    ours, theirs = _places(calls.actual, tools.optional), _places(calls.expected, tools.optional)
    ours_in_rows = ours if places is None else map(ours.__getitem__, places)
    aligned = list(_locate_rows(rows, iter(ours_in_rows), iter(theirs)))
    if places is None:
        aligned = _join_changed(_join_moved(aligned, calls, match), calls, match)
    elif places != sorted(places):
        aligned = _mark_moved(aligned)
    aligned = _with_optional(aligned, calls, tools.optional)
    if tools.forbidden:
        aligned = [_mark_forbidden(row, calls, tools.forbidden) for row in aligned]
    return tuple(aligned)


def _places(calls: Sequence[ToolCall], optional: Sequence[str]) -> Sequence[int]:
    """Return the places of the calls that are aligned, in their order."""
    return [place for place, call in enumerate(calls) if call.name not in optional] if optional else range(len(calls))


def _locate_rows(rows: Sequence[Row], ours: Iterator[int], theirs: Iterator[int]) -> Iterator[AlignedCall]:
    """Yield each row with places. Two calls of different tools beside each other become two rows."""
    for row in rows:
        actual = None if row.actual is None else next(ours)
        expected = None if row.expected is None else next(theirs)
        allowed = not row.fault
        if row.expected is None:
            yield AlignedCall("surplus", None, actual, allowed=allowed)
        elif row.actual is None:
            yield AlignedCall("missing", expected, None, allowed=allowed)
        elif allowed:
            yield AlignedCall("equal", expected, actual, allowed=True)
        elif row.actual.name == row.expected.name:
            pointers = _differing(row.actual, row.expected, row.differing)
            yield AlignedCall("changed", expected, actual, tuple(pointers[:_MOST_POINTERS]))
        else:
            yield AlignedCall("missing", expected, None)
            yield AlignedCall("surplus", None, actual)


def _differing(actual: ToolCall, expected: ToolCall, names: Sequence[str]) -> list[str]:
    """Return JSON pointers to the values that differ in the arguments of these names."""
    pointers: list[str] = []
    for name in names:
        start = f"/{escape(name)}"
        if isinstance(actual.args.get(name), (dict, list)) and name in expected.args:
            pointers += _pointers(actual.args[name], expected.args[name], start)
        else:
            pointers.append(start)
    return pointers


def _pointers(actual: Json, expected: Json, start: str) -> Iterator[str]:
    """Yield pointers to the innermost values that differ, or the start if a matcher tells equal values apart."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        inner = [(escape(name), actual.get(name), expected.get(name)) for name in sorted({*actual, *expected})]
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        inner = [(str(i), *pair) for i, pair in enumerate(zip(actual, expected, strict=True))]
    else:
        inner = []
    differing = [(name, ours, theirs) for name, ours, theirs in inner if not equal_json(ours, theirs)]
    if not differing:
        yield start
    for name, ours, theirs in differing:
        yield from _pointers(ours, theirs, f"{start}/{name}")


def _join_moved(rows: list[AlignedCall], calls: CallLists, match: CallMatcher) -> list[AlignedCall]:
    """Join each missing call with a surplus call that matches it."""
    surplus = [row.actual for row in rows if row.relation == "surplus" and row.actual is not None]
    if not surplus:
        return rows
    moved: dict[int, int] = {}
    for row in rows:
        if row.relation == "missing" and row.expected is not None:
            theirs = calls.expected[row.expected]
            place = next((place for place in surplus if match(calls.actual[place], theirs)), None)
            if place is not None:
                surplus.remove(place)
                moved[row.expected] = place
    if not moved:
        return rows
    gone = set(moved.values())
    joined = (
        replace(row, relation="moved", actual=moved[row.expected])
        if row.relation == "missing" and row.expected in moved
        else row
        for row in rows
    )
    return [row for row in joined if row.relation != "surplus" or row.actual not in gone]


def _join_changed(rows: list[AlignedCall], calls: CallLists, match: CallMatcher) -> list[AlignedCall]:
    """Join each missing call with the surplus call of the same tool that shares most arguments with it."""
    surplus = [row.actual for row in rows if row.relation == "surplus" and row.actual is not None]
    changed: dict[int, AlignedCall] = {}
    for row in rows:
        if row.relation == "missing" and row.expected is not None:
            theirs = calls.expected[row.expected]
            alike = {
                place: match.differing(calls.actual[place], theirs)
                for place in surplus
                if calls.actual[place].name == theirs.name
            }
            if alike:
                place = min(alike, key=lambda own: len(alike[own]))
                pointers = _differing(calls.actual[place], theirs, alike[place])
                changed[row.expected] = AlignedCall("changed", row.expected, place, tuple(pointers[:_MOST_POINTERS]))
                surplus.remove(place)
    gone = {row.actual for row in changed.values()}
    joined = (changed.get(row.expected, row) if row.expected is not None else row for row in rows)
    return [row for row in joined if row.relation != "surplus" or row.actual not in gone]


def _mark_moved(rows: list[AlignedCall]) -> list[AlignedCall]:
    """Mark the matched calls that come before the partner of an earlier expected call."""
    latest = -1
    marked: list[AlignedCall] = []
    for row in rows:
        if row.relation == "equal" and row.actual is not None:
            marked.append(replace(row, relation="moved") if row.actual < latest else row)
            latest = max(latest, row.actual)
        else:
            marked.append(row)
    return marked


def _with_optional(rows: list[AlignedCall], calls: CallLists, optional: Sequence[str]) -> list[AlignedCall]:
    """Return the rows with the calls of optional tools, each before the next call of its side."""
    if not optional:
        return rows
    result = list(rows)
    for place, call in enumerate(calls.expected):
        if call.name in optional:
            before = next((i for i, row in enumerate(result) if (row.expected or -1) > place), len(result))
            result.insert(before, AlignedCall("missing", place, None, allowed=True, optional=True))
    for place, call in enumerate(calls.actual):
        if call.name in optional:
            before = next((i for i, row in enumerate(result) if (row.actual or -1) > place), len(result))
            result.insert(before, AlignedCall("surplus", None, place, allowed=True, optional=True))
    return result


def _mark_forbidden(row: AlignedCall, calls: CallLists, forbidden: Sequence[str]) -> AlignedCall:
    if row.actual is None or calls.actual[row.actual].name not in forbidden:
        return row
    return replace(row, forbidden=True, allowed=False)
