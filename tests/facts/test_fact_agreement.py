"""Replies that state, miss or contradict the facts of their reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.facts.fact_agreement import Reader, compare_facts

CORPUS = Path(__file__).parent / "corpus"
LANGUAGES = ("en", "ko", "ja", "zh-Hans", "zh-Hant")


def verdict(reference: str, reply: str) -> str:
    """Return "same", or what is wrong with the reply first."""
    agreement = compare_facts(reference, reply)
    if agreement.contradicted:
        return "contradicted"
    states = {finding.state for finding in agreement.findings}
    return "missing" if "missing" in states else "undecided" if "undecided" in states else "same"


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The parcel weighs 2.5 kg.", "It's 2,500 grams."),
        ("It takes 90 minutes.", "You need an hour and a half."),
        ("The term is 24 months.", "The term is two years."),
        ("It shipped on 3 March.", "Your parcel left on the 3rd."),
        ("We meet at 15:00.", "The meeting is at 3 pm."),
        ("Seven out of ten agreed.", "70% agreed."),
        ("It is 5 km.", "That's about 3 miles."),
        ("The water is 41 °F.", "The water is 5 °C."),
        ("You get 20% off.", "You pay 80% of the price."),
        ("A costs $30 and B costs $50.", "B is $50, and A is $30."),
        ("It is closed on Sundays.", "It isn't open on Sundays."),
        ("환불은 35,000원입니다.", "3만 5천 원이 환불됩니다."),
        ("두 시간 반 걸립니다.", "2시간 30분이 걸려요."),
        ("駐車は2時間まで無料です。", "120分まで無料で停められます。"),
        ("3割引です。", "30%オフになります。"),
        ("票价打八折。", "票价优惠20%。"),
        ("民國114年5月2日成立。", "2025年5月2日成立。"),
        ("It costs 50p.", "It costs £0.50."),
        ("A stamp is £1.20.", "You pay 120p for a stamp."),
        ("They won one-nil.", "They won 1-0."),
        ("The match ended two-all.", "It was a 2-2 draw, so the match goes on."),
        ("The score was three-one.", "It was 3-1."),
        ("Nobody attended the meeting.", "No one attended the meeting."),
        ("아무도 참가하지 않았습니다.", "참가자가 없었습니다."),
        ("没有人参加会议。", "无人参加会议。"),
    ],
)
def test_a_right_paraphrase_is_the_same(reference: str, reply: str) -> None:
    """Other forms, units, orders and numerals say the same."""
    assert verdict(reference, reply) == "same"


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("It costs $29.90.", "It costs $39.90."),
        ("It takes 3 days.", "It takes 3 weeks."),
        ("It opens at 9 am.", "It opens at 9 pm."),
        ("We meet on Monday.", "We meet on Tuesday."),
        ("It left on 3 March.", "It left on 4 March."),
        ("We meet in March. 3 people come.", "We meet in March. 4 people come."),
        ("At least 8 characters.", "At most 8 characters."),
        ("X costs $30 and Y costs $50.", "X costs $50 and Y costs $30."),
        ("Your order has been shipped.", "Your order has not been shipped."),
        ("Your luggage was found in Madrid.", "Your luggage was found in Nairobi."),
        ("Breakfast is included in the price.", "Breakfast is excluded from the price."),
        ("The trail is 12 km long.", "It is not true that the trail is 12 km long."),
        ("Order A-12 is ready.", "Order A-57 is ready."),
        ("100회까지 분당 호출할 수 있습니다.", "100회까지 초당 호출할 수 있습니다."),
        ("예약할 수 있습니다.", "예약할 수 없습니다."),
        ("18歳以上の方が対象です。", "18歳未満の方が対象です。"),
        ("商品は3月3日に到着します。", "商品は3月3日に到着しません。"),
        ("您的订单已经发货。", "您的订单还没有发货。"),
        ("每分鐘最多100次。", "每分鐘最多1000次。"),
        ("The stamp costs 50p.", "The stamp costs 60p."),
        ("The video is 720p.", "The video is 1080p."),
        ("They won one-nil.", "They won two-nil."),
        ("The match ended one-all.", "The match ended 1-2."),
        ("Nobody attended the meeting.", "Someone attended the meeting."),
        ("Everyone attended.", "No one attended."),
        ("3人が参加しました。", "誰も参加しませんでした。"),
        ("参加しました。", "誰も参加しませんでした。"),
        ("全員が参加しました。", "誰も参加しませんでした。"),
        ("誰でも参加できます。", "誰も参加できません。"),
        ("참가했습니다.", "아무도 참가하지 않았습니다."),
        ("모두 참가했습니다.", "아무도 참가하지 않았습니다."),
        ("三个人参加了会议。", "没有人参加会议。"),
        ("大家都參加了會議。", "沒有人參加會議。"),
        ("Your number is 1234567890123456789.", "Your number is 9234567890123456789."),
        ("The sum is 1234567890123456789.5", "The sum is 1234567890123456788.5"),
        ("제2조에 따릅니다.", "제3조에 따릅니다."),
    ],
)
def test_a_changed_fact_contradicts(reference: str, reply: str) -> None:
    """Another value, unit, bound, name or polarity contradicts, and so do two values that changed places."""
    assert verdict(reference, reply) == "contradicted"


def test_a_fact_that_is_not_told_is_missing() -> None:
    """A reply that says nothing about a fact misses it, and contradicts nothing."""
    assert verdict("It costs $5 and takes 3 days.", "It costs $5.") == "missing"


def test_a_fact_of_the_reply_alone_is_no_contradiction() -> None:
    """A reply may say more than its reference."""
    assert verdict("It costs $5.", "It costs $5, and comes on 3 March.") == "same"


def test_dates_of_two_orders_are_undecided() -> None:
    """Nobody knows whether 3/4 and 4/3 are one day, unless the locale says so."""
    assert verdict("Due on 3/4/2026.", "It is due on 4/3/2026.") == "undecided"
    locale = compare_facts("Due on 3/4/2026.", "Due on 4 March 2026.", reader=Reader(locale="month_first"))
    assert [finding.state for finding in locale.findings] == ["found"] or locale.contradicted
    day_first = compare_facts("Due on 3/4/2026.", "Due on 3 April 2026.", reader=Reader(locale="day_first"))
    assert [finding.state for finding in day_first.findings] == ["found"]


@pytest.mark.long
@given(st.sampled_from(LANGUAGES), st.integers(0, 400))
def test_a_text_agrees_with_itself(language: str, row: int) -> None:
    """No reference contradicts or misses itself."""
    lines = (CORPUS / f"{language}.dev.jsonl").read_text(encoding="utf-8").splitlines()
    text = json.loads(lines[row % len(lines)])["reference"]
    assert verdict(text, text) == "same"


@pytest.mark.long
@pytest.mark.parametrize(
    ("half", "language", "alarms", "caught"),
    [
        *(("dev", language, 0.12, 0.6) for language in LANGUAGES),
        # The shares of docs/how-to/check-facts.md.
        ("held", "en", 0.185, 0.62),
        ("held", "ko", 0.155, 0.67),
        ("held", "ja", 0.17, 0.7),
        ("held", "zh-Hans", 0.14, 0.61),
        ("held", "zh-Hant", 0.105, 0.64),
    ],
)
def test_the_pairs_of_the_corpus(half: str, language: str, alarms: float, caught: float) -> None:
    """At most a share of the right replies fails, and at least a share of the wrong ones."""
    rows = [json.loads(line) for line in (CORPUS / f"{language}.{half}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = {True: 0, False: 0}
    for row in rows:
        if row["same"] is not None:
            wrong[row["same"]] += verdict(row["reference"], row["reply"]) in {"contradicted", "missing"}
    assert wrong[True] <= alarms * sum(row["same"] is True for row in rows)
    assert wrong[False] >= caught * sum(row["same"] is False for row in rows)


@pytest.mark.parametrize(
    ("reference", "reply", "state"),
    [
        (
            "El pedido llega el 3 de marzo de 2026 y cuesta 1.234,56 €.",
            "Cuesta 1234,56 € y llega el 03/03/2026.",
            "same",
        ),
        ("El vuelo sale el 3 de marzo a las 15:00.", "El vuelo sale el 3 de abril a las 15:00.", "contradicted"),
        ("La tarifa es de $1,234.50 por la noche.", "La tarifa es de $1.234,50.", "same"),
        ("Le colis arrive le 1er mars 2026 à 15h30.", "Il est dans la boîte le 2026-03-01 à 15:30.", "same"),
        ("Le billet est à 12,50 € pour le train.", "Le billet est à 21,50 € pour le train.", "contradicted"),
        ("La remise est de 20 pour cent.", "La remise est de 20 %.", "same"),
        ("Die Lieferung kommt am 3. März um 15 Uhr.", "Sie ist am 03.03.2026 um 15:00 da.", "same"),
        ("Die Fahrt dauert zwei Stunden.", "Die Fahrt dauert 120 Minuten und ist schön.", "same"),
        ("Die Fahrt kostet 1.234,50 € und ist lang.", "Die Fahrt kostet 1.243,50 € und ist lang.", "contradicted"),
    ],
)
def test_spanish_french_and_german_numbers_and_dates(reference: str, reply: str, state: str) -> None:
    """Decimal commas, months, hours, units and the numerals from two to twelve are read."""
    assert verdict(reference, reply) == state
