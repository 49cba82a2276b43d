"""The differences between the calls of an attempt and the calls that were expected of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fairtrial.analysis.failures.tool_effects import only_reads
from fairtrial.records.equality import equal_json
from fairtrial.records.record import Json
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.analysis.failures.events import Conversation
    from fairtrial.records.case import EvalCase
    from fairtrial.records.score import AlignedCall, Score
    from fairtrial.records.trace import ToolCall

CallKind = Literal["missing", "unexpected", "repeated", "forbidden", "changed", "moved", "call_failed"]
_MOST = 400
"""The most calls that are compared. Matching takes quadratic time."""
_MOST_FIELDS = 3
_DEEPEST = 20


class CallDifference(NamedTuple):
    """A call that differs from the expectation. `place` is the event at which the difference shows.

    `before` is the call that should have come first, if the order differs. `invocation` is the place of the turn for
    which a missing call was expected, or None if it was expected of the whole conversation.
    """

    kind: CallKind
    place: int | None
    expected: ToolCall | None
    actual: ToolCall | None
    fields: tuple[str, ...] = ()
    before: str = ""
    invocation: int | None = None

    @property
    def tool(self) -> str:
        """The name of the tool."""
        call = self.expected or self.actual
        return "" if call is None else call.name


class Pair(NamedTuple):
    """An expected call that was made: its place among the expected calls, and that of the actual call's event."""

    expected: int
    place: int


Reads = Callable[[str], bool]
Equal = Callable[[Json, Json], bool]


def tool_reads(hints: Mapping[str, bool]) -> Reads:
    """Return a function that tells whether a tool only reads. The tool's declaration decides, otherwise its name."""
    return lambda name: hints.get(name, only_reads(name))


def expected_in(case: EvalCase) -> list[tuple[int | None, ToolCall]] | None:
    """Return the expected calls with their invocations, or None if the case says nothing about calls."""
    if case.expected_calls is not None:
        return [(None, call) for call in case.expected_calls]
    turns = [(index, turn) for index, turn in enumerate(case.conversation or ()) if turn.steps is not None]
    return [(index, call) for index, turn in turns for call in turn.tool_calls] if turns else None


# Alignments that a criterion stored


def aligned_differences(
    conversation: Conversation, case: EvalCase, score: Score, reads: Reads
) -> list[CallDifference] | None:
    """Return the differences by the alignment that a criterion stored, or None if it stored none."""
    findings: list[CallDifference] = []
    any_rows = False
    for index, rows in _alignments(score):
        any_rows = True
        expected = _expected_calls(case, index)
        places = [
            place for place in conversation.calls if index is None or conversation.events[place].invocation == index
        ]
        inside = [row for row in rows if _is_inside(row, expected, places)]
        pairs = [
            Pair(row.expected, places[row.actual])
            for row in inside
            if row.expected is not None and row.actual is not None
        ]
        for row in inside:
            theirs = None if row.expected is None else expected[row.expected]
            place = None if row.actual is None else places[row.actual]
            findings += _from_row(conversation, row, theirs, place, reads)
            if row.relation == "missing" and not row.allowed and row.expected is not None:
                at = _place_of_missing(conversation, row.expected, expected, pairs, index, reads)
                findings.append(CallDifference("missing", at, theirs, None, invocation=index))
        if any(row.relation == "moved" and not row.allowed for row in inside):
            findings += _first_moved(conversation, pairs, expected)
    return findings if any_rows else None


def _alignments(score: Score) -> Iterator[tuple[int | None, Sequence[AlignedCall]]]:
    if score.calls:
        key = score.key
        yield (key.index if key is not None and key.kind == "invocation" else None), score.calls
    for part in score.parts:
        yield from _alignments(part)


def _expected_calls(case: EvalCase, index: int | None) -> Sequence[ToolCall]:
    turns = case.conversation or ()
    if index is None:
        return [call for _, call in expected_in(case) or ()]
    return turns[index].tool_calls if index < len(turns) else ()


def _is_inside(row: AlignedCall, expected: Sequence[ToolCall], places: Sequence[int]) -> bool:
    return (row.expected is None or row.expected < len(expected)) and (row.actual is None or row.actual < len(places))


