"""The criterion `final_state_match_v1`, which compares the session's final state with the expected state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.reader import OptionReader, ReadWith, check_options
from fairtrial.metrics.argument_matching import CallMatcher, read_rules
from fairtrial.records.score import Score
from fairtrial.records.trace import ToolCall, Trace
from fairtrial.text.display import compact, shorten

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase

_STATE = "state"
_SHOWN = 200


def _read_match(raw: Any, reader: OptionReader, pointer: str) -> Mapping[str, Any] | None:
    """Return the option `match` as it is. The keys of the state are checked like the arguments of a call."""
    if not isinstance(raw, Mapping):
        reader.note(pointer, "must be an object {KEY: MATCHER}")
        return None
    read_rules({_STATE: raw}, reader, pointer)
    return raw


@dataclass(frozen=True, slots=True)
class FinalStateMatch:
    """`final_state_match_v1`: 1 if the session ended in the expected state, else 0."""

    match: Annotated[
        Mapping[str, Any] | None,
        ReadWith(_read_match),
        Meta(
            description="how the values are compared, by key (`*` is any): the matchers of "
            "`tool_trajectory_avg_score`, for example `ignore` or `subset`"
        ),
    ] = None
    exact: Annotated[bool, Meta(description="the state holds no other keys than the expected keys")] = False
    _matcher: CallMatcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        # The state is compared like the arguments of one call, so that the matchers mean the same.
        matcher = CallMatcher({_STATE: dict(self.match)} if self.match else {}, ignore_args=False)
        object.__setattr__(self, "_matcher", matcher)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Compare the state at the end of the conversation with `final_session_state` of the case."""
        expected = case.final_session_state
        if expected is None:
            return Score(None, "the case has no final_session_state", applicable=False)
        if trace.final_state is None:
            return Score(None, "the recording does not hold the final state")
        state = trace.final_state
        actual = state if self.exact else {key: value for key, value in state.items() if key in expected}
        differing = self._matcher.differing(ToolCall(_STATE, actual), ToolCall(_STATE, expected))
        if not differing:
            return Score(1.0, "the state is as expected")
        return Score(0.0, "; ".join(_difference(key, actual, expected) for key in differing))


def _difference(key: str, actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    got = shorten(compact(actual[key]), _SHOWN) if key in actual else "nothing"
    wanted = shorten(compact(expected[key]), _SHOWN) if key in expected else "nothing"
    return f"{key}: expected {wanted}, got {got}"
