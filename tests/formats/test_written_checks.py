"""Checks in eval sets, in tables, and in cases of one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fairtrial
from fairtrial import Case, Check, EvalCase, FormatError, Invocation, Message, Verdict
from fairtrial.formats.adk.write import case_json
from fairtrial.formats.recognise import read

SCHEMA = {"type": "object", "required": ["id"]}
CHECKS = (
    Check("contains", ["A-17", "way"], ignore_case=True),
    Check("json_schema", SCHEMA, fenced=True, name="the order"),
    Check("any", checks=(Check("equals", "yes"), Check("not", checks=(Check("regex", "no+"),)))),
    Check("one_of", [1, 2], tool="pay", argument="parts", calls="if_called"),
    Check("similar", "It is on its way.", threshold=0.7),
)


def read_case(case: dict[str, Any]) -> EvalCase:
    """Return a case of an eval set."""
    loaded = read(json.dumps({"eval_set_id": "shop", "eval_cases": [case]}).encode(), "shop.evalset.json")
    assert loaded.eval_set is not None
    return loaded.eval_set.cases[0]


def test_checks_come_back_as_they_were_written() -> None:
    """A case and an expected invocation both hold them."""
    case = EvalCase("a", (Invocation(Message("Hi"), checks=CHECKS[:2]),), checks=CHECKS)
    again = read_case(json.loads(json.dumps(case_json(case))))
    assert again.checks == CHECKS
    assert again.conversation is not None
    assert again.conversation[0].checks == CHECKS[:2]


def test_a_wrong_check_is_refused_with_its_pointer() -> None:
    """Otherwise nobody would notice that it checks nothing."""
    conversation = [{"user_content": {"parts": [{"text": "Hi"}]}, "checks": [{"contains": "a"}, {"regexp": "b"}]}]
    with pytest.raises(FormatError) as caught:
        read_case({"eval_id": "a", "conversation": conversation})
    assert "/eval_cases/0/conversation/0/checks/1/regexp: is not a known key; did you mean 'regex'?" in str(
        caught.value
    )


def test_columns_of_a_table_are_checks() -> None:
    """A cell is a text, or an array if the kind compares several. An empty cell is no check."""
    rows = [
        "question,check_contains,check_one_of,check_equals,check_regex,checks",
        'Where?,A-17,,,[A-Z]-\\d+,"[{""not_contains"": ""refund""}]"',
        'Really?,"[""a"", ""b""]","[""yes"", ""no""]","[1]",,',
        'And?,[x],,,,"{""starts_with"": ""Well""}"',
    ]
    loaded = read("\n".join(rows).encode(), "shop.csv")
    assert loaded.eval_set is not None
    assert [case.checks for case in loaded.eval_set.cases] == [
        (Check("not_contains", "refund"), Check("contains", "A-17"), Check("regex", r"[A-Z]-\d+")),
        (Check("equals", "[1]"), Check("contains", ["a", "b"]), Check("one_of", ["yes", "no"])),
        (Check("starts_with", "Well"), Check("contains", "[x]")),
    ]
    assert "nothing is expected" not in loaded.notes[0]


def test_a_wrong_cell_is_refused_with_its_line() -> None:
    """A pattern that cannot be compiled would match nothing."""
    with pytest.raises(FormatError, match=r"line 3, /check_regex/regex: must be a regular expression"):
        read(b"question,check_regex\nWhere?,a+\nWhy?,(\n", "shop.csv")


@pytest.mark.parametrize("cell", ['[{"regex": "\\d"}]', "A-17"])
def test_a_cell_that_is_no_json_is_refused(cell: str) -> None:
    """A backslash of an expression is often written once, and the message says that the JSON is broken."""
    row = cell.replace('"', '""')
    with pytest.raises(FormatError, match=r"line 2, /checks: must be JSON, for example"):
        read(f'question,checks\nWhere?,"{row}"\n'.encode(), "shop.csv")


def test_a_column_with_another_name_can_be_chosen() -> None:
    """The names of a user's table need not change."""
    loaded = read(b"question,must say\nWhere?,A-17\n", "shop.csv", columns={"check_contains": "must say"})
    assert loaded.eval_set is not None
    assert loaded.eval_set.cases[0].checks == (Check("contains", "A-17"),)


def test_a_program_gives_checks_to_its_cases() -> None:
    """Dicts in the form of a file, and objects of the class Check, do the same."""
    cases = [
        Case("Where is A-17?", checks=[{"contains": "way"}, Check("not_contains", "refund")]),
        Case("Where is A-18?", checks=[{"contains": "lost"}]),
        Case("Hello?"),
    ]
    run = fairtrial.evaluate(cases, lambda _: "It is on its way.", {"checks_v1": 1.0})
    assert [result.verdict for result in run.cases] == [Verdict.PASSED, Verdict.FAILED, Verdict.INFORMATIONAL]
    (outcome, *_) = run.cases[1].outcomes
    assert outcome.score.parts[-1].reason == "expected the reply to contain 'lost', got 'It is on its way.'"


def test_checks_of_a_configuration_hold_for_every_case() -> None:
    """A guard need not be written into each case."""
    criteria = {"checks_v1": {"threshold": 1.0, "checks": [{"not_contains": "as an AI", "ignore_case": True}]}}
    replies = {"a": "As an AI, I cannot say.", "b": "It is here."}
    run = fairtrial.evaluate(
        [Case("a"), Case("b")], lambda conversation: replies[conversation.invocations[-1].query], criteria
    )
    assert [result.verdict for result in run.cases] == [Verdict.FAILED, Verdict.PASSED]