def _from_row(
    conversation: Conversation, row: AlignedCall, expected: ToolCall | None, place: int | None, reads: Reads
) -> Iterator[CallDifference]:
    if place is None:
        return
    actual = conversation.call_at(place)
    if row.forbidden:
        yield CallDifference("forbidden", place, None, actual)
    elif row.relation == "surplus" and not row.optional and not (row.allowed and reads(actual.name)):
        yield CallDifference(_surplus_kind(conversation, place), place, None, actual)
    elif row.relation == "changed" and not row.allowed:
        fields = tuple(dict.fromkeys(pointer.split("/")[1] for pointer in row.pointers if "/" in pointer))
        yield CallDifference("changed", place, expected, actual, fields)
    elif row.relation in ("equal", "moved") and _failed_for_good(conversation, place, reads):
        yield CallDifference("call_failed", place, expected, actual)


def _surplus_kind(conversation: Conversation, place: int) -> CallKind:
    """Return whether a call that was not expected repeats an earlier one."""
    own = conversation.call_at(place)
    for earlier in conversation.calls:
        if earlier >= place:
            break
        call = conversation.call_at(earlier)
        if call.name == own.name and equal_json(call.args, own.args):
            return "repeated"
    return "unexpected"


def _failed_for_good(conversation: Conversation, place: int, reads: Reads) -> bool:
    """Return whether a call that writes was answered with an error, and no later equal call succeeded."""
    call = conversation.call_at(place)
    if reads(call.name) or conversation.find_error(place) is None:
        return False
    later = (candidate for candidate in conversation.calls if candidate > place)
    return not any(
        conversation.call_at(candidate).name == call.name and conversation.find_error(candidate) is None
        for candidate in later
    )


# Alignment of our own, if no criterion made one


def own_differences(
    conversation: Conversation,
    expected: Sequence[tuple[int | None, ToolCall]],
    reads: Reads,
    *,
    may_call: frozenset[str] = frozenset(),
    equal: Equal = equal_json,
) -> list[CallDifference]:
    """Return the differences by matching equal calls in any order. Surplus calls that only read do not count.

    `may_call` are calls that are allowed besides the expected ones, as `normal_key` writes them. `equal` compares two
    arguments.
    """
    calls = [call for _, call in expected[:_MOST]]
    places = conversation.calls[:_MOST]
    pairs, theirs_left, ours_left = _match(conversation, calls, places, equal)
    changed, theirs_left, ours_left = _pair_changed(conversation, calls, (theirs_left, ours_left), equal)
    findings = list(changed)
    for place in ours_left:
        actual = conversation.call_at(place)
        if not reads(actual.name) and normal_key(actual) not in may_call:
            findings.append(CallDifference(_surplus_kind(conversation, place), place, None, actual))
    for number in theirs_left:
        at = _place_of_missing(conversation, number, calls, pairs, expected[number][0], reads)
        findings.append(CallDifference("missing", at, calls[number], None, invocation=expected[number][0]))
    findings += [
        CallDifference("call_failed", pair.place, calls[pair.expected], conversation.call_at(pair.place))
        for pair in pairs
        if _failed_for_good(conversation, pair.place, reads)
    ]
    writing = [pair for pair in pairs if not reads(calls[pair.expected].name)]
    return findings or _first_moved(conversation, writing, calls)


def call_key(call: ToolCall) -> str:
    """Return the name and the arguments of a call as a text that equal calls share."""
    return f"{call.name} {compact(call.args)}"


def normal_key(call: ToolCall) -> str:
    """Return the name and the normal arguments of a call: calls with equal ones do the same."""
    return f"{call.name} {compact(normal_value(call.args))}"


def equal_normally(ours: Json, theirs: Json) -> bool:
    """Return whether two arguments are equal after normalisation."""
    return equal_json(ours, theirs) or compact(normal_value(ours)) == compact(normal_value(theirs))


def normal_value(value: Any, depth: int = 0) -> Any:
    """Return an argument in a normal form: sorted keys, small letters of one width, one space, whole numbers as such.

    For example, " Oslo" and "oslo", 2.0 and 2 are equal in it. Nested values below a depth of 20 stay as they are.
    """
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth < _DEEPEST and isinstance(value, dict):
        return {key: normal_value(value[key], depth + 1) for key in sorted(value)}
    if depth < _DEEPEST and isinstance(value, list):
        return [normal_value(item, depth + 1) for item in value]
    return value


