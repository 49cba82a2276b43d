"""The rules of each language change a sentence as a speaker would."""

from __future__ import annotations

import pytest

from fairtrial.mutations.operator import Scene
from fairtrial.mutations.replies import NEGATE
from fairtrial.mutations.table import OPERATORS
from fairtrial.mutations.text_values import dates, numbers, other_day, other_month, other_number, replace_value
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message
from fairtrial.text.language import Language
from negation_texts import BY_LANGUAGE
from value_texts import DATES, NUMBERS


@pytest.mark.parametrize(
    ("language", "sentence", "expected"), [(key, *row) for key, rows in BY_LANGUAGE.items() for row in rows]
)
def test_a_sentence_is_negated_as_a_speaker_would(language: Language, sentence: str, expected: str | None) -> None:
    """A rule of the language negates or un-negates the sentence, or leaves it alone."""
    assert NEGATE[language](sentence) == expected


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_language_has_thirty_hard_sentences(language: str) -> None:
    """The tables of negations, numbers and dates hold at least 30 sentences for each language."""
    assert min(len(table[language]) for table in (BY_LANGUAGE, NUMBERS, DATES)) >= 30


@pytest.mark.parametrize(("sentence", "expected"), [row for rows in NUMBERS.values() for row in rows])
def test_a_number_keeps_its_form(sentence: str, expected: str | None) -> None:
    """The first number of a sentence gets another first digit. Dates, names and list markers are not numbers."""
    found = numbers(sentence)
    changed = None
    if found:
        start, end, _ = found[0]
        changed = replace_value(sentence, start, end, other_number(sentence[start:end]))
    assert changed == expected


@pytest.mark.parametrize(("sentence", "expected"), [row for rows in DATES.values() for row in rows])
def test_a_date_moves_by_a_day_in_its_own_form(sentence: str, expected: str | None) -> None:
    """The first date of a sentence moves to the next day, or at the end of a month to the day before."""
    found = dates(sentence)
    changed = None
    if found:
        changed = replace_value(sentence, found[0].start, found[0].end, other_day(sentence, found[0])[1])
    assert changed == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It starts on 2026-07-13.", "It starts on 2026-08-13."),
        ("It starts on 31/12/2026.", None),
        ("It starts on 12/30/2026.", "It starts on 11/30/2026."),
        ("It starts on July 13, 2026.", "It starts on August 13, 2026."),
        ("It starts on 13 JUL 2026.", "It starts on 13 AUG 2026."),
        ("It starts on May 5.", "It starts on June 5."),
        ("It starts on January 31.", None),
        ("７월 １３일에 만나요.", "８월 １３일에 만나요."),
        ("09月01日に会います。", "10月01日に会います。"),
        ("2026年9月3日见。", "2026年10月3日见。"),
    ],
)
def test_a_date_moves_by_a_month_in_its_own_form(sentence: str, expected: str | None) -> None:
    """The first date of a sentence moves to the next month. It stays if that month does not have the day."""
    (date,) = dates(sentence)
    moved = other_month(sentence, date)
    changed = None if moved is None else replace_value(sentence, date.month_start, date.month_end, moved[1])
    assert changed == expected


def test_the_seed_moves_a_date_by_a_day_or_by_a_month() -> None:
    """Both moves occur, each for some seeds."""
    conversation = (Invocation(Message("When?"), (), Message("It starts on 2026-07-13.")),)
    scene = Scene(EvalCase("one", conversation), conversation, 0)
    mutants = [OPERATORS["date_changed"].mutate(scene, str(seed)) for seed in range(9)]
    replies = {mutant[0].reply for mutant in mutants if mutant is not None}
    assert replies == {"It starts on 2026-07-14.", "It starts on 2026-08-13."}
