"""Facts that are words: members of lists, quotations, promises, and East Asian names by their form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairtrial.text.facts.fact_agreement import Reader, compare_facts

CORPUS = Path(__file__).parent / "corpus"


def states(reference: str, reply: str, kind: str) -> list[str]:
    """Return the states of the facts of a kind."""
    return [item.state for item in compare_facts(reference, reply).findings if item.fact.kind == kind]


def fails(reference: str, reply: str, question: str = "") -> bool:
    """Return whether a reply contradicts or misses a fact, or promises something."""
    agreement = compare_facts(reference, reply, question=question)
    return agreement.contradicted or any(item.state == "missing" for item in agreement.findings)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The box holds a rope, a lamp and a tent.", []),
        ("In the box: tent, lamp, rope.", []),
        ("The box holds a tent, a lamp and a stove.", ["contradicted"]),
        ("The box holds a tent and a lamp.", ["missing"]),
        ("The box holds a tent, a lamp, a rope and a stove.", ["contradicted"]),
        ("Everything that you need for a night outside.", []),
    ],
)
def test_a_list_names_its_members(reply: str, expected: list[str]) -> None:
    """Their order is free. A reply may not replace, leave out or add a member."""
    assert states("The box holds a tent, a lamp and a rope.", reply, "list") == expected


@pytest.mark.parametrize(
    ("reference", "reply", "wrong"),
    [
        ("가방에는 텐트, 램프, 밧줄이 있습니다.", "가방에는 텐트, 램프, 난로가 있습니다.", True),
        ("가방에는 텐트, 램프, 밧줄이 있습니다.", "밧줄, 램프, 텐트가 들어 있어요.", False),
        ("袋にはテント、ランプ、ロープがあります。", "袋にはテント、ランプ、コンロがあります。", True),
        ("袋にはテント、ランプ、ロープがあります。", "ロープとテント、ランプが入っています。", False),
        ("包里有帐篷、油灯和绳子。", "包里有帐篷、油灯和炉子。", True),
        ("包里有帐篷、油灯和绳子。", "绳子、油灯、帐篷都在包里。", False),
    ],
)
def test_lists_of_other_languages(reference: str, reply: str, *, wrong: bool) -> None:
    """Their signs and particles separate the members."""
    assert fails(reference, reply) is wrong


def test_a_list_states_its_count() -> None:
    """A reply need not count what it lists."""
    assert not fails("There are three tools: saw, axe, drill.", "You find a saw, an axe and a drill.")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Press Save Draft now.", ["found"]),
        ("Press “Save draft” now.", ["found"]),
        ("Press 'Discard' now.", ["contradicted"]),
        ("Press the button now.", []),
    ],
)
def test_a_quotation_stands_in_the_reply_word_for_word(reply: str, expected: list[str]) -> None:
    """Marks, capital letters and spaces are free."""
    assert states('Press "Save draft" now.', reply, "quote") == expected


@pytest.mark.parametrize(
    ("question", "reply", "wrong"),
    [
        ("", "The lamp is sold out. I will send you a coupon.", True),
        ("Do I get a coupon?", "The lamp is sold out. I will send you a coupon.", False),
        ("", "The lamp is sold out. We cannot give you a coupon.", False),
        ("", "The lamp is sold out. Would you like a coupon?", False),
        ("", "The lamp is sold out. Feel free to ask us anything.", False),
        ("", "램프는 품절입니다. 쿠폰을 보내 드리겠습니다.", True),
        ("", "ランプは売り切れです。クーポンをお送りします。", True),
        ("", "台灯已售罄。我会给您一张优惠券。", True),
    ],
)
def test_a_promise_that_nobody_names(question: str, reply: str, *, wrong: bool) -> None:
    """Neither a question nor a refusal nor a courtesy is a promise."""
    assert bool(compare_facts("The lamp is sold out.", reply, question=question).promises) is wrong


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("내일 오후 모임의 예약자는 한지원입니다.", "내일 오후 모임의 예약자는 문태현입니다."),
        ("내일 오후 모임은 잠실역에서 합니다.", "내일 오후 모임은 신촌역에서 합니다."),
        ("担当は井上です。", "担当は岡田です。"),
        ("集合は品川駅の前です。", "集合は上野駅の前です。"),
        ("联系人是周海燕。", "联系人是何文静。"),
        ("請到長庚醫院報到。", "請到亞東醫院報到。"),
    ],
)
def test_names_by_their_form(reference: str, reply: str) -> None:
    """A surname, or the kind of a place behind the name, shows that a word is a name."""
    assert [item.name for item in compare_facts(reference, reply).oppositions] == ["name"]


@pytest.mark.parametrize("kind", ["list", "quote", "promise"])
def test_kinds_choose_words_too(kind: str) -> None:
    """A kind that is not chosen is not compared."""
    reference, reply = 'Press "Go", "Stop" or "Wait".', 'Press "Go", "Stop" or "Turn". I promise you a refund.'
    chosen = compare_facts(reference, reply, reader=Reader(frozenset({kind})))  # type: ignore[arg-type]
    found = {item.fact.kind for item in chosen.findings} | ({"promise"} if chosen.promises else set())
    assert found == {kind}


@pytest.mark.parametrize("language", ["en", "ko", "ja", "zh-Hans", "zh-Hant"])
def test_the_claims_of_the_corpus(language: str) -> None:
    """The shares of docs/how-to/check-facts.md."""
    lines = (CORPUS / f"{language}.claims.held.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    failed = {
        same: [fails(row["reference"], row["reply"], row.get("question", "")) for row in rows if row["same"] is same]
        for same in (True, False)
    }
    assert sum(failed[True]) <= 0.05 * len(failed[True])
    assert sum(failed[False]) >= 0.81 * len(failed[False])


@pytest.mark.parametrize(
    "reply", ['"' * 100_000, "a, " * 60_000, "、" * 100_000, "I refund, " * 18_000, "「" * 100_000]
)
def test_hostile_text_is_compared_in_linear_time(reply: str) -> None:
    """A text of separators, marks or promises ends before the time limit of the suite."""
    compare_facts('Take "it", a saw, an axe and a drill.', reply)
