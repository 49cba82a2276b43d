"""Where do two lists of calls differ? Side by side, with the first difference marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairtrial.metrics.argument_matching import CallMatcher, assignment
from fairtrial.records.record import Record
from fairtrial.records.score import Quote
from fairtrial.records.trace import ToolCall
from fairtrial.text.display import call as shown
from fairtrial.text.display import compact, shortened

_LIMIT = 400
"""Calls beyond are shown without alignment, which takes quadratic time."""

_SHOWN = 200
"""Characters of a call in a line of calls."""


class Row(Record, frozen=True):
    """An expected call and the actual one beside it; None where one side has nothing. `fault`: it breaks the match."""

    expected: ToolCall | None
    actual: ToolCall | None
    fault: bool


def align(
    actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher, *, match_type: str
) -> list[Row]:
    """Return both lists row by row: along a longest common subsequence, or paired in any order.

    Only EXACT finds fault with a surplus call.
    """
    if match_type == "ANY_ORDER":
        return _in_any_order(actual, expected, match)
    start = _agreeing(actual, expected, match)
    end = _agreeing(actual[start:][::-1], expected[start:][::-1], match)
    ours, theirs = len(actual) - end, len(expected) - end
    between = _between(actual[start:ours], expected[start:theirs], match)
    return [
        *_matched(actual[:start], expected[:start]),
        *_beside(between, surplus_is_fault=match_type == "EXACT"),
        *_matched(actual[ours:], expected[theirs:]),
    ]


def _in_any_order(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[Row]:
    """Each expected call beside its partner; one without beside a spare call of the same tool, to show what differs."""
    mates = assignment(actual, expected, match)
    spare = {i: one for i, one in enumerate(actual) if i not in set(mates)}
    rows: list[Row] = []
    for theirs, i in zip(expected, mates, strict=True):
        namesake = next((k for k, one in spare.items() if one.name == theirs.name), None) if i < 0 else None
        ours = actual[i] if i >= 0 else spare.pop(namesake) if namesake is not None else None
        rows.append(Row(theirs, ours, fault=i < 0))
    return rows + [Row(None, one, fault=False) for one in spare.values()]


def _agreeing(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> int:
    """Return how many calls at the start of both lists match."""
    for i, (ours, theirs) in enumerate(zip(actual, expected, strict=False)):
        if not match(ours, theirs):
            return i
    return min(len(actual), len(expected))


def _matched(actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> list[Row]:
    return [Row(theirs, ours, fault=False) for ours, theirs in zip(actual, expected, strict=True)]


def _between(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[Row]:
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
    """Lengths of the longest common subsequences of all suffixes."""
    table = [[0] * (len(expected) + 1) for _ in range(len(actual) + 1)]
    for i in range(len(actual) - 1, -1, -1):
        for j in range(len(expected) - 1, -1, -1):
            below = max(table[i + 1][j], table[i][j + 1])
            table[i][j] = table[i + 1][j + 1] + 1 if match(actual[i], expected[j]) else below
    return table


def _beside(rows: list[Row], *, surplus_is_fault: bool) -> list[Row]:
    """Put the missing calls between two matches next to the surplus ones there."""
    merged: list[Row] = []
    missing: list[ToolCall] = []
    surplus: list[ToolCall] = []
    for row in [*rows, Row(None, None, fault=False)]:
        if row.fault and row.expected is not None:
            missing.append(row.expected)
        elif row.fault and row.actual is not None:
            surplus.append(row.actual)
        else:
            for k in range(max(len(missing), len(surplus))):
                left = missing[k] if k < len(missing) else None
                right = surplus[k] if k < len(surplus) else None
                merged.append(Row(left, right, fault=surplus_is_fault or left is not None))
            missing.clear()
            surplus.clear()
            merged.append(row)
    return merged[:-1]


def difference(rows: list[Row], match: CallMatcher) -> str:
    """Return the first difference in one sentence; where nothing breaks the match, what was not expected."""
    for position, row in enumerate(rows, 1):
        if row.fault:
            return f"first difference at call {position}: {_difference(row, match)}"
    return f"not expected: {', '.join(row.actual.name for row in rows if row.actual and row.expected is None)}"


def _difference(row: Row, match: CallMatcher) -> str:
    if row.expected is None or row.actual is None:
        one = row.expected or row.actual
        return f"{one.name if one else ''} is {'missing' if row.expected else 'not expected'}"
    if row.expected.name != row.actual.name:
        return f"expected {row.expected.name}, got {row.actual.name}"
    return f"{row.expected.name}: {_argument_difference(row.actual, row.expected, match)}"


def _argument_difference(actual: ToolCall, expected: ToolCall, match: CallMatcher) -> str:
    for name in match.differing(actual, expected):
        if name not in actual.args:
            return f"argument {name} is missing, expected {compact(expected.args[name])}"
        if name not in expected.args:
            return f"argument {name}={compact(actual.args[name])} is not expected"
        return f"argument {name}: expected {compact(expected.args[name])}, got {compact(actual.args[name])}"
    return "arguments differ"


def show(rows: list[Row]) -> tuple[str, tuple[Quote, ...]]:
    """Return both lists, a line each with the first difference between » and «; and the rows as quotes.

    A quote's source is `both` where the sides match, else `expected`, `actual`, or `surplus` where that is allowed.
    """
    texts = [_texts(row) for row in rows]
    first = next((i for i, row in enumerate(rows) if row.fault), -1)
    lines = (
        f"expected: {_line([theirs for theirs, _ in texts], first)}",
        f"actual:   {_line([ours for _, ours in texts], first)}",
    )
    return "\n".join(lines), tuple(_quotes(rows, texts))


def _texts(row: Row) -> tuple[str, str]:
    """The expected and the actual call as text, empty where there is none; equal ones are written out once."""
    ours = shown(row.actual.name, row.actual.args) if row.actual else ""
    if row.expected is None:
        return "", ours
    if row.actual and not row.fault and row.actual.args == row.expected.args:
        return ours, ours
    return shown(row.expected.name, row.expected.args), ours


def _line(texts: list[str], first: int) -> str:
    cut = [(shortened(text or "-", _SHOWN), i == first) for i, text in enumerate(texts) if text or i == first]
    return ", ".join(f"»{text}«" if marked else text for text, marked in cut) or "no calls"


def _quotes(rows: list[Row], texts: list[tuple[str, str]]) -> Iterator[Quote]:
    for row, (theirs, ours) in zip(rows, texts, strict=True):
        if theirs and ours and not row.fault:
            yield Quote(ours, "both")
            continue
        if theirs:
            yield Quote(theirs, "expected")
        if ours:
            yield Quote(ours, "actual" if row.fault else "surplus")
