"""Where do two lists of calls differ? Side by side, with the first difference marked."""

from __future__ import annotations

from collections.abc import Sequence

from assay.data.noun import Noun
from assay.data.outcome import Quote
from assay.data.trace import ToolCall
from assay.metrics.matching import CallMatcher, assignment
from assay.text.display import call as shown
from assay.text.display import compact

_LIMIT = 400
"""Calls beyond are shown without alignment, which takes quadratic time."""


class Row(Noun, frozen=True):
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
    return _beside(_in_order(actual, expected, match), surplus_is_fault=match_type == "EXACT")


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


def _in_order(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[Row]:
    rows: list[Row] = []
    for ours, theirs in zip(actual, expected, strict=False):
        if not match(ours, theirs):
            break
        rows.append(Row(theirs, ours, fault=False))
    return rows + _after_the_start(actual[len(rows) :], expected[len(rows) :], match)


def _after_the_start(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> list[Row]:
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


def difference(rows: list[Row]) -> str:
    """Return the first difference in one sentence."""
    for position, row in enumerate(rows, 1):
        if row.fault:
            return f"first difference at call {position}: {_difference(row)}"
    return "the calls match"


def _difference(row: Row) -> str:
    if row.expected is None or row.actual is None:
        one = row.expected or row.actual
        return f"{one.name if one else ''} is {'missing' if row.expected else 'not expected'}"
    if row.expected.name != row.actual.name:
        return f"expected {row.expected.name}, got {row.actual.name}"
    return f"{row.expected.name}: {_argument_difference(row.actual, row.expected)}"


def _argument_difference(actual: ToolCall, expected: ToolCall) -> str:
    for name in sorted(expected.args.keys() | actual.args.keys()):
        if name not in actual.args:
            return f"argument {name} is missing, expected {compact(expected.args[name])}"
        if name not in expected.args:
            return f"argument {name}={compact(actual.args[name])} is not expected"
        theirs, ours = compact(expected.args[name]), compact(actual.args[name])
        if theirs != ours:
            return f"argument {name}: expected {theirs}, got {ours}"
    return "arguments differ"


def side_by_side(rows: list[Row]) -> str:
    """Return both lists, a line each, the first difference between » and «."""
    first = next((row for row in rows if row.fault), None)
    return "\n".join(
        (
            f"expected: {_line([(row.expected, row is first) for row in rows])}",
            f"actual:   {_line([(row.actual, row is first) for row in rows])}",
        )
    )


def _line(cells: list[tuple[ToolCall | None, bool]]) -> str:
    texts = [(shown(one.name, one.args, limit=200) if one else "-", marked) for one, marked in cells if one or marked]
    return ", ".join(f"»{text}«" if marked else text for text, marked in texts) or "no calls"


def evidence(rows: list[Row]) -> tuple[Quote, ...]:
    """Return the rows as quotes: `both` where the sides match, else `expected`, `actual`, `surplus` where allowed."""
    quotes: list[Quote] = []
    for row in rows:
        if row.expected and row.actual and not row.fault:
            quotes.append(Quote(shown(row.actual.name, row.actual.args), "both"))
            continue
        if row.expected:
            quotes.append(Quote(shown(row.expected.name, row.expected.args), "expected"))
        if row.actual:
            quotes.append(Quote(shown(row.actual.name, row.actual.args), "actual" if row.fault else "surplus"))
    return tuple(quotes)
