"""Files that cannot be read are reported with the place, the value and the allowed values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from builders import eval_set, load, said
from fairtrial import EvalCase, EvalSet, UsageError, api, evaluate
from fairtrial.errors import FormatError
from fairtrial.formats import jsontext


def problems(document: Any, *, lenient: bool = False) -> tuple[str, ...]:
    """The problems of a document that cannot be read."""
    with pytest.raises(FormatError) as caught:
        load(document, lenient=lenient)
    return caught.value.problems


TURN = {"user_content": said("hi")}

MISTAKES: list[tuple[Any, str]] = [
    (
        eval_set({**TURN, "finalResponze": said("x")}),
        "/eval_cases/0/conversation/0/finalResponze: is not a known key; did you mean 'final_response'?",
    ),
    (
        eval_set(TURN, eval_idd="x"),
        "/eval_cases/0/eval_idd: is not a known key; did you mean 'eval_id'?",
    ),
    (
        eval_set({**TURN, "intermediate_data": {"tool_usess": []}}),
        "/eval_cases/0/conversation/0/intermediate_data/tool_usess: is not a known key; did you mean 'tool_uses'?",
    ),
    (
        eval_set({"user_content": {"parts": [{"functional_call": {"name": "f"}}]}}),
        "/eval_cases/0/conversation/0/user_content/parts/0/functional_call: is not a known key; did you mean 'fun",
    ),
    (eval_set({}), "/eval_cases/0/conversation/0: must have 'user_content'"),
    (
        eval_set({"user_content": "hi"}),
        "/eval_cases/0/conversation/0/user_content: must be an object, got 'hi'",
    ),
    (
        eval_set({"user_content": {"parts": [{"text": 5}]}}),
        "/eval_cases/0/conversation/0/user_content/parts/0/text: must be a string, got 5",
    ),
    (
        eval_set({**TURN, "intermediate_data": {"tool_uses": [{"args": {}}]}}),
        "/eval_cases/0/conversation/0/intermediate_data/tool_uses/0: must have 'name'",
    ),
    (
        eval_set({**TURN, "intermediate_data": {"tool_uses": [{"name": "f", "args": [1]}]}}),
        "/eval_cases/0/conversation/0/intermediate_data/tool_uses/0/args: must be an object, got an array of 1",
    ),
    (
        eval_set({**TURN, "intermediate_data": {"intermediate_responses": [["a", "b"]]}}),
        "/eval_cases/0/conversation/0/intermediate_data/intermediate_responses/0: must be a pair [author, [part, ...]]",
    ),
    (
        eval_set({**TURN, "duration": "2s"}),
        "/eval_cases/0/conversation/0/duration: must be a number, got '2s'",
    ),
    (
        eval_set({**TURN, "rubrics": [{"rubric_id": "r", "rubric_content": "short"}]}),
        "/eval_cases/0/conversation/0/rubrics/0/rubric_content: must be an object {'text_property': '...'}, got ",
    ),
    (
        eval_set({**TURN, "intermediate_data": {}, "tools": []}),
        "/eval_cases/0/conversation/0: must not have both 'intermediate_data' and 'tools' or 'intermediate_responses'",
    ),
    (
        eval_set({**TURN, "intermediate_data": {"invocation_events": [], "tool_uses": [{"name": "f"}]}}),
        "/eval_cases/0/conversation/0/intermediate_data: must not have 'invocation_events' beside 'tool_uses'",
    ),
    (
        eval_set({**TURN, "userContent": said("again")}),
        "/eval_cases/0/conversation/0/userContent: stands there twice, as 'user_content' and as 'user",
    ),
    (
        {"eval_set_id": "t", "eval_cases": [{"eval_id": "a"}]},
        "/eval_cases/0: must have exactly one of 'conversation' and 'conversation_scenario', got neither",
    ),
    (
        eval_set(TURN, conversation_scenario={"starting_prompt": "a", "conversation_plan": "b"}),
        "/eval_cases/0: must have exactly one of 'conversation' and 'conversation_scenario', got both",
    ),
    (
        {
            "eval_set_id": "t",
            "eval_cases": [{"eval_id": "a", "conversation": []}, {"eval_id": "a", "conversation": []}],
        },
        "/eval_cases/1/eval_id: must be unique, got 'a' as in case 0",
    ),
    ({"eval_set_id": "t", "eval_cases": {}}, "/eval_cases: must be an array of cases, got an empty object"),
    (
        {"eval_set_id": "t", "eval_cases": ["a"]},
        "/eval_cases/0: must be a case {'eval_id': ..., 'conversation': [...]}, got 'a'",
    ),
    ([{"query": 5}], "/0/query: must be a string, got 5"),
    (
        [{"query": "hi", "expected_tool_usage": []}],
        "/0/expected_tool_usage: is not a known key; did you mean 'expected_tool_use'?",
    ),
    ([{"name": "a", "data": []}, {"name": "a", "data": []}], "/1/name: must be unique, got 'a' as in case 0"),
    ({"id": "s", "events": ["x"]}, "/events/0: must be an object, got 'x'"),
    (
        {"id": "s", "events": [{"author": "a", "usage_metadata": {"prompt_token_count": -1}}]},
        "/events/0/usage_metadata/prompt_token_count: must be a whole number, 0 or more, got -1",
    ),
    ({"messages": [{"role": "robot"}]}, "/messages/0: must be a message with a role of system, developer"),
    (
        [{"task_id": 1, "info": {"task": {"actions": [{"name": "f", "kwargs": [1]}]}}, "traj": []}],
        "/0/info/task/actions/0: must be an action {'name': ..., 'kwargs': {...}}",
    ),
]


@pytest.mark.parametrize(("document", "problem"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_is_named_at_its_place(document: Any, problem: str) -> None:
    """The message starts with a JSON pointer, says what was got, and what is allowed."""
    assert any(one.startswith(problem) for one in problems(document)), problems(document)


def test_all_mistakes_are_listed_at_once() -> None:
    """Nobody should have to run it again for each mistake."""
    document = eval_set({"user_content": 5}, {"user_content": said("x"), "duration": "y"}, eval_idd=1)
    assert len(problems(document)) == 3


def test_lenient_keeps_a_misspelt_key_with_a_warning() -> None:
    """For files newer than we are, `lenient` makes a near miss a warning."""
    found = load(eval_set({**TURN, "finalResponze": said("x")}), lenient=True)
    assert "/eval_cases/0/conversation/0/finalResponze: unknown key, ignored" in found.warnings[0]


def test_an_unknown_key_that_resembles_none_is_refused() -> None:
    """Nothing reads its value, and a check that nothing reads would always pass."""
    (problem,) = problems(eval_set({**TURN, "weather": "fine"}))
    assert problem.startswith(
        "/eval_cases/0/conversation/0/weather: is not a known key; known are 'invocation_id', 'user_content', "
    )


def test_lenient_keeps_an_unknown_key_with_a_warning() -> None:
    """The key is written back, and the file is read."""
    found = load(eval_set({**TURN, "weather": "fine"}), lenient=True)
    place = "trips.evalset.json: /eval_cases/0/conversation/0/weather"
    assert found.warnings == (f"{place}: unknown key, ignored (it is preserved when the file is written back)",)


CALLS = "; expected calls stand in an invocation, in 'intermediate_data': {'tool_uses': "
REPLY = "; the expected reply stands in an invocation, in 'final_response': {'parts': "


def data(**fields: Any) -> dict[str, Any]:
    """An eval set whose one invocation has this intermediate data."""
    return eval_set({**TURN, "intermediate_data": fields})


@pytest.mark.parametrize(
    ("document", "place", "form"),
    [
        (data(tool_calls=[{"name": "f"}]), "conversation/0/intermediate_data/tool_calls", CALLS),
        (data(functionCalls=[{"name": "f"}]), "conversation/0/intermediate_data/functionCalls", CALLS),
        (data(tools=["f"]), "conversation/0/intermediate_data/tools", CALLS),
        (eval_set({**TURN, "expected_tool_use": []}), "conversation/0/expected_tool_use", CALLS),
        (eval_set({**TURN, "tool_uses": [{"name": "f"}]}), "conversation/0/tool_uses", CALLS),
        (eval_set({**TURN, "function_calls": [{"name": "f"}]}), "conversation/0/function_calls", CALLS),
        (
            data(tool_uses=[{"name": "f", "input": {}}]),
            "conversation/0/intermediate_data/tool_uses/0/input",
            "; the ar",
        ),
        (eval_set({**TURN, "expected_response": "x"}), "conversation/0/expected_response", REPLY),
        (eval_set({**TURN, "reference": "x"}), "conversation/0/reference", REPLY),
        (eval_set({**TURN, "response": "x"}), "conversation/0/response", REPLY),
        (eval_set({**TURN, "agent_content": {}}), "conversation/0/agent_content", REPLY),
        (eval_set({"user_content": {"text": "hi"}}), "conversation/0/user_content/text", "; known are 'parts', 'role'"),
        (eval_set(TURN, expected_output="x"), "expected_output", REPLY),
        (eval_set(TURN, reference="x"), "reference", REPLY),
        (eval_set(TURN, tool_uses=[]), "tool_uses", "; expected calls stand in"),
        (eval_set(TURN, expected_state={}), "expected_state", "; known are 'eval_id'"),
    ],
    ids=str,
)
def test_an_expectation_under_a_wrong_key_names_the_right_form(document: Any, place: str, form: str) -> None:
    """Such a file used to be read with a warning, and an agent that did nothing passed it."""
    (problem,) = problems(document)
    assert problem.startswith(f"/eval_cases/0/{place}: is not a known key")
    assert form in problem


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"eval_set_id": "t", "eval_cases": [], "eval_cases": []}', "/eval_cases"),
        ('{"eval_set_id": "t", "eval_set_id" : "u", "eval_cases": []}', "/eval_set_id"),
        ('{"eval_cases": [{"eval_id": "a", "conversation": [], "conversation": []}]}', "/eval_cases/0/conversation"),
        ('{"eval_cases": [{"eval_id": "a", "conversation": [], "x": {"\\u0022:": 1, "k": 1, "k": 1}}]}',
         "/eval_cases/0/x/k"),
        ('[{"query": "a", "reference": "b", "reference": "c"}]', "/0/reference"),
    ],
)  # fmt: skip
def test_a_key_of_an_eval_set_that_stands_there_twice_is_refused(text: str, place: str) -> None:
    """JSON readers keep the last in silence, so that half of the cases could be lost."""
    assert problems(text) == (f"{place}: stands there twice; keep one",)


@pytest.mark.parametrize("text", [" :", '": ', '\\": ', "\\u0022: ", "\\u003a"])
def test_text_that_looks_like_a_key_is_no_second_key(text: str) -> None:
    """Quotes and colons in texts are not counted as keys."""
    document = json.dumps(eval_set({"user_content": said("hi")})).replace(
        '"hi"', f'"{text}"' if "\\" in text else json.dumps(text)
    )
    assert load(document).eval_set is not None


def test_unknown_keys_of_a_case_need_no_warning() -> None:
    """ADK itself allows further keys on a case, and ignores them on a set."""
    assert load({**eval_set(TURN, my_own="x"), "mine": 1}).warnings == ()


def test_syntax_errors_name_line_and_column() -> None:
    """The comma is missing at line 2, column 13."""
    (problem,) = problems('{"eval_set_id": "t",\n "x": {"y": 1 "z": 2}}')
    assert problem.startswith("line 2, column 15: is not JSON: ")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_named_at_their_place(number: str) -> None:
    """JSON has no NaN and no infinity."""
    (problem,) = problems('{"eval_set_id": "t", "eval_cases": [], "x": {"y": [1, ' + number + "]}}")
    assert problem.startswith("/x/y/1: must be a finite number, got ")


def test_numbers_too_long_to_be_one_are_named_at_their_place() -> None:
    """Python reads whole numbers of up to 4,300 digits; nobody wrote a longer one."""
    (problem,) = problems('{"eval_set_id": "t", "eval_cases": [], "x": ' + "1" * 5000 + "}")
    assert problem == "/x: must be a number of at most 4,300 digits, got one of 5000"


def test_whole_numbers_keep_all_their_digits() -> None:
    """An id of 30 digits is not rounded."""
    number = 123456789012345678901234567890
    found = load(eval_set({**TURN, "intermediate_data": {"tool_uses": [{"name": "f", "args": {"id": number}}]}}))
    assert found.eval_set is not None
    assert (found.eval_set.cases[0].conversation or ())[0].tool_calls[0].args == {"id": number}


def test_half_a_surrogate_pair_is_named_at_its_place() -> None:
    """Half of a pair is no Unicode text, and could not be written back."""
    (problem,) = problems(r'{"eval_set_id": "t", "eval_cases": [], "x": "\ud800"}')
    assert problem == "/x: must be Unicode text, got half of a surrogate pair"


@pytest.mark.parametrize("encoding", ["cp949", "shift-jis", "gb18030"])
def test_another_encoding_is_named_with_its_place(encoding: str) -> None:
    """A file of Korean, Japanese or Chinese text in a national encoding says what to do."""
    text = {"cp949": "한국어", "shift-jis": "日本語", "gb18030": "简体中文"}[encoding]
    (problem,) = problems(b'{"eval_set_id": "' + text.encode(encoding) + b'", "eval_cases": []}')
    assert problem.startswith("line 1, column 18: is not UTF-8 text (byte 0x")
    assert problem.endswith("); save the file as UTF-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf_16_is_read_with_a_warning(encoding: str) -> None:
    """Windows tools write it; its mark says what it is."""
    found = load('{"eval_set_id": "여행", "eval_cases": []}'.encode(encoding))
    assert found.eval_set is not None
    assert found.eval_set.id == "여행"
    assert found.warnings == (f"trips.evalset.json: is {encoding.upper()}; JSON files are UTF-8",)


def test_a_byte_order_mark_is_read_without_a_word() -> None:
    """UTF-8 with a mark is UTF-8."""
    assert load('{"eval_set_id": "t", "eval_cases": []}'.encode("utf-8-sig")).warnings == ()


def test_an_empty_file_says_so() -> None:
    """There is nothing to point at."""
    assert problems(" \n") == ("is empty",)


def test_nesting_that_nobody_wrote_is_refused() -> None:
    """A nesting bomb is told as one."""
    (problem,) = problems("[" * 100_000 + "]" * 100_000)
    assert "nested too deeply" in problem


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"resourceSpans": []}, "OTLP spans, but not one span"),
        ({"batches": []}, "OTLP spans, but not one span"),
        ([{"metricName": "x"}], "tRPC-Agent-Go metrics"),
    ],
)
def test_a_known_kind_that_is_not_read_is_called_by_its_name(document: Any, what: str) -> None:
    """What we recognise and cannot read is named."""
    assert what in problems(document)[0]


@pytest.mark.parametrize("document", [5, None, "x", True, [], {}, [1], {"a": "b"}])
def test_anything_else_says_what_would_be_read(document: Any) -> None:
    """A document of no known kind has one problem, which names the most common format."""
    (problem,) = problems(json.dumps(document))
    assert problem.startswith("/: is not in a format that is read here; an eval set {'eval_set_id': ...")


@pytest.mark.parametrize(
    ("document", "meant"),
    [
        ({"eval_case": []}, "an eval set {"),
        ({"evalset_id": "t", "evals": [{"eval_id": "a"}]}, "an eval set {"),
        ({"response_match_score": 1}, "an EvalConfig {"),
        ({"session_events": [], "app_name": "x", "user_id": "y"}, "a session {"),
        ([{"querys": "hi", "references": "x", "expected_tool_uses": []}], "an old test file ["),
        ({"message": [{"role": "user"}]}, "chat messages {"),
        ([{"rol": "user", "content": "x"}], "chat messages ["),
        ({"case": "a", "traces": {}, "attempt": 1}, "a recording {"),
    ],
)
def test_the_nearest_format_is_named(document: Any, meant: str) -> None:
    """One format helps; a list of all of them does not."""
    (problem,) = problems(document)
    assert f"; the nearest is {meant}" in problem


def test_cases_of_another_kind_are_one_problem() -> None:
    """Thirty cases that are none have one problem, not three each."""
    document = {"eval_set_id": "t", "eval_cases": [{"input": "hi", "expected": "hello"}] * 30}
    (problem,) = problems(document)
    assert problem.startswith("/eval_cases/0: must be a case such as {'eval_id': ..., 'conversation': [")
    assert problem.endswith("got an object with the keys 'input', 'expected'")


def test_a_file_has_at_most_twenty_lines_of_problems() -> None:
    """Nineteen problems are named, and the last line says that there may be more."""
    cases = [{"eval_id": f"c{i}", "conversation": [{"user_content": 5}]} for i in range(100)]
    found = problems({"eval_set_id": "t", "eval_cases": cases})
    assert len(found) == 20
    assert found[18] == "/eval_cases/18/conversation/0/user_content: must be an object, got 5"
    assert found[19] == "reading stops after this many problems; repair them, and read the file again"


def test_a_list_of_conversations_and_something_else_is_a_diagnosis() -> None:
    """A number among conversations is named at its place."""
    (problem,) = problems([[{"role": "user", "content": "hi"}], 5])
    assert problem == "/1: must be a conversation: an array of messages, or an object with 'messages', got 5"


HOSTILE = {
    "copied out of a log": r"{\"k\":\"v\"",
    "quotes and slashes": '"//',
    "strings without an end": '"x\n//',
    "fences": "```\n",
    "commas": ", \n",
    "comments": "/*",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_of_a_megabyte_is_a_diagnosis(unit: str) -> None:
    """A scanner that took quadratic time would need an hour for each of these texts."""
    assert len(problems(unit * (2**20 // len(unit)))) == 1


def test_a_line_with_an_open_string_is_looked_at_once() -> None:
    """The scanner consumes all text up to the end of the line, although no quote ends the string."""
    text = r"{\"k\":\"v\"" * 1000
    for pattern in (jsontext._COMMENT, jsontext._COMMA):
        (match,) = pattern.finditer(text)
        assert match.end() == len(text)


def test_repairs_are_counted_after_twenty() -> None:
    """Twenty places are named, and one more line counts the others."""
    found = load('{"eval_set_id": "t", "eval_cases": [], "x": [' + "[1,], " * 30 + "1]}")
    assert len(found.warnings) == 21
    assert found.warnings[20] == "trips.evalset.json: a trailing comma is not JSON; 10 more are read without"


def test_more_repairs_than_anyone_would_write_are_refused() -> None:
    """A file of a hundred thousand trailing commas is not worth a guess."""
    (problem,) = problems("[" + "[1,]," * 100_001 + "1]")
    assert problem == "is not JSON: a trailing comma stands in more than 100,000 places; write JSON"


NOT_KNOWN = "which is not a known key; got an object with the keys"
MISSPELT = "/criterai: is not a known key; got an object with the keys 'criterai', 'attempts'; did you mean 'criteria'?"
CONFIG_FORM = "an EvalConfig is {'criteria': {NAME: THRESHOLD}}"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (
            {"criterai": {"response_match_score": 0.5}, "attempts": 3},
            MISSPELT,
        ),
        (
            {"evaluation": {"criteria": {"response_match_score": {"threshold": 0.5}}}},
            f"/evaluation/criteria: stands below 'evaluation', {NOT_KNOWN} 'evaluation'; {CONFIG_FORM}",
        ),
        (
            {"a/b": {"Criteria": {"response_match_score": 0.5}}},
            f"/a~1b/Criteria: stands below 'a/b', {NOT_KNOWN} 'a/b'; {CONFIG_FORM}",
        ),
    ],
)
def test_misplaced_criteria_are_named_by_their_place(document: Any, problem: str) -> None:
    """The nearest format would be another: a recording has attempts, too."""
    assert problems(document) == (problem,)


def test_a_misspelt_key_hides_no_problem_of_the_criteria(tmp_path: Path) -> None:
    """The command, the check and Python name all problems of a configuration at once."""
    content: dict[str, Any] = {"criteria": {"response_match_scor": 0.5}, "foo": {"x": 1}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    expected = [
        "/foo: is not a known key; known are",
        "/criteria/response_match_scor: is not a criterion; did you mean",
    ]
    (checked,) = api.check([str(path)])
    with pytest.raises(UsageError) as of_a_file:
        evaluate(EvalSet("s", (EvalCase("a"),)), str, path)
    with pytest.raises(UsageError) as of_python:
        evaluate(EvalSet("s", (EvalCase("a"),)), str, content)
    for told in (checked.problems, str(of_a_file.value).splitlines(), str(of_python.value).splitlines()):
        assert [part in line for part, line in zip(expected, told, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        ({"criterai": {"response_match_score": 0.5}}, "/criterai: is not a known key; did you mean 'criteria'?"),
        (
            {"attempts": 3, "response_match_score": 0.5},
            "/response_match_score: is not a known key; known are 'criteria'",
        ),
    ],
)
def test_a_configuration_in_python_is_not_taken_for_criteria(criteria: Any, problem: str) -> None:
    """Its keys are the keys of a configuration, with a mistake."""
    with pytest.raises(UsageError, match=re.escape(f"arguments: {problem}")):
        evaluate(EvalSet("s", (EvalCase("a"),)), str, criteria)
