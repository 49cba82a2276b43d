"""The score of a trace and what it is made of."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.errors import UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation.dimensions import PROFILES, find_weights, structure, total
from fairtrial.valuation.single import value
from reasonings import reasoning

TYPES = ["thought", "tool_call", "observation", "error_recovery"]


def _trace(raw: dict[str, Any]) -> ReasoningTrace:
    trace = knowledgepulse.build(raw)
    assert isinstance(trace, ReasoningTrace)
    return trace


def _steps(*types: str, tools: tuple[str | None, ...] = ()) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [{"step_id": i, "type": kind, "content": f"c{i}"} for i, kind in enumerate(types)]
    for step, tool in zip(steps, tools, strict=False):
        if tool:
            step["tool"] = {"name": tool}
    return steps


@pytest.mark.shared
def test_the_vectors_are_met_exactly(shared: Path) -> None:
    """Every valid vector agrees to 1e-12 in its four dimensions and its score, and in its overrides, in order."""
    vectors = json.loads((shared / "vectors" / "value.json").read_text(encoding="utf-8"))["valid"]
    assert len(vectors) > 200
    for one in vectors:
        found, expected = value(one["trace"], embedder=None), one["no_embedder"]
        for name, other in (("complexity",) * 2, ("novelty",) * 2, ("tool_diversity",) * 2, ("score",) * 2):
            assert math.isclose(getattr(found, name), expected[other], rel_tol=0, abs_tol=1e-12), one["tags"]
        assert math.isclose(found.outcome_confidence, expected["outcome"], rel_tol=0, abs_tol=1e-12)
        assert list(found.overrides) == expected["overrides"]


def test_the_documents_own_example() -> None:
    """PR #42 is worth 0.66875 with an empty cache, by the document's formulas: not the 0.72 printed beside it.

    C = 3/4 * 0.5 + 5/20 * 0.2 = 0.425; D = min(1, 2/5 * 3) = 1; O = 0.95; 0.25 C + 0.35 * 0.5 + 0.15 + 0.25 O.
    """
    steps = _steps("thought", "tool_call", "observation", "tool_call", "observation", tools=(None, "a", None, "b"))
    found = value(reasoning(steps=steps, outcome={"result_summary": "", "confidence": 0.95}), embedder=None)
    assert found.score == pytest.approx(0.66875, abs=1e-12)


def test_complexity_counts_types_recovery_and_length() -> None:
    """Four types of four and six steps: 0.5 + 0.3 + 6/20 * 0.2 = 0.86."""
    found = structure(_trace(reasoning(steps=_steps(*TYPES, "thought", "thought"))))
    assert found.complexity == pytest.approx(0.86, abs=1e-12)


def test_complexity_ends_at_one() -> None:
    """Forty steps of four types would give 1.2."""
    assert structure(_trace(reasoning(steps=_steps(*TYPES * 10)))).complexity == 1.0


def test_a_tool_counts_on_any_type_of_step_and_by_its_exact_name() -> None:
    """Grep and grep are two tools, on whatever steps: 2 / 12 * 3 = 0.5."""
    steps = _steps(*["observation"] * 12, tools=("Grep", "grep", "grep"))
    assert structure(_trace(reasoning(steps=steps))).tool_diversity == pytest.approx(0.5, abs=1e-12)


def test_failure_takes_most_of_the_confidence() -> None:
    """Without success the confidence of 0.8 counts 0.3 times: 0.24."""
    raw = reasoning()
    raw["metadata"]["success"] = False
    assert structure(_trace(raw)).outcome_confidence == pytest.approx(0.24, abs=1e-12)


def test_a_single_thought_is_worth_a_tenth() -> None:
    """One thought is 0.1, whatever else it has."""
    assert value(reasoning(steps=_steps("thought")), embedder=None).score == 0.1


def test_later_rules_apply_on_top_of_a_single_thought() -> None:
    """One thought with one tool: 0.1, then 0.1 less for few tools."""
    found = value(reasoning(steps=_steps("thought", tools=("t",))), embedder=None)
    assert (found.overrides, found.score) == (("single_thought", "few_tools"), 0.0)


@pytest.mark.parametrize(("recoveries", "success", "fires"), [(1, True, False), (2, True, True), (2, False, False)])
def test_two_recoveries_with_success_are_rewarded(recoveries: int, *, success: bool, fires: bool) -> None:
    """The bonus takes two recoveries, and success."""
    raw = reasoning(steps=_steps("thought", *["error_recovery"] * recoveries))
    raw["metadata"]["success"] = success
    assert ("recovered" in structure(_trace(raw)).overrides) is fires


def test_the_bonus_ends_at_one() -> None:
    """A full score with the bonus is 1."""
    steps = _steps(*TYPES * 5, tools=tuple(f"t{i}" for i in range(20)))
    parts = structure(_trace(reasoning(steps=steps, outcome={"result_summary": "", "confidence": 1.0})))
    assert total(parts, 1.0, PROFILES["default"]) == 1.0


@pytest.mark.parametrize("profile", PROFILES)
def test_the_weights_of_a_profile_add_up_to_one(profile: str) -> None:
    """A profile shifts weight; it does not make any."""
    weights = PROFILES[profile]
    assert sum(getattr(weights, name) for name in weights.__struct_fields__) == pytest.approx(1.0)


def test_a_profile_is_asked_for_and_never_guessed_from_the_domain() -> None:
    """A trace of the domain finance has the default weights until the profile finance is asked for."""
    raw = reasoning()
    raw["metadata"]["task_domain"] = "finance"
    plain, asked = value(raw, embedder=None), value(raw, embedder=None, profile="finance")
    assert (plain.profile, asked.profile) == ("default", "finance")
    expected = 0.20 * plain.complexity + 0.25 * 0.5 + 0.10 * plain.tool_diversity + 0.45 * plain.outcome_confidence
    assert asked.score == pytest.approx(expected, abs=1e-12)


def test_a_misspelt_profile_is_refused_with_the_nearest_name() -> None:
    """`finanse` is no profile; `finance` is."""
    with pytest.raises(UsageError, match="did you mean 'finance'"):
        find_weights("finanse")


ANY_STEP = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES), "step_id": st.integers(0, 99)},
    optional={"content": st.text(max_size=8), "tool": st.fixed_dictionaries({"name": st.sampled_from("abcde")})},
)
ANY_TRACE = st.builds(
    lambda steps, confidence, success: reasoning(
        steps=steps,
        outcome={"result_summary": "", "confidence": confidence},
        metadata=reasoning()["metadata"] | {"success": success},
    ),
    st.lists(ANY_STEP, min_size=1, max_size=30),
    st.floats(0, 1),
    st.booleans(),
)


@given(raw=ANY_TRACE, profile=st.sampled_from(sorted(PROFILES)))
def test_the_score_is_a_number_from_zero_to_one(raw: dict[str, Any], profile: str) -> None:
    """No valid trace has a score or a dimension outside 0..1, or one that is no number."""
    found = value(raw, embedder=None, profile=profile)
    for name in ("score", "complexity", "novelty", "tool_diversity", "outcome_confidence"):
        assert 0.0 <= getattr(found, name) <= 1.0


@given(raw=ANY_TRACE, key=st.text(min_size=1, max_size=6).map(lambda name: f"x-{name}"), extra=st.integers())
def test_an_unused_field_changes_nothing(raw: dict[str, Any], key: str, extra: int) -> None:
    """Keys that the schema does not know have no influence on the value."""
    steps = [step | {key: extra} for step in raw["steps"]]
    assert value(raw | {key: extra, "steps": steps}, embedder=None) == value(raw, embedder=None)
