"""Lines of a terminal end where a reader of the language ends them."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fairtrial.reports.terminal_text import Paragraph, plain_text

JAPANESE = "ケース3件の試行6回では、合格率は 6 % から 99 % の間のどこでもありえます。その頻度は示しません。"
CHINESE = (
    "只有 3 个用例的 6 次尝试，通过率可能是 6 % 到 99 % 之间的任何值：这说明智能体能够通过，但说明不了频率有多高。"
)
KOREAN = "케이스 3개의 시도 6회 기준으로 통과율의 가능한 범위는 6 %부터 99 %까지입니다."
ENGLISH = "With 12 attempts at 3 cases, the pass rate can be anywhere from 6 to 99 %: this shows little."
WIDTHS = range(20, 100)


def lines(text: str, width: int) -> list[str]:
    """The lines of a paragraph on a terminal."""
    return plain_text(Group(Paragraph(text)), width).split("\n")


@pytest.mark.parametrize("text", [JAPANESE, CHINESE], ids=["ja", "zh"])
def test_a_line_of_signs_is_filled(text: str) -> None:
    """The next sign would not fit, nor would a sign with those that must not be parted from it: at most 12 cells."""
    for width in WIDTHS:
        *full, _ = lines(text, width)
        assert all(width - 12 < cell_len(line) <= width for line in full), width


@pytest.mark.parametrize("text", [JAPANESE, CHINESE, KOREAN, ENGLISH], ids=["ja", "zh", "ko", "en"])
def test_a_number_keeps_its_percent_sign(text: str) -> None:
    """And no line begins with a sign that ends a phrase."""
    for width in WIDTHS:
        for line in lines(text, width):
            assert not re.match(r"[ %、。，：；）]", line), (width, line)


@pytest.mark.parametrize("text", [KOREAN, ENGLISH], ids=["ko", "en"])
def test_words_stay_whole(text: str) -> None:
    """Korean and English break at spaces only."""
    for width in WIDTHS:
        assert " ".join(lines(text, width)) == text


SIGNS = st.one_of(
    st.sampled_from("ab 9%。、（例案かーハングル한 \n"),
    st.sampled_from(["⚠️", "✔️", "❤️", "❤\u0301️", "👩‍❤️‍👨", "〰️", "\ufe0f"]),
)


@given(st.lists(SIGNS, max_size=120).map("".join), st.integers(2, 40))
@example("⚠️" * 60, 20)
def test_nothing_is_lost(text: str, width: int) -> None:
    """Only spaces go, at the ends of lines, and no line is too wide."""
    shown = plain_text(Group(Paragraph(text)), width)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert all(cell_len(line) <= width for line in shown.split("\n"))


@given(st.text(st.sampled_from("ab cde-,"), max_size=120), st.integers(8, 40))
def test_plain_english_breaks_as_rich_breaks_it(text: str, width: int) -> None:
    """The words of the package that every other text of the terminal goes through."""
    assert [line.rstrip() for line in lines(text, width)] == plain_text(Text(text), width).split("\n")
