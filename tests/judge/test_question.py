"""A reply is read item by item, and never for more than it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.judge.question import Question, answer_schema, parse_reply
from fairtrial.judge.voting import majority
from fairtrial.records.ballot import JudgeAnswer
from fairtrial.records.reply import Prompt

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
