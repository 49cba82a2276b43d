"""Wrong persons, lost documents, wrong results and broken schemas: what changes, and when an operator declines."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.mutations.operator import Rules, Scene
from fairtrial.mutations.person_names import people
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult
from fairtrial.text.language import detect_language, is_traditional

SEEDS = [str(seed) for seed in range(12)]

PERSONS: dict[str, tuple[tuple[str, list[str]], ...]] = {
    "en": (
        ("Dr. Marta Ruiz will see you at 18:30.", ["Marta Ruiz"]),
        ("Ms. Rossi booked the table.", ["Rossi"]),
        ("Sofia Garcia confirmed it, and Paul Smith paid $85.", ["Sofia Garcia", "Paul Smith"]),
        ("Yes. John Smith is here.", ["John Smith"]),
        ("The Grace period ends on Monday.", []),
        ("William Street is closed.", []),
        ("We meet at Paul Robinson Hall.", []),
        ("Real Madrid won on Saturday.", []),
    ),
    "ko": (
        ("김민수 고객님, 예약이 확인되었습니다.", ["김민수"]),
        ("담당자는 박지영 과장입니다.", ["박지영"]),
        ("담당 기사는 장서연 씨입니다.", ["장서연"]),
        ("유재석 님께 연락드리겠습니다.", ["유재석"]),
        ("이서준이 예약했습니다.", ["이서준"]),
        ("정확한 씨앗을 심으세요.", []),
        ("이번 손님은 두 분입니다.", []),
        ("전화번호를 고객센터에 알려 주세요.", []),
    ),
    "ja": (
        ("田中様のご予約は明日です。", ["田中"]),
        ("担当は佐藤花子です。", ["佐藤"]),
        ("高橋さんが担当いたします。", ["高橋"]),
        ("田中太郎様、お待ちしております。", ["田中"]),
        ("中村区の店舗です。", []),
        ("山田錦のお酒です。", []),
    ),
    "zh": (
        ("张伟先生，您的预约是明天。", ["张"]),
        ("请找王医生。", ["王"]),
        ("刘女士和陈经理都会到场。", ["刘", "陈"]),
        ("黄金周不营业。", []),
        ("很多老师参加了活动。", []),
    ),
    "zh-Hant": (
        ("陳怡君小姐，您的預約是明天。", ["陳"]),
        ("請洽林先生。", ["林"]),
        ("許多老師參加了活動。", []),
        ("謝謝老師。", []),
    ),
}
DOCUMENTS = [
    {"title": "Fees", "text": "A room with breakfast costs 120 dollars a night in summer."},
    {"title": "Pets", "text": "Dogs are welcome on the ground floor, and cats are not allowed."},
]


def scene(reply: str, result: Any = None, *, others: tuple[EvalCase, ...] = (), **rules: Any) -> Scene:
    """A conversation of one turn whose reply is expected as it stands."""
    steps = () if result is None else (ToolCall("search", {"query": "q"}), ToolResult("search", result))
    conversation = (Invocation(Message("How much is it?"), steps, Message(reply)),)
    return Scene(EvalCase("one", conversation), conversation, 0, Rules(**rules), {}, others)


def answer(turn: Invocation) -> Any:
    """The answer of the tool in a turn."""
    return next(step.response for step in turn.steps or () if isinstance(step, ToolResult))


def mutants(operator: str, base: Scene) -> list[Invocation]:
    """The first turns that an operator makes of a scene, over some seeds."""
    made = (OPERATORS[operator].mutate(base, seed) for seed in SEEDS)
    return [conversation[0] for conversation in made if conversation is not None]


@pytest.mark.parametrize(("variety", "text", "names"), [(key, *row) for key, rows in PERSONS.items() for row in rows])
def test_a_person_is_known_by_the_form_of_the_name(variety: str, text: str, names: list[str]) -> None:
    """A given name, a title or an honorific proves a person. Streets, words and periods are none."""
    assert [text[person.start : person.end] for person in people(text, variety)] == names


@pytest.mark.parametrize(
    ("variety", "text"), [(key, text) for key, rows in PERSONS.items() for text, names in rows if names]
)
def test_another_person_stands_in_the_same_sentence(variety: str, text: str) -> None:
    """Only names change, in the language and the script of the reply."""
    changed = [turn.reply for turn in mutants("name_swapped", scene(text))]
    assert changed
    for reply in changed:
        assert reply != text
        assert detect_language(reply) == detect_language(text)
        assert variety != "zh-Hant" or is_traditional(reply)
        assert len(reply.split()) == len(text.split())
        gone = {text[person.start : person.end] for person in people(text, variety)}
        assert any(name not in reply or reply.count(name) < text.count(name) for name in gone)


def test_she_stays_she() -> None:
    """A woman's given name becomes that of a woman, because the next sentence says "she"."""
    base = scene("Marta Ruiz is your doctor. She is in room 4.")
    given = {turn.reply.split()[0] for turn in mutants("name_swapped", base)}
    assert given
    assert not given & {"Adam", "Ahmed", "Ben", "Carlos", "Daniel", "David", "Diego", "Hiroshi", "James", "John"}


