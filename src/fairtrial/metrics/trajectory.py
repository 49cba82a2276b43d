"""The criterion `tool_trajectory_avg_score`, which compares tool calls and arguments with the expected calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.option import Prepared
from fairtrial.config.reader import ReadWith, check_options
from fairtrial.metrics.aligned_calls import CallLists, ToolRules, aligned_calls
from fairtrial.metrics.alignment import align, align_in_any_order, difference, show
from fairtrial.metrics.argument_matching import CallMatcher, assignment, read_rules
from fairtrial.metrics.expectations import conflicting_counts, forbidden_tools, undeclared_tools
from fairtrial.metrics.pairing import compare_each, missing_calls, rest_elsewhere, unknown_calls
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import PartKey, Score, explain_later

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, ToolCall, Trace

MatchType = Literal["EXACT", "IN_ORDER", "ANY_ORDER"]
_NOTHING_EXPECTED = "no expected calls"
_MATCH_TYPES: tuple[MatchType, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER")


def _match_type(raw: Any) -> Any:
    """ADK reads a match type in any case, with spaces or hyphens, and writes the numbers 0, 1, 2."""
    if isinstance(raw, str):
        return raw.strip().upper().replace("-", "_").replace(" ", "_")
    if isinstance(raw, int | float) and not isinstance(raw, bool) and raw in range(len(_MATCH_TYPES)):
        return _MATCH_TYPES[int(raw)]
    return raw


@dataclass(frozen=True, slots=True)
class ToolTrajectory:
    """`tool_trajectory_avg_score`: 1 if the calls match, else 0 or partial credit. A case is the mean."""

    match_type: Annotated[
        MatchType,
        Prepared(_match_type),
        Meta(
            description="`EXACT`: the same calls in the same order. `IN_ORDER`: the expected calls in order, with "
            "others between them. `ANY_ORDER`: the expected calls in any order, with others besides them"
        ),
    ] = "EXACT"
    ignore_args: Annotated[bool, Meta(description="compare the names of the tools only")] = False
    scope: Annotated[
        Literal["invocation", "conversation"],
        Meta(description="what is compared at once. `conversation` takes `expected_tool_uses` of the case, if set"),
    ] = "invocation"
    match: Annotated[
        Mapping[str, Any] | None,
        ReadWith(read_rules),
        Meta(
            description="how arguments are compared, by tool and argument (`*` is any): `exact`, `ignore`, `subset`, "
            '`superset`, `case_insensitive`, `{"tolerance": 0.1}`, `{"regex": "..."}`, '
            '`{"function": "package.module.function"}`'
        ),
    ] = None
    optional_tools: Annotated[tuple[str, ...], Meta(description="tools whose calls are not compared")] = ()
    forbidden_tools: Annotated[tuple[str, ...], Meta(description="tools that make the score 0 if they are called")] = ()
    partial: Annotated[
        Literal["f1", "edit"] | None,
        Meta(description="partial credit: `f1` of the matched calls, or 1 - `edit` distance / longer length"),
    ] = None
    _matcher: CallMatcher = field(init=False, repr=False, compare=False)
    _strict_matcher: CallMatcher = field(init=False, repr=False, compare=False)
    _tools: ToolRules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        for name, withheld_match in (("_matcher", True), ("_strict_matcher", False)):
            matcher = CallMatcher(self.match or {}, ignore_args=self.ignore_args, withheld_match=withheld_match)
            object.__setattr__(self, name, matcher)
        object.__setattr__(self, "_tools", ToolRules(self.optional_tools, self.forbidden_tools))

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation, or the whole conversation, against the expected calls.

        Forbidden tools are forbidden to agents inside tools, too. If calls may be missing in the recording, nobody
        knows whether a forbidden tool was called. Calls in a surplus invocation count against the agent if they are
        forbidden, or if the match type does not allow surplus calls. If the calls of an invocation are not recorded, it
        is unscored. If the arguments of a call are not recorded, the invocation is unscored, unless its
        score is the same for all arguments. If the recording does not show where a turn begins, the conversation is
        compared as a whole.
        """
        score = self._score_trace(trace, case)
        reason = missing_calls(trace) if self.forbidden_tools and score.value else ""
        return Score(None, reason, side="infrastructure") if reason else score

    def _score_trace(self, trace: Trace, case: EvalCase) -> Score:
        if self.scope == "conversation" or (trace.turns_unknown and case.conversation):
            return self._conversation(trace, case)
        compare = partial(self._compare_incomplete, rest_elsewhere(trace)) if trace.incomplete else self._compare
        return compare_each(trace, case, compare, excluded=_no_expected_calls, surplus=self._surplus)

    def expected(self, case: EvalCase) -> tuple[ToolCall, ...] | None:
        """Return all calls that are expected in a case, in order, or None if the case does not say."""
        if self.scope == "conversation" and case.expected_calls is not None:
            return case.expected_calls
        invocations = [invocation for invocation in case.conversation or () if invocation.steps is not None]
        return tuple(call for invocation in invocations for call in invocation.tool_calls) if invocations else None

    def same_call(self, actual: ToolCall, expected: ToolCall) -> bool:
        """Return whether two calls are the same call under the options of this criterion."""
        return self._matcher(actual, expected)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:
        """Return why no agent could make the calls that a case expects."""
        if self.scope == "invocation" and not self.forbidden_tools and not trace.agents:
            return ()  # nothing could contradict the case
        calls = self.expected(case) or ()
        called = [call.name for call in calls if call.name not in self.optional_tools]
        names = dict.fromkeys(called)
        counts = conflicting_counts(Counter(called), case) if self.scope == "conversation" else ()
        return (*undeclared_tools(names, trace), *forbidden_tools(names, self.forbidden_tools), *counts)

    def _compare(self, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        if actual.steps is None:
            return Score(None, unknown_calls((actual,)), side="infrastructure", key=key)
        return self._score(actual.tool_calls, expected.tool_calls, key, (actual,))

    def _compare_incomplete(self, reason: str, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        """Compare an invocation of which calls may be missing."""
        score = self._compare(actual, expected, key)
        return self._unless_missing(score, reason, actual.tool_calls, expected.tool_calls, incomplete=True)

    def _unless_missing(
        self,
        score: Score,
        reason: str,
        actual: Sequence[ToolCall],
        expected: Sequence[ToolCall],
        *,
        incomplete: bool,
    ) -> Score:
        """Return a score, or no score if the calls that may be missing could change it.

        They explain a low value if each call that is there may be an expected call. If the recording is `incomplete`,
        they could also lower a full score that a surplus call lowers.
        """
        if not reason or score.value is None:
            return score
        if score.value == 1:
            could_change = incomplete and bool(self.match_type == "EXACT" or self.partial)
        else:
            could_change = self._are_among(actual, expected)
        return Score(None, reason, side="infrastructure", key=score.key) if could_change else score

    def _surplus(self, actual: Invocation, key: PartKey) -> Score | None:
        """Return the score of an invocation that is not expected, or None if its calls do not count."""
        score = self._score(actual.tool_calls, (), key, (actual,))
        return None if score.value == 1 else score

    def _conversation(self, trace: Trace, case: EvalCase) -> Score:
        expected = self.expected(case)
        if expected is None:
            return Score(applicable=False, reason=_NOTHING_EXPECTED)
        if trace.broken:
            return Score(None, f"the conversation broke: {trace.broken}")
        actual = [call for invocation in trace.invocations for call in invocation.tool_calls]
        score = self._score(actual, expected, None, trace.invocations)
        unknown = unknown_calls(trace.invocations)
        if unknown and score.value == 1:
            return Score(None, unknown, side="infrastructure")
        reason = rest_elsewhere(trace) or unknown
        return self._unless_missing(score, reason, actual, expected, incomplete=bool(trace.incomplete))

    def _are_among(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> bool:
        """Return whether each call may be an expected one, so that only calls are missing."""
        return all(any(self._matcher(ours, theirs) for theirs in expected) for ours in actual)

    def _score(
        self,
        actual: Sequence[ToolCall],
        expected: Sequence[ToolCall],
        key: PartKey | None,
        invocations: Sequence[Invocation],
    ) -> Score:
        if not (self.forbidden_tools or self.optional_tools) and self._matcher.are_recorded_pairs(actual, expected):
            return Score(1.0, key=key)
        forbidden = self._forbidden(actual, invocations) if self.forbidden_tools else []
        calls = CallLists(actual, expected)
        if self.optional_tools:
            actual = [call for call in actual if call.name not in self.optional_tools]
            expected = [call for call in expected if call.name not in self.optional_tools]
        withheld = [call for call in actual if call.withheld]
        is_zero = forbidden or (not withheld and self._rules_out(actual, expected))
        value = 0.0 if is_zero else self._value(actual, expected, self._matcher)
        if value and withheld and self._value(actual, expected, self._strict_matcher) != value:
            return Score(None, not_recorded(withheld[0], "args"), side="infrastructure", key=key)
        if value == 1 and not self.optional_tools and self._matcher.in_pairs(actual, expected):
            return Score(1.0, key=key)  # an alignment would say nothing
        explain = partial(self._explain, value, calls, CallLists(actual, expected), key, forbidden)
        # A function of the user may raise, or decide otherwise later.
        return explain_later(value, key, explain) if self._matcher.by_equality else explain()

    def _explain(
        self, value: float, calls: CallLists, compared: CallLists, key: PartKey | None, forbidden: Sequence[str]
    ) -> Score:
        """Return the score with the alignment of both lists, of which calls of optional tools are not `compared`."""
        actual, expected = compared
        prefix = self._matcher.common_prefix(actual, expected)
        places: list[int] | None = None
        if self.match_type == "ANY_ORDER":
            partners = assignment(actual, expected, self._matcher, prefix=prefix)
            rows, places = align_in_any_order(actual, expected, partners, self._matcher)
        else:
            rows = align(actual, expected, self._matcher, surplus_is_fault=self.match_type == "EXACT", start=prefix)
        aligned = aligned_calls(rows, calls, self._matcher, self._tools, places)
        if value == 1:
            return Score(1.0, key=key, calls=aligned)
        reason = f"forbidden tool called: {', '.join(sorted(set(forbidden)))}" if forbidden else difference(rows)
        lines, quotes = show(rows)
        return Score(value, f"{reason}\n{lines}", quotes=quotes, key=key, calls=aligned)

    def _forbidden(self, actual: Sequence[ToolCall], invocations: Sequence[Invocation]) -> list[str]:
        """Return the forbidden tools that were called, also by agents that answered as tools."""
        inner = [call for invocation in invocations for call in invocation.inner_tool_calls]
        return [call.name for call in (*actual, *inner) if call.name in self.forbidden_tools]

    def _rules_out(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> bool:
        """Return whether two lists of recorded calls do not match even if true counts as 1, so that the value is 0.

        Python compares whole lists of values in less time than `CallMatcher` compares two calls.
        """
        if self.partial or self.ignore_args or not self._matcher.by_equality:
            return False
        ours, theirs = ([(call.name, call.args) for call in calls] for calls in (actual, expected))
        if self.match_type == "EXACT":
            return ours != theirs
        if self.match_type == "IN_ORDER":
            rest = iter(ours)
            return not all(call in rest for call in theirs)
        try:
            for call in theirs:
                ours.remove(call)
        except ValueError:
            return True
        return False

    def _value(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> float:
        """Return the value of two lists of calls. If `match` pairs them by position, every match type gives 1."""
        if self.match_type == "EXACT" and self.partial is None:
            return float(match.in_pairs(actual, expected))
        prefix = match.common_prefix(actual, expected)
        if len(actual) == len(expected) == prefix:
            return 1.0
        if self.partial == "edit":
            return 1 - _edits(actual, expected, match) / max(len(actual), len(expected))
        if self.match_type == "ANY_ORDER":
            partners = assignment(actual, expected, match, prefix=prefix)
            paired = len(partners) - partners.count(-1)
            return 2 * paired / (len(actual) + len(expected)) if self.partial else float(paired == len(expected))
        if self.partial == "f1":
            return 2 * _common(actual, expected, match) / (len(actual) + len(expected))
        rest = iter(actual[prefix:])
        return float(all(any(match(ours, theirs) for ours in rest) for theirs in expected[prefix:]))


def _no_expected_calls(expected: Invocation) -> str:
    """Return why the calls of an invocation cannot be compared, or an empty text."""
    return _NOTHING_EXPECTED if expected.steps is None else ""


def _common(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> int:
    row = [0] * (len(expected) + 1)
    for ours in actual:
        previous = row
        row = [0]
        for j, theirs in enumerate(expected):
            row.append(previous[j] + 1 if match(ours, theirs) else max(previous[j + 1], row[j]))
    return row[-1]


def _edits(actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher) -> int:
    """Return how many insertions, deletions and replacements turn one list into the other (Levenshtein 1966)."""
    row = list(range(len(expected) + 1))
    for i, ours in enumerate(actual, 1):
        previous, row = row, [i]
        for j, theirs in enumerate(expected):
            row.append(min(previous[j] + (not match(ours, theirs)), previous[j + 1] + 1, row[j] + 1))
    return row[-1]
