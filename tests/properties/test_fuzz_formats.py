"""Reading any bytes ends in a file that was read, or in a diagnosis."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import eval_set, load, said
from fairtrial.errors import FormatError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.jsontext import count_quotes, quote_count
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read
from strategies import eval_sets, json_values, texts


def _tried(data: bytes) -> Loaded | FormatError:
    try:
        return read(data, "fuzz.json")
    except FormatError as error:
        return error


def outcome(data: bytes) -> Loaded | FormatError:
    """What comes of these bytes; anything but a file that was read and can be kept, or a diagnosis, is a defect."""
    found = _tried(data)
    if isinstance(found, FormatError):
        assert found.problems
        str(found).encode()
        return found
    msgspec.json.encode(found)
    if found.eval_set is not None:
        dumps(found.eval_set)
    return found


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xff\xfe")
@example(b"\xff\xfe\x00\xd8")
@example(b"\x00\x00\xfe\xff")
@example(b"\xef\xbb\xbf")
@example(b"[\xef\xbb\xbf]")
@example(b'{"eval_cases": [{"\xff": 1}]}')
@example(b'{"eval_cases"')
def test_any_bytes(data: bytes) -> None:
    """Bytes of no meaning."""
    outcome(data)


@given(st.text('{}[]",:/*\\\n 1eE.-ntu', max_size=60))
def test_anything_that_resembles_json(text: str) -> None:
    """The characters of JSON and of comments, in any order."""
    outcome(text.encode())


@pytest.mark.long
@given(json_values)
def test_any_json(value: Any) -> None:
    """JSON of no known kind."""
    outcome(json.dumps(value).encode())


TEMPLATES: list[Any] = [
    eval_set(
        {
            "user_content": said("hi"),
            "final_response": said("hello"),
            "intermediate_data": {
                "tool_uses": [{"name": "f", "args": {"x": 1}}],
                "intermediate_responses": [["a", []]],
            },
            "rubrics": [{"rubric_id": "r", "rubric_content": {"text_property": "x"}}],
            "app_details": {"agent_details": {"a": {"name": "a", "tool_declarations": [{}]}}},
            "creation_timestamp": 1.5,
        },
        session_input={"app_name": "a", "state": {}},
        creation_timestamp=1.5,
    ),
    eval_set(
        {"user_content": said("hi"), "intermediate_data": {"invocation_events": [{"author": "a", "content": {}}]}}
    ),
    {
        "eval_cases": [
            {
                "eval_id": "a",
                "conversation_scenario": {
                    "starting_prompt": "a",
                    "conversation_plan": "b",
                    "user_persona": {"id": "x", "behaviors": [{"name": "n", "violation_rubrics": ["r"]}]},
                },
            }
        ]
    },
    {
        "evalCases": [
            {
                "evalId": "a",
                "conversation": [{"userContent": {"content": "x"}, "tools": [{"name": "f", "arguments": {}}]}],
                "actualConversation": [{"userContent": {"content": "x"}}],
            }
        ]
    },
    [{"query": "hi", "expected_tool_use": [{"tool_name": "f", "tool_input": {}}], "reference": "x"}],
    [{"name": "a", "data": [{"query": "hi"}], "initial_session": {"state": {}, "app_name": "a"}}],
    {"id": "s", "state": {}, "events": [{"author": "user", "content": said("hi"), "usage_metadata": {}}]},
    {
        "eval_set_id": "t",
        "eval_case_results": [
            {"eval_id": "a", "eval_metric_result_per_invocation": [{"actual_invocation": {"user_content": said("x")}}]}
        ],
    },
    {
        "criteria": {"response_match_score": {"threshold": 1, "rougeType": "rouge1"}},
        "custom_metrics": {
            "m": {"code_config": {"name": "a.b"}, "metric_info": {"metric_value_info": {"interval": {"min_value": 0}}}}
        },
    },
    {
        "id": "x",
        "tools": [{"function": {"name": "f"}}],
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "user", "content": [{"text": "x"}]},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "{}"},
        ],
    },
    [
        {
            "task_id": 1,
            "reward": 1.0,
            "trial": 0,
            "info": {"task": {"actions": [{"name": "f", "kwargs": {}}]}},
            "traj": [{"role": "user", "content": "x"}],
        }
    ],
    {
        "system": "Be kind.",
        "tools": [{"name": "f"}],
        "messages": [
            {"role": "user", "content": [{"type": "image", "source": {"data": "AA=="}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"text": "2"}]}]},
        ],
    },
    [
        {"role": "user", "content": [{"text": "hi"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"json": {}}]}}]},
        {
            "role": "assistant",
            "content": [{"citationsContent": {"content": [{"text": "a"}]}}],
            "metadata": {"usage": {}},
        },
    ],
    {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "x"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ],
    },
    [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "x"}]},
        {"type": "reasoning", "summary": [{"text": "hm"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "2"}]},
        {"type": "web_search_call", "id": "2", "action": {"query": "x"}},
    ],
    [
        {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi"}},
        {
            "type": "ai",
            "data": {
                "content": [{"type": "text", "text": "a"}, {"type": "image", "base64": "AA=="}],
                "tool_calls": [{"name": "f", "args": {}, "id": "1"}],
                "additional_kwargs": {"tool_calls": [{"function": {"name": "f"}}]},
                "usage_metadata": {"input_tokens": 1},
            },
        },
        {"type": "tool", "content": "2", "tool_call_id": "1", "status": "error"},
    ],
    [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["hi", {"url": "x"}]}]},
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "1"}],
            "usage": {"input_tokens": 1, "details": {"reasoning_tokens": 1}},
        },
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "f", "content": {}}]},
    ],
    [
        {"role": "user", "parts": [{"type": "text", "text": "hi"}, {"type": "file", "url": "https://x.example"}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {}}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "1", "output": {"type": "text", "value": "2"}}],
        },
        {"role": "assistant", "parts": [{"type": "tool-f", "input": {}, "output": {}}]},
    ],
]

ARGS = (
    '{"eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {}, "intermediate_data": '
    '{"tool_uses": [{"name": "f", "args": '
)
END = "}]}}]}]}"


ANYTHING: list[Any] = [None, True, -1, 1.5, 10**25, "x", [], [[]], {}, {"": {}}, ["x"], [None], [{}]]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in _places(one, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    head, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[head] = _with(copy[head], tuple(rest), new)
    return copy


@pytest.mark.long
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: json.dumps(one)[:30])
def test_a_valid_file_with_anything_in_any_place(template: Any) -> None:
    """Every value of a small file of each kind, replaced by a value of every type."""
    for path in _places(template):
        for new in ANYTHING:
            outcome(json.dumps(_with(template, path, new)).encode())


@given(st.sampled_from(TEMPLATES), st.data())
def test_a_valid_file_with_bytes_changed(template: Any, data: st.DataObject) -> None:
    """A piece of a small file of each kind, cut out or replaced."""
    raw = json.dumps(template).encode()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 20)))
    outcome(raw[:start] + data.draw(st.binary(max_size=6)) + raw[end:])


@pytest.mark.long
@given(
    eval_sets(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp949", "shift-jis", "gb18030"]),
)
def test_an_eval_set_in_any_encoding(document: dict[str, Any], encoding: str) -> None:
    """National encodings of the text, with and without marks of their byte order."""
    outcome(json.dumps(document, ensure_ascii=False).encode(encoding, "replace"))


@given(texts, st.sampled_from([r"\ud800", r"\udfff\ud800", r"\ud83d\u0000"]))
def test_half_surrogates_anywhere(text: str, half: str) -> None:
    """Escapes of half a pair in keys and in values."""
    quoted = json.dumps(text)[1:-1]
    for raw in (
        f'{{"eval_set_id": "{quoted}{half}", "eval_cases": []}}',
        f'{{"eval_cases": [{{"eval_id": "{half}", "conversation": []}}]}}',
        f'{{"eval_cases": [], "{half}{quoted}": 1}}',
        f'[{{"role": "user", "content": "{half}"}}]',
    ):
        assert isinstance(outcome(raw.encode()), FormatError)


@given(st.integers(1, 6000), st.sampled_from(["", "-", "1.", "1e", "1e-", "0."]))
def test_numbers_of_any_length(digits: int, before: str) -> None:
    """Numbers of thousands of digits, and exponents beyond every number."""
    number = before + "9" * digits
    outcome(f'{{"eval_cases": [], "x": {number}}}'.encode())
    outcome(f'{ARGS}{{"x": {number}}}{END}'.encode())


DEEP = [
    ("[", "]"),
    ('{"a":', "}"),
    ('{"criteria":', "}"),
    ('{"eval_cases":', "}"),
    ('{"eval_cases":[', "]}"),
    ('[{"query":', "}]"),
    ('{"events":[', "]}"),
    ('[{"role":', "}]"),
    ('{"messages":[', "]}"),
]


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), DEEP, ids=[before for before, _ in DEEP])
def test_nesting_of_any_depth(before: str, after: str) -> None:
    """Nesting bombs, those included that are nearly shallow enough."""
    for depth in (50, 300, 900, 940, 970, 985, 1000, 1100, 50_000):
        outcome((before * depth).encode())
        for middle in ("", "1", "NaN", "//", ",", r'"\ud800"'):
            outcome((before * depth + middle + after * depth).encode())


def test_arguments_of_any_depth_are_kept_or_refused() -> None:
    """What was read can be stored and written; what could not be is refused when it is read."""
    for depth in (300, 900, *range(950, 1000, 3), 1100):
        outcome((ARGS + '{"x":' * depth + "1" + "}" * depth + END).encode())


@pytest.mark.parametrize("piece", ["/*", "//\n", '"', "\\", ",", ", ", "}", "[", "{", "/*/", '"\n', "\n", "// x\n,]"])
def test_no_text_takes_long(piece: str) -> None:
    """A quarter of a megabyte of anything is read in time that grows with its size, not with its square."""
    outcome((piece * (250_000 // len(piece))).encode())


def test_lenient_changes_no_outcome_of_valid_files() -> None:
    """`lenient` only forgives."""
    for template in TEMPLATES:
        assert load(template, lenient=True).kind == load(template).kind


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_a_text_without_duplicate_keys_has_the_quotes_of_its_value(value: Any, ascii_only: bool, indent: int) -> None:
    """So the count shows that no key stands there twice, in any spelling of the text."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=(" ,", " : "))
    assert quote_count(text.encode()) == count_quotes(value)


@given(json_values, texts, json_values)
def test_a_duplicate_key_changes_the_count_of_quotes(value: Any, key: str, other: Any) -> None:
    """A decoder drops the first of two equal keys with its quotes."""
    pair = f"{json.dumps(key)}: {json.dumps(other)}"
    text = f"[{{{pair}, {pair}}}, {json.dumps(value)}]"
    assert quote_count(text.encode()) > count_quotes(json.loads(text))
