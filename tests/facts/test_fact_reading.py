"""Facts that are read from texts of four languages: their kind, their value and their place."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.facts.canonical import canonicalise
from fairtrial.text.facts.fact_reading import read_facts
from pumped_texts import start_patterns


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Twelve hundred and five", "1205"),
        ("two and a half hours", "2.5 hours"),
        ("an hour and a half", "1.5 hour"),
        ("half a million", "500000"),
        ("one hundred twenty-three thousand", "123000"),
        ("1.2k", "1200"),
        ("the twenty-first", "the 21st"),
        ("three point one four", "3.14"),
        ("this one, and one of them", "this one, and one of them"),
        ("３万５千円", "35000円"),
        ("1億500万", "105,000,000"),
        ("二〇二五年", "2025年"),
        ("三百二十", "320"),
        ("两万五", "25000"),
        ("三四天", "3~4天"),
        ("百分之二十", "20%"),
        ("打八折", "20%off"),
        ("一緒に", "一緒に"),
        ("十分好", "十分好"),
        ("만 오천 원", "15000 원"),
        ("2천5백 원", "2500 원"),
        ("스물다섯 살", "25 살"),
        ("1시간 반", "1.5시간"),
        ("네, 알겠습니다", "네, 알겠습니다"),
        ("**12** items", "12 items"),
        ("nil-two", "0-2"),
        ("thirty-love", "30-0"),
        ("we all won two-one", "we all won 2-1"),
        ("in 720p", "in 720p"),
        ("제2조에 따르면", "제2조에 따르면"),
        ("2조 원", "2,000,000,000,000 원"),
    ],
)
def test_numerals_become_digits(text: str, canonical: str) -> None:
    """Words that are numbers become digits. Words that only look like numbers stay."""
    assert canonicalise(text).text == canonical


@pytest.mark.parametrize(
    ("text", "kind", "dimension", "value"),
    [
        ("It costs $1,299.50.", "amount", "currency:USD", 1299.5),
        ("가격은 3만 5천 원입니다.", "amount", "currency:KRW", 35000),
        ("送料は550円です。", "amount", "currency:JPY", 550),
        ("运费12块5。", "amount", "currency:CNY", 12.5),
        ("eighteen dollars and seventy-five cents", "amount", "currency:USD", 18.75),
        ("5 km away", "quantity", "length", 5000),
        ("2 hours 30 minutes", "quantity", "time", 9000),
        ("1/3 cup", "quantity", "volume", 0.2365882365 / 3),
        ("섭씨 25도", "quantity", "celsius", 25),
        ("最低気温は-7℃", "quantity", "celsius", -7),
        ("大さじ2", "quantity", "volume", 2 * 0.01478676478125),
        ("20 percent", "percent", "percent", 20),
        ("三成的人", "percent", "percent", 30),
        ("on 3 March 2025", "date", "date", (2025, 3, 3)),
        ("2025-11-23", "date", "date", (2025, 11, 23)),
        ("11월 23일", "date", "date", (None, 11, 23)),
        ("令和7年4月1日", "date", "date", (2025, 4, 1)),
        ("民國114年10月1日", "date", "date", (2025, 10, 1)),
        ("by the end of June", "date", "date", (None, 6, 30)),
        ("at 2:30 pm", "time", "clock", (870, 1)),
        ("half past seven in the evening", "time", "clock", (1170, 1)),
        ("오후 3시 30분", "time", "clock", (930, 1)),
        ("午前9時", "time", "clock", (540, 1)),
        ("下午三點一刻", "time", "clock", (915, 1)),
        ("三点差五分", "time", "clock", (175, 0)),
        ("on Wednesday", "weekday", "weekday", 2),
        ("星期天", "weekday", "weekday", 6),
        ("tomorrow", "day", "day", 1),
        ("매월", "period", "period", 2592000),
        ("order #W1234567", "code", "code", "w1234567"),
        ("version 2.13.0", "code", "code", "2.13.0"),
        ("write to help@shop.example", "code", "code", "help@shop.example"),
        ("flight HAT136", "code", "code", "hat136"),
    ],
)
def test_a_fact_has_its_kind_and_value(text: str, kind: str, dimension: str, value: object) -> None:
    """Each text has one fact, whose first reading is the expected one."""
    (fact,) = read_facts(text)
    assert (fact.kind, fact.readings[0].dimension) == (kind, dimension)
    assert fact.readings[0].value == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("at least 5 days", "least"),
        ("up to 5 days", "most"),
        ("more than 5 days", "over"),
        ("less than 5 days", "under"),
        ("5일 이내", "most"),
        ("8자 이상", "least"),
        ("5kg未満", "under"),
        ("不超过5公斤", "most"),
        ("至少8位", "least"),
        ("5 days", ""),
    ],
)
def test_a_bound_belongs_to_its_number(text: str, bound: str) -> None:
    """Words before or behind a number say which side of it is meant."""
    (fact,) = read_facts(text)
    assert fact.bound == bound


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("You'll arrive after three hours.", ["three hours"]),
        ("日付は３月３日です。", ["３月３日"]),
        ("총 **3만 5천 원**이에요.", ["3만 5천 원"]),
        ("1. Unplug it. 2. Wait 30 seconds. 3. Plug it in.", ["30 seconds"]),
        ("See [3] for more.", []),
        ("It is done.", []),
    ],
)
def test_a_fact_has_its_place_in_the_text(text: str, facts: list[str]) -> None:
    """The offsets are those of the original text, also if its characters were folded. List marks are no facts."""
    assert [text[fact.start : fact.end].strip() for fact in read_facts(text)] == facts


_PIECES = st.sampled_from(
    [
        *(
            "1",
            "2.5",
            ",",
            " ",
            "3月",
            "日",
            "年",
            "万",
            "三",
            "百分之",
            "折",
            "원",
            "만",
            "시",
            "반",
            "分",
            "の",
            "%",
            "$",
        ),
        *(
            "¥",
            "to",
            "-",
            "~",
            "half",
            "one",
            "hundred",
            "and",
            "a",
            "pm",
            "may",
            "st",
            "/",
            ":",
            "@",
            "#",
            "not",
            "않",
        ),
        *("不", "。", "\n", "**", "差", "刻", "km", "ß", "İ", "ﬁ", "半"),
    ]
)


@given(st.lists(_PIECES, max_size=24).map("".join) | st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    """No text raises an error, and each fact lies in the text."""
    for fact in read_facts(text):
        assert 0 <= fact.start < fact.end <= len(text)
        assert fact.readings


HOSTILE = (
    "1", "1,", "1.", "1-", "1/", "1:", "$1", "1 to ", "1 and ", "+1 ", "a1-", "#", "0.", "3/4 ", "1. ", "one ", "a ",
    "two and ", "half a ", "dozen ", "the ", "May ", "@a.", "/a", "www.", "*", "`", "(", " ", "\n", "一", "万", "億",
    "千", "1点", "百分之", "1年1月", "周一、", "第", "万一", "일", "이십 ", "열 ", "1분의", "천", "월·", "not ",
    "不", "없",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_costs_as_many_facts_as_it_has(unit: str) -> None:
    """Work that grows faster than the text would not end: 20,000 signs, of which no fact is read twice."""
    text = (unit * 20_000)[:20_000]
    facts = read_facts(text)
    assert len(facts) <= 20_000
    assert all(former.start <= latter.start for former, latter in pairwise(facts))


def test_the_patterns_of_facts_are_not_compiled_by_an_import() -> None:
    """An import of the criterion compiles none of them, as the patterns take longer than the rest of the import."""
    code = (
        "import fairtrial.metrics.facts_match, gc\n"
        "from fairtrial.text.facts.word_patterns import LazyPattern\n"
        "print([item for item in gc.get_objects() if isinstance(item, LazyPattern) and 'compiled' in vars(item)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_threads_that_read_their_first_texts_at_once_find_the_units() -> None:
    """The cues of the units are made at the first text. Two threads that make them share their bits."""
    code = (
        "import threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from fairtrial.text.facts.fact_reading import read_facts\n"
        "together = threading.Barrier(4)\n"
        "def read(number):\n"
        "    together.wait()\n"
        "    return [fact.kind for fact in read_facts(f'Pay ${number} for {number} kg.')]\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    print(list(pool.map(read, range(11, 15))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[['amount', 'quantity']] * 4}\n"


_DIGITS_ELSEWHERE = {"han_numerals._RUN", "english_numerals._NUMERAL"}
"""Patterns that leave numbers in digits to other patterns."""


@pytest.mark.long
@pytest.mark.parametrize("name", start_patterns())
def test_a_search_by_starts_finds_each_match(name: str) -> None:
    """A pattern that is tried only at its starts finds what it finds when it is tried everywhere."""
    pattern = start_patterns()[name]
    for text in _canonical_replies():
        at_starts, everywhere = (
            [item.span() for item in each(text)] for each in (pattern.finditer, pattern.compiled.finditer)
        )
        if name in _DIGITS_ELSEWHERE:
            everywhere = [span for span in everywhere if not text[span[0]].isdigit()]
            at_starts = [span for span in at_starts if span in everywhere]
        assert at_starts == everywhere, text
        first = pattern.search(text)
        assert (first and first.span()) == next((item.span() for item in pattern.finditer(text)), None)


@cache
def _canonical_replies() -> tuple[str, ...]:
    """Return every sixth reply of the dev halves of the corpora."""
    paths = sorted((Path(__file__).parent / "corpus").glob("*.dev.jsonl"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()[::6]]
    return tuple(canonicalise(json.loads(line)["reply"]).text for line in lines)
