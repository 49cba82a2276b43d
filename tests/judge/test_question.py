"""A reply is read item by item, and never for more than it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.judge.question import Question, answer_schema, parse_reply
from fairtrial.judge.voting import majority
from fairtrial.records.ballot import JudgeAnswer
from fairtrial.records.reply import Prompt
from reply_corpus import CORPUS, FORGED, MAYBE, QUESTION, REAL

RULE = majority(yes=["yes"], no=["no"])
ITEMS = ("i1", "i2")
ASKED = Question(Prompt("t", "1", "?", schema=answer_schema(ITEMS, ("yes", "no"))), ITEMS, ("yes", "no"), RULE, ("m",))


def answers(*entries: Any) -> str:
    """A reply with these entries."""
    return json.dumps({"answers": entries}, ensure_ascii=False)


def entry(item: str, answer: Any = "yes", **more: Any) -> dict[str, Any]:
    """One entry."""
    return {"id": item, "rationale": "왜냐하면", "answer": answer, **more}


def test_a_reply_in_form_is_read_whole() -> None:
    """Answer, rationale, quote and marks of each item."""
    reading = parse_reply(answers(entry("i1", quote="q", marks=["m"]), entry("i2", "no")), ASKED)
    assert reading.opinions == {"i1": JudgeAnswer("yes", "왜냐하면", "q", ("m",)), "i2": JudgeAnswer("no", "왜냐하면")}
    assert reading.problems == {}


@pytest.mark.parametrize("answer", [" YES ", "Yes", "yes\n"])
def test_case_and_space_around_an_answer_do_not_matter(answer: str) -> None:
    """Nothing else is forgiven."""
    assert parse_reply(answers(entry("i1", answer)), ASKED).opinions["i1"].answer == "yes"


@pytest.mark.parametrize("answer", ["no (not yes)", "예", "はい", "是", "true", True, 1, None, "", ["yes"], {"yes": 1}])
def test_an_answer_outside_the_set_spoils_its_own_item_only(answer: Any) -> None:
    """The other item keeps its vote."""
    reading = parse_reply(answers(entry("i1", answer), entry("i2")), ASKED)
    assert set(reading.opinions) == {"i2"}
    assert reading.problems["i1"].startswith("answer must be one of yes, no")


@pytest.mark.parametrize(
    "reply",
    [
        answers(entry("i1"), entry("i1", "no")),
        answers(entry("i1"), entry("i3")),
        answers(entry("i1"), {"rationale": "", "answer": "yes"}),
        answers(entry("i1"), "yes"),
        '{"answers": {"i1": "yes"}}',
        '{"answers": [{"id": "i1", "answer": "no", "answer": "yes"}]}',
        '["i1"]',
        "yes",
        "",
        "null",
        'The answer: {"answers": []}',
    ],
)
def test_a_reply_that_has_lost_count_is_no_reply(reply: str) -> None:
    """Unknown and repeated ids, repeated keys, another shape, text around: nothing of it is taken."""
    reading = parse_reply(reply, ASKED)
    assert reading.opinions == {}
    assert set(reading.problems) == set(ITEMS)


@pytest.mark.parametrize(
    "more", [{"marks": ["other"]}, {"marks": "m"}, {"marks": [["m"]]}, {"quote": 3}, {"rationale": 3}]
)
def test_what_goes_with_an_answer_must_be_in_form_too(more: dict[str, Any]) -> None:
    """Marks of the closed set, text for quote and rationale."""
    assert set(parse_reply(answers(entry("i1", **more)), ASKED).problems) == set(ITEMS)


def test_the_schema_is_one_that_strict_providers_take() -> None:
    """Every property is required, none may be added, and the rationale comes before the answer."""
    shape = answer_schema(ITEMS, ("yes", "no"), marks=("m",))
    fields = shape["properties"]["answers"]["items"]
    assert fields["required"] == list(fields["properties"]) == ["id", "quote", "rationale", "marks", "answer"]
    assert fields["additionalProperties"] is False


@pytest.mark.parametrize(("reply", "verdict"), [row[1:] for row in CORPUS], ids=[row[0] for row in CORPUS])
def test_a_reply_is_read_as_a_person_reads_it(reply: str, verdict: str | None) -> None:
    """No verdict is taken from thoughts, from a quotation, or from the text under judgement."""
    opinions = parse_reply(reply, QUESTION).opinions
    assert [opinion.answer for opinion in opinions.values()] == ([] if verdict is None else [verdict])


@pytest.mark.parametrize(
    "reply",
    [f"Perhaps: {REAL}", f"<think>Hm.</think>{REAL}", f"Hm.</think>{REAL}", f"```json\n{REAL}\n```\nSo it is."],
)
def test_of_a_reply_that_was_cut_off_only_a_whole_object_counts(reply: str) -> None:
    """Its end may be a quotation. The object alone is whole."""
    assert parse_reply(reply, QUESTION).opinions
    assert parse_reply(reply, QUESTION, "cut off").problems == {"reply": "cut off"}
    assert parse_reply(REAL, QUESTION, "cut off").opinions


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "the reply is empty"),
        ("I'm sorry, but I can't assist.", "the model refused to answer: \"I'm sorry, but I can't assist.\""),
        (
            "申し訳ありませんが、お答えできません。",
            "the model refused to answer: '申し訳ありませんが、お答えできません。'",
        ),
        ("抱歉，我无法回答。", "the model refused to answer: '抱歉，我无法回答。'"),
        ("죄송하지만 답할 수 없습니다.", "the model refused to answer: '죄송하지만 답할 수 없습니다.'"),
        ("<think>It is right.</think>", "the reply holds thoughts and no answer"),
        ("It is valid.", "the reply holds no JSON: 'It is valid.'"),
        (f"{MAYBE} or {REAL}", "the reply cannot be read: it holds more than one value"),
        (FORGED, "the reply repeats an object of the question word for word, and is no answer"),
    ],
)
def test_a_reply_without_an_answer_has_its_own_reason(reply: str, problem: str) -> None:
    """An empty reply, a refusal, thoughts, prose, two objects and an echo are told apart."""
    assert parse_reply(reply, QUESTION).problems == {"reply": problem}


@pytest.mark.long
@pytest.mark.parametrize(
    "reply",
    [
        "<think></think>" * 100_000,
        "<think>" * 100_000,
        "x</think>" * 100_000,
        "x</think>" + "{" * 500_000,
        "```json\n" * 100_000,
        '{"a": "' + '\\"' * 500_000,
        "{" + "," * 500_000 + "}",
        "x" + "{}" * 500_000,
        "<|channel|>final" * 50_000,
        "analysisX" + "assistantfinal" * 50_000,
        ("```" + " " * 20) * 50_000,
    ],
)
def test_a_huge_reply_is_read_in_one_pass(reply: str) -> None:
    """If the time grew with the square of its length, this test would take hours."""
    assert parse_reply(reply, QUESTION).opinions == {}
