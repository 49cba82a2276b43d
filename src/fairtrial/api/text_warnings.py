"""Warnings about the texts that a plan compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.loading import LoadedSet

_ROUGE = "response_match_score"
_LANGUAGES = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese"}
_OPPOSITES = {
    "Korean": "환불할 수 없습니다 against 환불할 수 있습니다: 0.88",
    "Japanese": "この商品は返金できません against この商品は返金できます: 0.87",
    "Chinese": "这件商品不可以退款 against 这件商品可以退款: 0.94",
}
"""Two replies of opposite meaning, and their ROUGE, in each language."""
_NOT_ABOUT_REPLIES = frozenset(
    ("tool_trajectory_avg_score", "tool_call_count_v1", "inference_call_count_v1", "token_usage_v1")
) | {"invocation_duration_v1", "time_to_first_token_v1"}
_MOST_CASES = 200
"""The cases of an eval set whose language is looked at."""


def text_warnings(loaded_sets: Iterable[LoadedSet]) -> Iterator[str]:
    """Yield a warning for each eval set of Korean, Japanese or Chinese replies that ROUGE alone decides about.

    ROUGE counts equal words, and of these languages equal characters.
    """
    for loaded in loaded_sets:
        deciding = {criterion.name for criterion in loaded.criteria if criterion.threshold is not None}
        if deciding - _NOT_ABOUT_REPLIES != {_ROUGE}:
            continue
        replies = (
            invocation.reply for case in loaded.eval_set.cases[:_MOST_CASES] for invocation in case.conversation or ()
        )
        languages = dict.fromkeys(
            _LANGUAGES[language] for reply in replies if (language := detect_language(reply)) != "en"
        )
        if languages:
            yield (
                f"{loaded.eval_set.id}: only {_ROUGE} decides about replies in {' and '.join(languages)}; "
                "it counts equal words, so that a reply with the opposite meaning can pass "
                f"({_OPPOSITES[next(iter(languages))]}); add final_response_match_v2"
            )
