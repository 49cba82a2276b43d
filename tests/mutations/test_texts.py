"""Do the rules of each language change a sentence as a speaker would?"""

from __future__ import annotations

import pytest

from fairtrial.mutations.negation import NEGATE
from fairtrial.mutations.text_values import dates, numbers, other_day, other_number, replaced
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
    """The table holds at least 30 sentences for each language."""
    assert len(BY_LANGUAGE[language]) >= 30


@pytest.mark.parametrize(("sentence", "expected"), [row for rows in NUMBERS.values() for row in rows])
def test_a_number_keeps_its_form(sentence: str, expected: str | None) -> None:
    """The first number of a sentence gets another first digit. Dates, names and list markers are not numbers."""
    found = numbers(sentence)
    changed = None
    if found:
        start, end, _ = found[0]
        changed = replaced(sentence, start, end, other_number(sentence[start:end]))
    assert changed == expected


@pytest.mark.parametrize(("sentence", "expected"), [row for rows in DATES.values() for row in rows])
def test_a_date_moves_by_a_day_in_its_own_form(sentence: str, expected: str | None) -> None:
    """The first date of a sentence moves to the next day, or at the end of a month to the day before."""
    found = dates(sentence)
    changed = None
    if found:
        changed = replaced(sentence, found[0].start, found[0].end, other_day(sentence, found[0]))
    assert changed == expected