def _match(
    conversation: Conversation, calls: Sequence[ToolCall], places: Sequence[int], equal: Equal
) -> tuple[list[Pair], list[int], list[int]]:
    """Pair equal calls, in their order as far as possible. Return the pairs, and what is left of both sides."""
    free = list(places)
    pairs: list[Pair] = []
    rest: list[int] = []
    latest = -1
    for number, theirs in enumerate(calls):
        alike = [place for place in free if _is_equal(conversation.call_at(place), theirs, equal)]
        place = next((place for place in alike if place > latest), alike[0] if alike else None)
        if place is None:
            rest.append(number)
            continue
        free.remove(place)
        pairs.append(Pair(number, place))
        latest = max(latest, place)
    return pairs, rest, free


def _is_equal(ours: ToolCall, theirs: ToolCall, equal: Equal) -> bool:
    return ours.name == theirs.name and (bool(ours.withheld) or equal(ours.args, theirs.args))


def _pair_changed(
    conversation: Conversation, calls: Sequence[ToolCall], left: tuple[list[int], list[int]], equal: Equal
) -> tuple[list[CallDifference], list[int], list[int]]:
    """Pair calls of one tool whose arguments differ: those that share most arguments first.

    Calls that share no argument are one changed call only if each side has one call of that tool.
    """
    theirs_left, ours_left = left
    candidates: list[tuple[int, int, int]] = []
    for number in theirs_left:
        own = [place for place in ours_left if conversation.call_at(place).name == calls[number].name]
        rivals = [candidate for candidate in theirs_left if calls[candidate].name == calls[number].name]
        for place in own:
            shared = _count_shared(conversation.call_at(place), calls[number], equal)
            if shared or (len(own) == 1 and len(rivals) == 1):
                candidates.append((-shared, place, number))
    findings: list[CallDifference] = []
    for _, place, number in sorted(candidates):
        if place in ours_left and number in theirs_left:
            ours_left = [candidate for candidate in ours_left if candidate != place]
            theirs_left = [candidate for candidate in theirs_left if candidate != number]
            actual = conversation.call_at(place)
            fields = _list_differing(actual, calls[number], equal)
            findings.append(CallDifference("changed", place, calls[number], actual, fields))
    return findings, theirs_left, ours_left


def _count_shared(ours: ToolCall, theirs: ToolCall, equal: Equal) -> int:
    return sum(name in ours.args and equal(ours.args[name], value) for name, value in theirs.args.items())


def _list_differing(ours: ToolCall, theirs: ToolCall, equal: Equal) -> tuple[str, ...]:
    names = sorted({*ours.args, *theirs.args})
    return tuple(
        name
        for name in names
        if name not in ours.args or name not in theirs.args or not equal(ours.args[name], theirs.args[name])
    )


# Places


def _place_of_missing(
    conversation: Conversation,
    number: int,
    expected: Sequence[ToolCall],
    pairs: Iterable[Pair],
    invocation: int | None,
    reads: Reads,
) -> int | None:
    """Return where the agent went on without an expected call: at the first call that should have come after it.

    Without such a call, it is the reply of the invocation, or the last message of the agent.
    """
    is_reading = reads(expected[number].name)
    later = [
        pair.place
        for pair in pairs
        if pair.expected > number and (is_reading or not reads(expected[pair.expected].name))
    ]
    if later:
        return min(later)
    at = conversation.last_reply(invocation)
    if at is None and invocation is not None:
        at = conversation.find_end(invocation)
    if at is None:
        at = conversation.last_reply()
    return len(conversation.events) - 1 if at is None and conversation.events else at


def _first_moved(
    conversation: Conversation, pairs: Iterable[Pair], expected: Sequence[ToolCall]
) -> list[CallDifference]:
    """Return the first call that came before one that should have come earlier."""
    ordered = sorted(pairs, key=lambda pair: pair.place)
    for index, pair in enumerate(ordered):
        skipped = [candidate.expected for candidate in ordered[index + 1 :] if candidate.expected < pair.expected]
        if skipped:
            actual = conversation.call_at(pair.place)
            before = expected[min(skipped)].name
            return [CallDifference("moved", pair.place, expected[pair.expected], actual, before=before)]
    return []


def shown_fields(fields: Sequence[str]) -> str:
    """Return the names of arguments in a line, at most three."""
    more = ", …" if len(fields) > _MOST_FIELDS else ""
    return ", ".join(fields[:_MOST_FIELDS]) + more
