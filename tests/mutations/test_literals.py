"""Operators leave addresses, paths, code, codes and quoted words as they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.mutations.operator import Scene
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message

SEEDS = [str(seed) for seed in range(8)]
HARMLESS = [own for own in OPERATORS.values() if own.direction == "harmless" and own.languages]
SENTENCES = {
    "en": ("We assist today, and it does not cost $1000 for 3 nights.", "The room opens at 6 pm on July 13."),
    "ko": ("현재 3명에게 1,000원입니다.", "객실은 오후 6시에 열립니다."),
    "ja": ("現在3名で1,000円です。", "部屋は午後6時に開きます。"),
    "zh": ("目前3个房间是1,000元。", "房间在下午6点开放。"),
}
WORDS = {
    "en": "assist-3 nights-6 pm-do not",
    "ko": "현재 3명-오후 6시-1,000원",
    "ja": "現在3名-午後6時-1,000円",
    "zh": "目前3个-下午6点-1,000元",
}
ADDRESSES = (
    "https://assist.shop.example/1000/2026-07-13?today=3",
    "www.shop.example/assist/today",
    "today@shop.example",
    "localhost:8080/assist/1000",
    "~/assist/today/1000.txt",
    "./assist/1000",
    "/var/assist/1000",
    "C:\\assist\\1000",
    "assist.shop.example",
    "[this](/assist/1000)",
)
CODES = (
    "AB-12-may",
    "ORD-3-nights",
    "AB-12-현재",
    "book(nights=3)",
    "--assist",
    "ASSIST_3",
    "{assist 3 nights}",
    "$ASSIST",
)


def scene(reply: str, reference: str | None = None) -> Scene:
    """A conversation of one turn, whose reply is expected as it stands if there is no other reference."""
    conversation = (Invocation(Message("?"), (), Message(reply)),)
    expected = (Invocation(Message("?"), (), Message(reply if reference is None else reference)),)
    other = EvalCase("other", (Invocation(Message("?"), (), Message("무료예요. 無料である。")),))
    return Scene(EvalCase("one", expected), conversation, 0, other_cases=[other])


def replies(operator: str, base: Scene) -> set[str]:
    """All replies that an operator makes of a scene, over some seeds."""
    mutants = (OPERATORS[operator].mutate(base, seed) for seed in SEEDS)
    return {mutant[0].reply for mutant in mutants if mutant is not None}


def quoted(language: str) -> list[str]:
    """Words of a language in code and in quotation marks."""
    words = WORDS[language]
    return [
        f"`{words}`",
        f"``{words}``",
        f"```\n{words}\n```",
        f'"{words}"',
        f"“{words}”",
        f"「{words}」",
        f"《{words}》",
    ]


@pytest.mark.long
@pytest.mark.parametrize("language", SENTENCES)
def test_no_harmless_operator_changes_a_literal_part(language: str) -> None:
    """Each of them stands at the beginning, in the middle and at the end of a reply, and in brackets."""
    first, second = SENTENCES[language]
    for literal in (*ADDRESSES, *CODES, *quoted(language)):
        for reply in (f"{literal} {first} {second}", f"{first} ({literal}) {second}", f"{second} {first} {literal}"):
            for operator in HARMLESS:
                for mutant in replies(operator.name, scene(reply)):
                    assert literal in mutant, operator.name


@pytest.mark.long
@pytest.mark.parametrize("indent", ["    ", "\t"])
@pytest.mark.parametrize("language", SENTENCES)
def test_an_indented_block_of_code_is_literal(language: str, indent: str) -> None:
    """Markdown reads lines as code that four spaces or a tab begin, after an empty line or at the beginning."""
    first, second = SENTENCES[language]
    code = f"{indent}{first}\n{indent}  {second}"
    for reply in (f"{code}\n\n{first}", f"{first}\n\n{code}\n\n{second}", f"{first}\n  \n{code}"):
        for operator in HARMLESS:
            for mutant in replies(operator.name, scene(reply)):
                assert f"\n{code}" in f"\n{mutant}", operator.name


def test_an_indented_line_of_a_paragraph_is_no_code() -> None:
    """Without an empty line before it, it goes on with the paragraph or the list."""
    mutants = replies("contraction", scene("We say:\n    it does not cost 3."))
    assert any("    it doesn't" in mutant for mutant in mutants)


@pytest.mark.parametrize("language", SENTENCES)
def test_the_words_beside_a_literal_part_still_change(language: str) -> None:
    """The guard ends with the literal part: each of these operators finds a place outside of it."""
    names = ["synonym", "number_spelled", "number_format", "reworded"]
    names.append("contraction" if language == "en" else "full_width")
    reply = f"{' '.join(SENTENCES[language])} `{WORDS[language]}`"
    assert [name for name in names if not replies(name, scene(reply.replace("$1000", "$1,000")))] == []


@pytest.mark.parametrize(
    "reply",
    ['{"total": 1000, "note": "We assist. 3 nights."}', "```json\n[1000]\n```", "<order><total>1000</total></order>"],
)
def test_a_reply_that_a_program_reads_gets_no_words(reply: str) -> None:
    """A polite sentence or a bold number makes it unreadable. Only the layout of JSON is free."""
    changed = {operator.name for operator in HARMLESS if replies(operator.name, scene(reply))}
    assert changed <= {"json_layout"}


@pytest.mark.long
@given(
    st.sampled_from(sorted(SENTENCES)),
    st.lists(st.sampled_from([*ADDRESSES, *CODES]), min_size=1, max_size=3),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_literal_parts_stay_in_any_order(language: str, literals: list[str], data: st.DataObject) -> None:
    """Between sentences in any order, with any harmless operator and any seed."""
    parts = data.draw(st.permutations([*SENTENCES[language], *literals]))
    operator = data.draw(st.sampled_from(HARMLESS))
    mutant = operator.mutate(scene(" ".join(parts)), str(data.draw(st.integers(0, 99))))
    assert mutant is None or all(literal in mutant[0].reply for literal in literals)


VALUES = ["number_changed", "number_near", "date_changed", "time_changed", "weekday_changed", "relative_day_changed"]


@pytest.mark.parametrize("name", [*VALUES, "name_swapped", "unit_changed", "negated"])
@pytest.mark.parametrize(
    "address",
    ["https://shop.example/Lisbon/1250/2026-07-13/18:30/today", "~/is/1250/today.txt", "Monday-1250@shop.example"],
)
def test_no_wrong_value_stands_in_an_address(name: str, address: str) -> None:
    """Nobody knows what stands at another address, so that a changed one proves nothing."""
    assert replies(name, scene(f"See {address} for details.")) == set()


def test_a_wrong_value_beside_an_address_is_found() -> None:
    """The same number outside of the address changes."""
    assert replies("number_near", scene("It costs $1250, see shop.example/a/1250.")) == {
        "It costs $1251, see shop.example/a/1250."
    }


@pytest.mark.parametrize("reply", ["It costs 0 dollars.", "0원입니다.", "0円です。", "It costs $0."])
def test_nothing_is_nothing_in_every_unit(reply: str) -> None:
    """0 dollars are 0 euros."""
    assert replies("unit_changed", scene(reply)) == set()


def test_zero_degrees_depend_on_the_unit() -> None:
    """0 °C are 32 °F."""
    assert replies("unit_changed", scene("It is 0 °C.")) == {"It is 0 °F."}


@pytest.mark.parametrize(
    "name", ["json_value_changed", "json_key_dropped", "json_key_renamed", "json_type_changed", "json_nulled"]
)
def test_what_only_the_reply_holds_is_no_fact(name: str) -> None:
    """The reference holds the total and no time, so that no change of the time is wrong."""
    made = replies(name, scene('{"total": 20, "ms": 31}', '{"total": 20}'))
    assert made
    assert all('"ms": 31' in text for text in made)


def test_json_without_a_reference_in_json_proves_nothing() -> None:
    """A sentence does not say which fields a reader needs."""
    assert replies("json_nulled", scene('{"total": 20}', "The total is 20.")) == set()
