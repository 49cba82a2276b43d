"""Documents, results and JSON in Korean, Japanese and both kinds of Chinese: what changes, and when nothing may."""

from __future__ import annotations

import json
from typing import Any

import pytest

from document_texts import DOCUMENTS, JSON_REPLIES, RESULTS, STATED_BY_USERS
from fairtrial.mutations.operator import Rules, Scene
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult
from fairtrial.text.language import is_traditional

ON_DOCUMENTS = ["document_dropped", "document_swapped", "document_corrupted"]
ON_JSON = [name for name in OPERATORS if name.startswith("json_")]


def scene(reply: str, result: Any = None, query: str = "?") -> Scene:
    """A conversation of one turn whose reply is expected as it stands."""
    steps = () if result is None else (ToolCall("search", {}), ToolResult("search", result))
    conversation = (Invocation(Message(query), steps, Message(reply)),)
    return Scene(EvalCase("one", conversation), conversation, 0, Rules(grounding=True))


def mutants(operator: str, base: Scene) -> list[Invocation]:
    """The turns that an operator makes of a scene, over some seeds."""
    made = (OPERATORS[operator].mutate(base, str(seed)) for seed in range(12))
    return [conversation[0] for conversation in made if conversation is not None]


def results(operator: str, base: Scene) -> list[Any]:
    """The different results of the tool in the mutants. The reply is the same in all of them."""
    turns = mutants(operator, base)
    assert {turn.reply for turn in turns} <= {base.reply}
    answers = [step.response for turn in turns for step in turn.steps or () if isinstance(step, ToolResult)]
    return [json.loads(text) for text in sorted({json.dumps(answer, ensure_ascii=False) for answer in answers})]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_behind_a_number_is_lost_exchanged_or_corrupted(name: str) -> None:
    """Nothing else changes: the other document and the reply stay."""
    own = DOCUMENTS[name]
    base = scene(own.reply, [own.first, own.second])
    assert results("document_dropped", base) == [[own.second]]
    assert results("document_swapped", base) == [[own.second, own.second]]
    assert results("document_corrupted", base) == [[own.corrupted, own.second]]


@pytest.mark.parametrize("operator", ON_DOCUMENTS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_stays_if_another_one_says_the_same_in_words(name: str, operator: str) -> None:
    """15만 원 is 150,000원, and 三十日 are 30日: without the first document, the reply still has its support."""
    own = DOCUMENTS[name]
    assert mutants(operator, scene(own.reply, [own.first, own.second, own.again])) == []


@pytest.mark.parametrize("operator", ON_DOCUMENTS)
@pytest.mark.parametrize("language", STATED_BY_USERS)
def test_a_document_stays_if_the_user_named_the_number_in_words(language: str, operator: str) -> None:
    """A reply may rest on the message."""
    query, reply, document = STATED_BY_USERS[language]
    assert mutants(operator, scene(reply, [document], query)) == []
    assert mutants("document_dropped", scene(reply, [document])) != []


@pytest.mark.parametrize("name", RESULTS)
def test_a_wrong_result_changes_the_reply_alike(name: str) -> None:
    """The number in the reply keeps its form, for example full width digits."""
    own = RESULTS[name]
    made = mutants("result_wrong", scene(own.reply, own.result))
    assert made
    for turn in made:
        assert turn.reply == own.wrong_reply
        assert [step.response for step in turn.steps or () if isinstance(step, ToolResult)] == [own.wrong_result]


@pytest.mark.parametrize("language", JSON_REPLIES)
@pytest.mark.parametrize("fenced", [False, True])
def test_a_broken_reply_in_json_keeps_its_letters(language: str, *, fenced: bool) -> None:
    """Each operator breaks the object in its own way, and no letter becomes an escape such as u00e9."""
    expected = JSON_REPLIES[language]
    text = json.dumps(expected, ensure_ascii=False)
    base = scene(f"```json\n{text}\n```" if fenced else text)
    for operator in ON_JSON:
        made = [turn.reply for turn in mutants(operator, base)]
        assert made, operator
        for reply in made:
            assert "\\u" not in reply
            assert not language.startswith("zh") or is_traditional(reply) == is_traditional(text)
            body = reply.removeprefix("```json\n").removesuffix("\n```")
            check_json(operator, expected, body)


def check_json(operator: str, expected: dict[str, Any], body: str) -> None:
    """What an operator makes of an object, or of its text."""
    if operator == "json_broken":
        with pytest.raises(json.JSONDecodeError):
            json.loads(body)
        return
    found = json.loads(body)
    changed = [key for key in expected.keys() & found.keys() if found[key] != expected[key]]
    lost, new = expected.keys() - found.keys(), found.keys() - expected.keys()
    assert (len(changed), len(lost), len(new)) == {
        "json_value_changed": (1, 0, 0),
        "json_type_changed": (1, 0, 0),
        "json_nulled": (1, 0, 0),
        "json_key_dropped": (0, 1, 0),
        "json_key_renamed": (0, 1, 1),
        "json_layout": (0, 0, 0),
    }[operator]
    if operator == "json_type_changed":
        (key,) = changed
        assert found[key] == str(expected[key])
    if operator == "json_nulled":
        assert found[changed[0]] is None
