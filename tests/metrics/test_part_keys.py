"""Every part of a score states its key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalogue import criterion, result
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.score import PartKey, Score, average_parts, invocation_key, scores_of_invocations

FIRST, SECOND = invocation_key(0), invocation_key(1)
QUESTIONS = {
    "multi_turn_task_success_v1": ["goal_reached"],
    "multi_turn_trajectory_quality_v1": ["on_course", "remembers", "recovers", "within_rules"],
    "user_consent_v1": ["call_1", "call_2"],
    "multi_turn_tool_use_quality_v1": [
        "right_tools",
        "right_arguments",
        "nothing_missing",
        "nothing_needless",
        "results_used",
    ],
}
RUBRICS = [PartKey("rubric", id="concise"), PartKey("rubric", id="polite")]


def keys(score: Score) -> list[PartKey | None]:
    """The keys of the parts of a score."""
    return [part.key for part in score.parts]


def scored(name: str, **options: object) -> Score:
    """The score that a criterion of the catalog gives."""
    return result(criterion(name, **options)).outcomes[0].score


def expected_keys(name: str) -> list[PartKey]:
    """The keys of the parts directly below the score of a criterion."""
    if name in QUESTIONS:
        return [PartKey("question", id=question) for question in QUESTIONS[name]]
    if name == "rubric_based_multi_turn_trajectory_quality_v1":
        return RUBRICS
    if name == "workspace_checks_v1":
        return [PartKey("check", id="check 1"), PartKey("check", id="check 2")]
    if name == "tool_rules_v1":
        return [PartKey("check", id="look"), PartKey("check", id="fly")]
    whole = ("trace_value_v1", "final_state_match_v1", "skill_trigger_v1", "attack_success_v1", "attack_reported_v1")
    return [] if name in whole else [FIRST, SECOND]


@pytest.mark.parametrize("name", CATALOG)
def test_every_part_of_every_criterion_has_its_key(name: str) -> None:
    """A part is about an invocation, a rubric or a question. The value of a trace and a final state have no parts."""
    assert keys(scored(name)) == expected_keys(name)


@pytest.mark.parametrize("name", ["rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1"])
def test_rubrics_of_an_invocation_have_their_ids(name: str) -> None:
    """The parts of an invocation are its rubrics."""
    assert [keys(part) for part in scored(name).parts] == [RUBRICS, RUBRICS]


def test_sentences_are_counted_in_their_text() -> None:
    """The first reply has two sentences, the second has one."""
    sentences = [PartKey("sentence", index) for index in range(2)]
    assert [keys(part) for part in scored("hallucinations_v1").parts] == [sentences, sentences[:1]]


def test_messages_are_counted_among_the_steps() -> None:
    """The message is the third step; the reply is no step and has an id."""
    first, _ = scored("hallucinations_v1", evaluate_intermediate_nl_responses=True).parts
    assert keys(first) == [PartKey("message", 2), PartKey("message", id="reply")]
    assert [part.title for part in first.parts] == ["interim message 3", "reply"]
    assert [keys(part)[0] for part in first.parts] == [PartKey("sentence", 0)] * 2


def test_the_name_of_a_part_is_its_label_or_its_key() -> None:
    """Reports count from 1, keys from 0."""
    assert [str(key) for key in (SECOND, RUBRICS[0], PartKey("sentence", 2))] == [
        "invocation 2",
        "concise",
        "sentence 3",
    ]
    assert Score(1.0, label="mine", key=SECOND).title == "mine"
    assert (Score(1.0, key=SECOND).title, Score(1.0).title) == ("invocation 2", "")


def nested() -> Iterator[Score]:
    """Two rubrics, each of which was judged in both invocations."""
    for rubric, values in zip(RUBRICS, ((1.0, 0.0), (1.0, 1.0)), strict=True):
        yield average_parts(
            (Score(value, key=key) for value, key in zip(values, (FIRST, SECOND), strict=True)), key=rubric
        )


def test_scores_of_invocations_are_found_at_any_depth() -> None:
    """If an invocation has several, their mean is its score."""
    found = scores_of_invocations(average_parts(nested()))
    assert {index: (score.value, score.key) for index, score in found.items()} == {0: (1.0, FIRST), 1: (0.5, SECOND)}
    assert scores_of_invocations(Score(1.0, parts=(Score(0.5), Score(1.0)))) == {}
