"""Properties of verdicts, for every tree of scores."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import Range, Score, average_parts, bounds, has_value

unit = st.floats(0, 1)
leaves = unit.map(Score) | st.just(Score(None, "?")) | st.just(Score(applicable=False))
trees = st.recursive(leaves, lambda inner: st.lists(inner, min_size=1, max_size=4).map(average_parts), max_leaves=12)


def scored(score: Score, data: st.DataObject, share: st.SearchStrategy[bool]) -> Score:
    """The same score with some of its unscored leaves scored."""
    if not score.applicable:
        return score
    if score.parts:
        return average_parts([scored(part, data, share) for part in score.parts])
    return replace(score, value=data.draw(unit)) if score.value is None and data.draw(share) else score


@given(trees, unit, st.booleans(), st.data())
def test_a_verdict_never_flips_when_an_unscored_part_becomes_scored(
    score: Score, threshold: float, lower: bool, data: st.DataObject
) -> None:
    """Passed stays passed and failed stays failed, whatever the missing answers would have been."""
    before = Outcome("m", score, threshold, lower_is_better=lower).verdict
    after = Outcome("m", scored(score, data, st.booleans()), threshold, lower_is_better=lower).verdict
    assert before is after or before is Verdict.UNSCORED


@given(trees, unit, st.data())
def test_no_part_unscored_leaves_nothing_open(score: Score, threshold: float, data: st.DataObject) -> None:
    """Once every leaf is scored the verdict is one, and it is that of the value shown."""
    full = scored(score, data, st.just(True))
    verdict = Outcome("m", full, threshold).verdict
    assert verdict in {Verdict.PASSED, Verdict.FAILED, Verdict.NOT_APPLICABLE}
    if verdict is not Verdict.NOT_APPLICABLE:
        low, high = bounds(full, Range()) or (None, None)
        assert low == high == full.value


@given(trees)
def test_bounds_enclose_the_value_of_scored_leaves(score: Score) -> None:
    """The bounds lie within the range, in order."""
    ends = bounds(score, Range())
    assert (ends is None) == (not score.applicable)
    if ends is not None:
        assert 0 <= ends[0] <= ends[1] <= 1
        assert has_value(score) or ends == (0, 1)
