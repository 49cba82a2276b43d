"""The hint of a survivor names what would notice it, and not what did not happen."""

from __future__ import annotations

import pytest

from fairtrial.mutations.hints import hint
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.mutation import Mutation

CRITERIA = ("tool_trajectory_avg_score", "response_match_score")
MEAN = "The mean over the invocations stays above the threshold."


def planted(name: str) -> Mutation:
    """A mutant of an operator."""
    return Mutation(name, "harmful", 1, family=OPERATORS[name].family)


@pytest.mark.parametrize("name", ["negated", "denied", "promise_invented", "number_changed"])
@pytest.mark.parametrize("averaged", [True, False])
def test_a_wrong_fact_that_words_do_not_show_needs_facts(name: str, averaged: bool) -> None:
    """However many invocations a case has, another threshold on common words does not help."""
    assert "Add facts_match_v1" in hint(planted(name), CRITERIA, judged=False, averaged=averaged)


def test_a_call_that_moves_no_score_is_allowed_by_the_options() -> None:
    """The mean over the invocations hides nothing if no score moved."""
    allowed = hint(planted("call_repeated"), CRITERIA, judged=False, averaged=False)
    assert allowed == "The options of tool_trajectory_avg_score allow it, for example match_type or ignore_args."


@pytest.mark.parametrize("name", ["call_dropped", "refused", "turn_lost"])
def test_a_score_that_moves_in_one_of_several_invocations_is_lost_in_the_mean(name: str) -> None:
    """One wrong invocation of several."""
    assert hint(planted(name), CRITERIA, judged=False, averaged=True).startswith(MEAN)


def test_a_wrong_call_without_a_criterion_on_calls_needs_one() -> None:
    """For example, if only the replies are compared."""
    assert "Add tool_trajectory_avg_score" in hint(planted("call_added"), (), judged=False, averaged=False)
