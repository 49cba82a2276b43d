"""Align two call lists side by side, and mark the first difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairtrial.records.record import Record
from fairtrial.records.score import Quote
from fairtrial.records.trace import ToolCall
from fairtrial.text.display import call as call_text
from fairtrial.text.display import compact, shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.metrics.argument_matching import CallMatcher

_LIMIT = 400
"""The most calls that are aligned, because alignment takes quadratic time. Further calls are only listed."""

_MOST_CHARACTERS = 200
"""The most characters of a call in a line of calls."""


class Row(Record, frozen=True):
    """An expected call beside an actual call. A side without a call is None. A `fault` breaks the match.

    `differing` are the names of the arguments that break it, if both calls are of one tool.
    """

    expected: ToolCall | None
    actual: ToolCall | None
    fault: bool
    differing: tuple[str, ...] = ()


def align(
    actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher, *, surplus_is_fault: bool, start: int
) -> list[Row]:
    """Return both lists row by row, along a longest common subsequence. `start` is the length of the common prefix."""
    rows = _pairs(actual[:start], expected[:start])
    if len(actual) == len(expected) == start + 1:
        return [*rows, _make_change(expected[start], actual[start], match)]
    end = match.common_prefix(actual[start:][::-1], expected[start:][::-1])
    ours, theirs = len(actual) - end, len(expected) - end
    middle = _middle(actual[start:ours], expected[start:theirs], match)
    rows += _side_by_side(middle, match, surplus_is_fault=surplus_is_fault)
    return rows + _pairs(actual[ours:], expected[theirs:])


def align_in_any_order(
    actual: Sequence[ToolCall], expected: Sequence[ToolCall], partners: Sequence[int], match: CallMatcher
) -> tuple[list[Row], list[int]]:
    """Return each expected call beside its partner, or beside a spare call of the same tool to show what differs.

    `partners` are the places of the partners of the expected calls, or -1 for a call without a partner. The second
    result are the places of the actual calls, in the order of the rows.
    """
    paired = set(partners)
    spare = {i: call for i, call in enumerate(actual) if i not in paired}
    rows: list[Row] = []
    places: list[int] = []
    for theirs, partner in zip(expected, partners, strict=True):
        if partner >= 0:
            rows.append(Row(theirs, actual[partner], fault=False))
            places.append(partner)
            continue
        place = next((k for k, call in spare.items() if call.name == theirs.name), None)
        if place is None:
            rows.append(Row(theirs, None, fault=True))
        else:
            rows.append(_make_change(theirs, spare.pop(place), match))
            places.append(place)
    rows += [Row(None, call, fault=False) for call in spare.values()]
    return rows, [*places, *spare]


def _make_change(expected: ToolCall, actual: ToolCall, match: CallMatcher) -> Row:
    """Return the row of two calls that do not match."""
    differing = tuple(match.differing(actual, expected)) if actual.name == expected.name else ()
    return Row(expected, actual, fault=True, differing=differing)


def _pairs(actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> list[Row]:
    return [Row(theirs, ours, fault=False) for ours, theirs in zip(actual, expected, strict=True)]


def _middle(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[Row]:
    """Return the rows of a longest common subsequence."""
    table = _table(actual[:_LIMIT], expected[:_LIMIT], match)
    rows: list[Row] = []
    i, j = 0, 0
    while i < len(actual) or j < len(expected):
        inside = i < min(len(actual), _LIMIT) and j < min(len(expected), _LIMIT)
        if inside and match(actual[i], expected[j]):
            rows.append(Row(expected[j], actual[i], fault=False))
            i, j = i + 1, j + 1
        elif j < len(expected) and (i >= len(actual) or not inside or table[i][j + 1] >= table[i + 1][j]):
            rows.append(Row(expected[j], None, fault=True))
            j += 1
        else:
            rows.append(Row(None, actual[i], fault=True))
            i += 1
    return rows


def _table(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[list[int]]:
    """Return the lengths of the longest common subsequences of all suffixes."""
    table = [[0] * (len(expected) + 1) for _ in range(len(actual) + 1)]
    for i in range(len(actual) - 1, -1, -1):
        for j in range(len(expected) - 1, -1, -1):
            below = max(table[i + 1][j], table[i][j + 1])
            table[i][j] = table[i + 1][j + 1] + 1 if match(actual[i], expected[j]) else below
    return table


def _side_by_side(rows: list[Row], match: CallMatcher, *, surplus_is_fault: bool) -> list[Row]:
    """Put the missing calls between two matches beside the surplus calls there."""
    merged: list[Row] = []
    missing: list[ToolCall] = []
    surplus: list[ToolCall] = []
    for row in [*rows, Row(None, None, fault=False)]:
        if row.fault and row.expected is not None:
            missing.append(row.expected)
        elif row.fault and row.actual is not None:
            surplus.append(row.actual)
        else:
            merged += [_make_change(theirs, ours, match) for theirs, ours in zip(missing, surplus, strict=False)]
            merged += [Row(theirs, None, fault=True) for theirs in missing[len(surplus) :]]
            merged += [Row(None, ours, fault=surplus_is_fault) for ours in surplus[len(missing) :]]
            missing.clear()
            surplus.clear()
            merged.append(row)
    return merged[:-1]


def difference(rows: list[Row]) -> str:
    """Return the first difference in one sentence, or the surplus calls if nothing breaks the match."""
    for position, row in enumerate(rows, 1):
        if row.fault:
            return visible_line(f"first difference at call {position}: {_row_difference(row)}")
    surplus_names = [row.actual.name for row in rows if row.actual and row.expected is None]
    return visible_line(f"not expected: {', '.join(surplus_names)}")


def _row_difference(row: Row) -> str:
    if row.expected is None or row.actual is None:
        call = row.expected or row.actual
        return f"{call.name if call else ''} is {'missing' if row.expected else 'not expected'}"
    if row.expected.name != row.actual.name:
        return f"expected {row.expected.name}, got {row.actual.name}"
    if not row.differing:
        return f"{row.expected.name}: arguments differ"
    return f"{row.expected.name}: argument {_argument_difference(row.actual, row.expected, row.differing[0])}"


def _argument_difference(actual: ToolCall, expected: ToolCall, name: str) -> str:
    if name not in actual.args:
        return f"{name} is missing, expected {compact(expected.args[name])}"
    if name not in expected.args:
        return f"{name}={compact(actual.args[name])} is not expected"
    return f"{name}: expected {compact(expected.args[name])}, got {compact(actual.args[name])}"


def show(rows: list[Row]) -> tuple[str, tuple[Quote, ...]]:
    """Return both lists as lines with the first difference between » and «, and the rows as quotes.

    The source of a quote is `both` if the sides match, otherwise `expected` or `actual`, or `surplus` for an extra call
    that is allowed.
    """
    texts = [_texts(row) for row in rows]
    first = next((i for i, row in enumerate(rows) if row.fault), -1)
    lines = (
        f"expected: {_line([theirs for theirs, _ in texts], first)}",
        f"actual:   {_line([ours for _, ours in texts], first)}",
    )
    return "\n".join(lines), tuple(_quotes(rows, texts))


def _texts(row: Row) -> tuple[str, str]:
    """Return the expected and the actual call as text, or empty texts for missing calls."""
    ours = _call_text(row.actual) if row.actual else ""
    if row.expected is None:
        return "", ours
    if row.actual and not row.fault and not row.actual.withheld and row.actual.args == row.expected.args:
        return ours, ours  # equal calls are written out only once, which takes most of the time
    return _call_text(row.expected), ours


def _call_text(call: ToolCall) -> str:
    return visible_line(f"{call.name}(not recorded)") if call.withheld else call_text(call.name, call.args)


def _line(texts: list[str], first: int) -> str:
    texts_to_show = [
        text if i != first and len(text) <= _MOST_CHARACTERS else _show_text(text, is_first=i == first)
        for i, text in enumerate(texts)
        if text or i == first
    ]
    return ", ".join(texts_to_show) or "no calls"


def _show_text(text: str, *, is_first: bool) -> str:
    short = shorten(text or "-", _MOST_CHARACTERS)
    return f"»{short}«" if is_first else short


def _quotes(rows: list[Row], texts: list[tuple[str, str]]) -> Iterator[Quote]:
    for row, (theirs, ours) in zip(rows, texts, strict=True):
        if theirs and ours and not row.fault:
            yield Quote(ours, "both")
            continue
        if theirs:
            yield Quote(theirs, "expected")
        if ours:
            yield Quote(ours, "actual" if row.fault else "surplus")
