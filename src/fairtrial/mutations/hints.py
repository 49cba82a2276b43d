"""Hints for surviving mutants: how an eval set could detect them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.records.mutation import Mutation

_TURNS = ("turn_lost", "stopped_early", "turns_swapped")
_TRAJECTORY = "tool_trajectory_avg_score"
_WORDS_ONLY = "response_match_score counts common words. Add facts_match_v1, or final_response_match_v2 with a judge."
_NO_WORDS = (
    "No criterion compares the reply with a reference. Add facts_match_v1, or final_response_match_v2 with a judge."
)
_FACTS_ONLY = (
    "facts_match_v1 compares numbers, dates, codes, negations and promises, and no claim without them. Add "
    "final_response_match_v2 with a judge."
)
_SYMBOLS = "response_match_score does not count symbols such as $ and €. Add facts_match_v1."
_UNJUDGED = {"facts_match_v1": _FACTS_ONLY, "response_match_score": _WORDS_ONLY}
_DEGRADED = (
    "tool_removed",
    "tool_fails",
    "results_stale",
    "results_truncated",
    "results_wrong",
    "documents_dropped",
    "documents_exchanged",
)
_UNGROUNDED = ("document_dropped", "document_swapped", "document_corrupted")
_BEHAVIOUR = (
    "The agent behaved otherwise, and the criteria accept it. If the reply is wrong, raise a threshold, or add a "
    "criterion that compares it with the results of tools, such as hallucinations_v1."
)
_JUDGE = "The judge did not notice it. Try a stronger judge_model, or a rubric that names the fact."

_ALWAYS = {
    **dict.fromkeys(_DEGRADED, _BEHAVIOUR),
    **dict.fromkeys(
        _UNGROUNDED, "The reply rests on no result any more. Raise the threshold of the criterion on grounding."
    ),
    "result_wrong": "The reply agrees with the result of a tool. Only a criterion that compares it with the reference, "
    "such as facts_match_v1, can notice a wrong result.",
    "leaked": "The criterion on privacy did not notice it. Name the kind of data in a rubric.",
}
"""The hints that depend on the operator alone."""


def hint(mutation: Mutation, criteria: Collection[str], *, judged: bool, averaged: bool) -> str:
    """Return a proposal for a mutant that survived these criteria, or an empty text.

    `averaged` says whether a score moved that is a mean over several invocations.
    """
    operator = mutation.operator
    if operator in _ALWAYS:
        return _ALWAYS[operator]
    if operator in _TURNS or (averaged and mutation.family != "facts"):
        return (
            "The mean over the invocations stays above the threshold. Raise the threshold, or use a custom metric that "
            "returns the worst invocation."
        )
    if mutation.family == "calls":
        if _TRAJECTORY not in criteria:
            return "No criterion compares calls. Add tool_trajectory_avg_score."
        return "The options of tool_trajectory_avg_score allow it, for example match_type or ignore_args."
    if judged:
        return _JUDGE
    words = next((words for name, words in _UNJUDGED.items() if name in criteria), _NO_WORDS)
    return _SYMBOLS if operator == "unit_changed" and words == _WORDS_ONLY else words