def test_a_proper_name_becomes_that_of_another_case() -> None:
    """A name without a title is swapped for a name of as many words in another reply."""
    other = EvalCase("two", (Invocation(Message("?"), (), Message("It was painted by Paula Modersohn Becker.")),))
    replies = {turn.reply for turn in mutants("name_swapped", scene("It lies near Las Cruces.", others=(other,)))}
    assert replies == set()
    other = EvalCase("two", (Invocation(Message("?"), (), Message("It flows past Porto Santo.")),))
    replies = {turn.reply for turn in mutants("name_swapped", scene("It lies near Las Cruces.", others=(other,)))}
    assert replies == {"It lies near Porto Santo."}


def test_a_lost_document_leaves_the_reply_without_support() -> None:
    """The only document that holds the number is gone, and the reply stays."""
    base = scene("It costs 120 dollars.", {"documents": DOCUMENTS}, grounding=True)
    (result,) = {str(answer(turn)) for turn in mutants("document_dropped", base)}
    assert result == str({"documents": DOCUMENTS[1:]})
    assert {turn.reply for turn in mutants("document_dropped", base)} == {"It costs 120 dollars."}


def test_a_swapped_document_holds_no_support() -> None:
    """A document of the same kind stands in its place."""
    base = scene("It costs 120 dollars.", {"documents": DOCUMENTS}, grounding=True)
    for turn in mutants("document_swapped", base):
        assert answer(turn) == {"documents": [DOCUMENTS[1], DOCUMENTS[1]]}


def test_a_corrupted_document_says_otherwise() -> None:
    """The number of the document has another first digit."""
    base = scene("It costs 120 dollars.", {"documents": DOCUMENTS}, grounding=True)
    for turn in mutants("document_corrupted", base):
        assert answer(turn)["documents"][0]["text"].startswith("A room with breakfast costs 220 dollars")


@pytest.mark.parametrize("operator", ["document_dropped", "document_swapped", "document_corrupted"])
def test_a_document_stays_if_it_is_no_proof(operator: str) -> None:
    """Nothing is planted without a check of grounding, if two documents hold the number, or if the user wrote it."""
    assert mutants(operator, scene("It costs 120 dollars.", {"documents": DOCUMENTS})) == []
    twice = [*DOCUMENTS, {"title": "Offers", "text": "In winter, all of it is 20 less than 120 dollars a night."}]
    assert mutants(operator, scene("It costs 120 dollars.", {"documents": twice}, grounding=True)) == []
    assert mutants(operator, scene("Dogs are welcome.", {"documents": DOCUMENTS}, grounding=True)) == []


def test_a_wrong_result_is_repeated_by_the_agent() -> None:
    """The result and the reply change alike, and differ from the reference."""
    base = scene("It is 25 degrees.", {"temperature": 25, "city": "Oslo"})
    for turn in mutants("result_wrong", base):
        assert turn.reply == "It is 35 degrees."
        assert answer(turn) == {"temperature": 35, "city": "Oslo"}
    assert mutants("result_wrong", base)
    assert mutants("result_wrong", scene("It is 25 degrees.", {"city": "Oslo"})) == []


@pytest.mark.parametrize(("tolerance", "expected"), [(0.0, {"$1,251"}), (0.05, {"$1,314"}), (0.5, {"$1,876"})])
def test_a_near_miss_is_just_outside_the_tolerance(tolerance: float, expected: set[str]) -> None:
    """A criterion with a tolerance allows 1,251 for 1,250, so that the near miss is further away."""
    replies = {turn.reply for turn in mutants("number_near", scene("$1,250", tolerance=tolerance))}
    assert replies == expected


def test_a_number_within_the_tolerance_is_not_harmful() -> None:
    """With a tolerance of 100 %, 2,250 for 1,250 is allowed."""
    assert mutants("number_changed", scene("It costs $1,250.", tolerance=1.0)) == []


def test_arguments_change_their_type_and_their_name() -> None:
    """A number becomes a text, and a name is written in another style."""
    steps = (ToolCall("book", {"room_id": 3}),)
    conversation = (Invocation(Message("Book."), steps, Message("Done.")),)
    base = Scene(EvalCase("one", conversation), conversation, 0)
    assert mutants("argument_type_changed", base)[0].tool_calls[0].args == {"room_id": "3"}
    assert mutants("argument_renamed", base)[0].tool_calls[0].args == {"roomId": 3}


def test_a_message_in_another_language_is_not_repeated() -> None:
    """A reply repeats the question only in its own language."""
    assert {turn.reply for turn in mutants("question_restated", scene("It costs 120 dollars."))} == {
        'You asked: "How much is it?"\n\nIt costs 120 dollars.'
    }
    assert mutants("question_restated", scene("가격은 120달러입니다.")) == []
