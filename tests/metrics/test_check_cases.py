"""The questions with known answers: enough of them, in four languages, and each of them can be asked."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import pytest

from fairtrial.judge.judge import Judge
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS as PROMPTS
from fairtrial.metrics.exams.known_questions import check_cases, check_question
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.text.language import detect_language

NOBODY = Judge(())
RULES = ("units", "prohibition", "partial", "refusal", "contradiction", "other_language")


@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_table_has_at_least_twenty_questions_in_four_languages(prompt: str) -> None:
    """At least four of each language, and no question twice."""
    cases = check_cases(prompt)
    assert len(cases) >= 20
    languages = Counter(case.language for case in cases)
    assert set(languages) == {"en", "ko", "ja", "zh"}
    assert min(languages.values()) >= 4
    assert len({check_question(NOBODY, case).question.prompt.text for case in cases}) == len(cases)


@pytest.mark.parametrize("prompt", [*PROMPTS, "ping"])
def test_every_question_can_be_asked_and_its_answer_given(prompt: str) -> None:
    """The right answer is one of the answers, and the item is one of the items."""
    for case in check_cases(prompt):
        asked = check_question(NOBODY, case)
        assert case.answer in asked.question.answers, case.id
        assert asked.item in asked.question.items, case.id
        assert len(asked.question.items) == 1 or case.prompt == "conversation", case.id


@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_table_has_right_answers_of_both_kinds(prompt: str) -> None:
    """So that a judge that always says the same is found out: at least a third each."""
    outcomes = Counter(check_question(NOBODY, case).right_outcome(case.answer) for case in check_cases(prompt))
    assert min(outcomes[HOLDS], outcomes[FAILS]) >= len(check_cases(prompt)) / 3


def test_the_tables_cover_the_rules() -> None:
    """Units, prohibitions, partial answers, refusals, contradictions and other languages, in several tables each."""
    tables = Counter(rule for prompt in PROMPTS for rule in {case.rule for case in check_cases(prompt)})
    assert all(tables[rule] >= 3 for rule in RULES), tables


def test_the_text_of_a_question_is_in_the_language_that_it_states() -> None:
    """Except where the language is what the question is about."""
    for prompt in (*PROMPTS, "ping"):
        for case in check_cases(prompt):
            if case.rule != "other_language":
                spoken = " ".join(text for turn in case.turns for text in turn if isinstance(text, str))
                assert detect_language(spoken) == case.language, case.id


def test_the_questions_of_ping_are_three_in_each_language() -> None:
    """Twelve."""
    assert Counter(case.language for case in check_cases("ping")) == dict.fromkeys(("en", "ko", "ja", "zh"), 3)


@pytest.mark.parametrize("prompt", WRITING_PROMPTS)
def test_the_tables_of_prompts_that_write_are_as_large(prompt: str) -> None:
    """At least twenty tasks, at least four in each language, and no task twice."""
    cases = writing_cases(prompt)
    languages = Counter(case.language for case in cases)
    assert len(cases) >= 20
    assert min(languages[language] for language in ("en", "ko", "ja", "zh")) >= 4
    assert len(set(map(repr, cases))) == len(cases)


def test_every_template_has_a_table() -> None:
    """Of judges, simulated users and tools, and scenarios; templates of users and of attackers have no right answer."""
    templates = {
        path.name.removesuffix(".jinja")
        for package in ("metrics", "simulate")
        for path in (resources.files(f"fairtrial.{package}") / "templates").iterdir()
        if path.is_file() and path.read_text(encoding="utf-8").startswith("{#- version")
    }
    assert templates - {"prompt_template", "adapted_attack"} == {*PROMPTS, *WRITING_PROMPTS}


def test_the_known_cut_is_a_cut_of_the_text() -> None:
    """Joined together, the sentences are the text again."""
    for case in writing_cases("segments"):
        assert "".join("".join(case.sentences).split()) == "".join(case.text.split())
