"""Regular expressions of users on hostile texts."""

from __future__ import annotations

import unicodedata

import pytest

from fairtrial.text import user_patterns
from fairtrial.text.user_patterns import UserPattern


def test_a_match_has_its_place() -> None:
    """The place is the first match, from 0."""
    assert UserPattern(r"A-\d+").search("order A-17, A-18") == (6, 10)


def test_a_search_without_a_match_finds_nothing() -> None:
    """A full match must be the whole text."""
    pattern = UserPattern(r"\d+")
    assert pattern.search("none") is None
    assert pattern.fullmatch("17 ") is None
    assert pattern.fullmatch("17") == (0, 2)


@pytest.mark.parametrize("pattern", ["(", "(?P<n>a)(?P<n", "*", "(" * 5000])
def test_a_text_that_is_no_expression_is_refused(pattern: str) -> None:
    """The message says where it breaks."""
    with pytest.raises(ValueError, match="must be a regular expression"):
        UserPattern(pattern)


@pytest.mark.parametrize("pattern", ["a{100000000}", "(?:a{9999}){9999}", "(?:[(]{99}(?:x{99}){99}){99}"])
def test_an_expression_that_repeats_without_measure_is_refused(pattern: str) -> None:
    """The library would write each repetition out, which takes gigabytes."""
    with pytest.raises(ValueError, match="must repeat at most 100,000 characters"):
        UserPattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["a{0,99999}", "(?:x{1,9999}y){1,9999}", "[a-z{9999999}]", r"\{9999999\}", "x{3}-[]{]{4}"]
)
def test_an_expression_that_may_repeat_often_is_compiled(pattern: str) -> None:
    """Only what it repeats at least is written out, and a brace may be a letter."""
    UserPattern(pattern)


@pytest.mark.long
def test_a_long_list_of_names_repeats_nothing() -> None:
    """An expression that a program writes may be as long as its list, and be repeated once."""
    names = [f"{number:040}" for number in range(3000)]
    assert UserPattern(f"(?:{'|'.join(names)}){{1}}").search(f"order {names[-1]}") == (6, 46)


def test_a_long_list_that_is_repeated_is_refused() -> None:
    """Each name of the list is written out again."""
    with pytest.raises(ValueError, match="must repeat at most 100,000 characters"):
        UserPattern(f"(?:{'|'.join(f'{number:09}' for number in range(300))}){{99}}")


@pytest.mark.parametrize(("pattern", "text"), [("paris", "PARIS"), ("ＰＡＲＩＳ", "paris"), (r"ﾌﾟﾗﾝ\d", "プラン1")])
def test_case_and_width_of_letters_are_ignored_on_request(pattern: str, text: str) -> None:
    """The text is compared in its usual width, as the caller gives it."""
    assert UserPattern(pattern, ignore_case=True).search(unicodedata.normalize("NFKC", text)) is not None


def test_signs_of_full_width_do_not_become_syntax() -> None:
    """A full-width bracket would otherwise open a group."""
    UserPattern("（注", ignore_case=True)


def test_an_expression_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After three texts it is not tried again, so that a long data set cannot wait for it a second a text."""
    monkeypatch.setattr(user_patterns, "SECONDS", 0.01)
    pattern = UserPattern(r"(a|aa)+$")
    for _ in range(3):
        with pytest.raises(TimeoutError, match="took longer than"):
            pattern.search("a" * 5000 + "!")
    with pytest.raises(TimeoutError, match="not tried again"):
        pattern.search("a")
