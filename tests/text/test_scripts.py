"""The ranges of scripts are those of the library regex, and scoring without its expressions does not load it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import regex

from fairtrial.text.language import HAN, HANGUL, KANA, LATIN

EVERYTHING = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
SCORE = """
import sys
import fairtrial
from fairtrial import Case
run = fairtrial.evaluate([Case("서울 날씨?", expected="맑음", calls=[])], lambda conversation: "맑음")
assert run.verdict == "passed", run.verdict
assert "regex" not in sys.modules
"""


@pytest.mark.parametrize(
    ("ranges", "property_class"),
    [
        (LATIN, r"\p{Latin}"),
        (HANGUL, r"\p{Hangul}"),
        (KANA, r"[\p{Hiragana}\p{Katakana}]"),
        (HAN, r"\p{Han}"),
    ],
    ids=["Latin", "Hangul", "kana", "Han"],
)
def test_the_ranges_hold_the_characters_of_the_script(ranges: str, property_class: str) -> None:
    """Over all of Unicode; versions of the library may differ in a few characters that are new."""
    ours, theirs = set(re.findall(f"[{ranges}]", EVERYTHING)), set(regex.findall(property_class, EVERYTHING))
    newest = {char for char in ours ^ theirs if ord(char) > 0x20000 or not char.isalpha()}
    assert ours ^ theirs == newest
    assert len(newest) < 0.1 * len(theirs)


@pytest.mark.long
def test_a_run_with_the_default_criteria_does_not_load_the_library() -> None:
    """Python in a browser does not have it."""
    subprocess.run([sys.executable, "-c", SCORE], check=True, timeout=60)
