"""Tables of people are read as eval sets and as recordings, and a guess is never silent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fairtrial.cli.option_names import name_option
from fairtrial.errors import FormatError, UsageError, spelling
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Message, ToolCall, ToolResult
from hostile_corpus import HOSTILE


def table(content: str | bytes | list[dict[str, Any]], path: str = "qa.csv", **columns: str) -> Loaded:
    """Return the content of a table. A list is written as JSON lines."""
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
        path = path.replace(".csv", ".jsonl")
    return read(content.encode() if isinstance(content, str) else content, path, columns=columns)


def cases(loaded: Loaded) -> tuple[EvalCase, ...]:
    """Return the cases of a table that has some."""
    assert loaded.eval_set is not None
    return loaded.eval_set.cases


def summary(loaded: Loaded) -> list[tuple[str, str | None, str | None]]:
    """Return the input, the reference and the recorded reply of each row, None if it has none."""
    replies = {recording.case_id: recording.trace.invocations[-1].reply for recording in loaded.recordings}
    return [
        (turns[-1].query, turns[-1].reply if turns[-1].final_response else None, replies.get(case.id))
        for case in cases(loaded)
        if (turns := case.conversation or ())
    ]


def problem(content: str | bytes | list[dict[str, Any]], **columns: str) -> str:
    """Return the message of a table that is refused."""
    with pytest.raises(FormatError) as caught:
        table(content, **columns)
    return str(caught.value)


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("input,output,expected", "input=input,expected=expected,reply=output"),
        ("Question,Answer,Reference", "input=Question,expected=Reference,reply=Answer"),
        ("question,answer,ground_truth", "input=question,expected=ground_truth,reply=answer"),
        ("user_input,response,reference", "input=user_input,expected=reference,reply=response"),
        ("prompt,completion,ideal", "input=prompt,expected=ideal,reply=completion"),
        ("input,actual_output,expectedOutput", "input=input,expected=expectedOutput,reply=actual_output"),
        ("질문,답변,정답", "input=질문,expected=정답,reply=답변"),
        ("質問,回答,正解", "input=質問,expected=正解,reply=回答"),
        ("问题,回答,标准答案", "input=问题,expected=标准答案,reply=回答"),
        ("問題,回答,標準答案", "input=問題,expected=標準答案,reply=回答"),
        ("inputs.question,outputs.answer,reference_outputs.answer", None),
    ],
)
def test_usual_names_of_columns_are_known(header: str, roles: str | None) -> None:
    """The user's message, the reply and the reference are found under the names of several tools and languages."""
    loaded = table(f"{header}\nHi?,hello,hello!\n")
    assert summary(loaded) in ([("Hi?", "hello!", "hello")], [("Hi?", "hello", "hello!")])
    assert summary(loaded) == [("Hi?", "hello!", "hello")]
    if roles is not None:
        columns = dict(pair.split("=") for pair in roles.split(","))
        assert loaded.notes == (f"qa.csv: read with columns={columns}",)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (name_option, "--map input=question,expected=ideal"),
        (str, "columns={'input': 'question', 'expected': 'ideal'}"),
        (lambda _: "", "input=question,expected=ideal"),
    ],
    ids=["command", "Python", "init"],
)
def test_the_note_names_columns_as_the_caller_can_write_them(name: Callable[[str], str], written: str) -> None:
    """With the option, with the argument in Python, and for `fairtrial init` with neither."""
    with spelling(name):
        assert table("question,ideal\nHi?,hello\n").notes == (f"qa.csv: read with {written}",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_spreadsheet_is_read(encoding: str, delimiter: str, end: str) -> None:
    """Encodings, delimiters and ends of lines of Excel, LibreOffice, Numbers and databases, with quoted cells."""
    rows = [["질문", "정답"], ['"어디에, 있나요?; 네|"', '"그는 ""여기""라고' + end + '했다"'], ["質問", "答え"]]
    text = end.join(delimiter.join(row) for row in rows) + end
    loaded = table(text.encode(encoding))
    assert summary(loaded) == [
        ("어디에, 있나요?; 네|", f'그는 "여기"라고{end}했다', None),
        ("質問", "答え", None),
    ]


def test_a_hint_of_excel_and_empty_lines_are_skipped() -> None:
    """Excel writes `sep=;` as the first line, and an index of pandas has a column without a name."""
    loaded = table("sep=;\n\n;question;reference\n0;Hi?;Hello\n;;\n\n1;Bye?;Goodbye\n")
    assert summary(loaded) == [("Hi?", "Hello", None), ("Bye?", "Goodbye", None)]
    assert [case.id for case in cases(loaded)] == ["qa-1", "qa-2"]


def test_the_delimiter_of_the_hint_wins() -> None:
    """`sep=|` is used also if the header has more commas."""
    assert summary(table("sep=|\nquestion|reference|a,b,c,d\nHi?|Hello|x\n")) == [("Hi?", "Hello", None)]


def test_an_empty_cell_is_absent() -> None:
    """A row without a reference expects nothing, and a row without a reply was not recorded."""
    assert summary(table("question,reference,response\nHi?,,\nBye?,Goodbye,Bye\n")) == [
        ("Hi?", None, None),
        ("Bye?", "Goodbye", "Bye"),
    ]


def test_other_columns_are_kept_for_metrics() -> None:
    """A column without a part is in the case and in the recorded trace, and the note names it."""
    loaded = table([{"input": "Hi?", "output": "Hello", "level": 3, "tags": ["a"]}])
    assert cases(loaded)[0].extra == {"columns": {"level": 3, "tags": ["a"]}}
    assert loaded.recordings[0].trace.extra == {"level": 3, "tags": ["a"]}
    assert loaded.notes == (
        (
            "qa.jsonl: read with columns={'input': 'input', 'reply': 'output'}; nothing is expected; other columns: "
            "'level', 'tags'"
        ),
    )


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("question,answer\nHi?,Hello\n", {"expected": "answer"}, ("Hi?", "Hello", None)),
        ("question,answer\nHi?,Hello\n", {"input": "question", "reply": "answer"}, ("Hi?", None, "Hello")),
        ("instruction,input,output\nTranslate,cat,Katze\n", {"input": "instruction"}, ("Translate", None, "Katze")),
        ("x,y\nHi?,Hello\n", {"input": "x", "expected": "y"}, ("Hi?", "Hello", None)),
        ([{"turn": {"user": "Hi?"}, "gold": "Hello"}], {"input": "turn.user"}, ("Hi?", "Hello", None)),
        ([{"a.b": "Hi?", "gold": "Hello"}], {"input": "a.b"}, ("Hi?", "Hello", None)),
    ],
)
def test_the_user_names_columns(content: Any, columns: Mapping[str, str], expected: tuple[str | None, ...]) -> None:
    """A named column wins over every guess, also if the name is a member of an object."""
    assert summary(table(content, **columns)) == [expected]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (
            "question,answer\nHi?,Hello\n",
            {},
            "'answer' may be what is expected, or what the agent replied; write columns={'expected': 'answer'} or ",
        ),
        ("question,prompt\na,b\n", {}, "write columns={'input': 'question'} or columns={'input': 'prompt'}"),
        (
            "question,reference,ground_truth\na,b,c\n",
            {},
            "columns={'expected': 'reference'} or columns={'expected': 'ground_truth'}",
        ),
        (
            "a,b\n1,2\n",
            {},
            "has no column of the user's messages; write columns={'input': 'COLUMN'}; its columns are 'a', 'b'",
        ),
        (
            "question,b\n1,2\n",
            {"expected": "c"},
            "columns expected=c: has no such column; its columns are 'question', 'b'",
        ),
        (
            [{"inputs": {"a": "x", "b": "y"}}],
            {},
            "write columns={'input': 'inputs.a'} or columns={'input': 'inputs.b'}",
        ),
    ],
)
def test_an_ambiguous_table_is_refused(content: Any, columns: Mapping[str, str], message: str) -> None:
    """The message names the columns and says what to write."""
    assert message in problem(content, **columns)


def test_a_part_that_no_case_has_is_refused() -> None:
    """A misspelt part is named before a file is read."""
    from fairtrial.formats.datasets.column_roles import check_columns

    with pytest.raises(UsageError, match="'inputt' is not a part of a case; did you mean 'input'"):
        check_columns({"inputt": "question"})


LANGSMITH = {
    "id": "3f2c",
    "created_at": "2026-11-01T10:00:00Z",
    "dataset_id": "9a",
    "inputs": {"question": "Where is A-17?"},
    "outputs": {"answer": "It ships on Friday."},
    "metadata": {"dataset_split": ["base"]},
}


def test_a_dataset_of_langsmith_is_an_eval_set() -> None:
    """The outputs of an example are the reference, and its id names the case."""
    loaded = table([LANGSMITH, LANGSMITH | {"id": "4e", "inputs": {"question": "Hi?"}}])
    assert summary(loaded) == [("Where is A-17?", "It ships on Friday.", None), ("Hi?", "It ships on Friday.", None)]
    assert [case.id for case in cases(loaded)] == ["3f2c", "4e"]
    assert "{'input': 'inputs.question', 'expected': 'outputs.answer', 'id': 'id'}" in loaded.notes[0]


def test_an_experiment_of_langsmith_is_a_recording() -> None:
    """Beside `reference_outputs`, the outputs are what the agent replied."""
    row = {**LANGSMITH, "reference_outputs": {"answer": "On Friday."}}
    assert summary(table([row])) == [("Where is A-17?", "On Friday.", "It ships on Friday.")]


def test_a_csv_of_langsmith_holds_json_in_cells() -> None:
    """An export of a dataset as CSV writes the inputs and outputs as JSON."""
    text = 'id,inputs,outputs\n1,"{""question"": ""Hi?""}","{""answer"": ""Hello""}"\n'
    assert summary(table(text)) == [("Hi?", "Hello", None)]


def test_chats_of_langsmith_are_conversations() -> None:
    """Messages in `inputs` are the user's, and the message in `outputs` is the reference."""
    row = {
        "inputs": {"messages": [{"role": "user", "content": "Hi?"}]},
        "outputs": {"message": {"role": "assistant", "content": "Hello"}},
    }
    assert summary(table([row])) == [("Hi?", "Hello", None)]


def test_a_row_of_ragas_is_both() -> None:
    """The contexts are the evidence, and `reference_tool_calls` the expected calls."""
    row = {
        "user_input": "Where is A-17?",
        "response": "On Friday.",
        "reference": "It ships on Friday.",
        "retrieved_contexts": ["A-17 ships on Friday.", "B-1 is late."],
        "reference_contexts": ["A-17 ships on Friday."],
        "reference_tool_calls": [{"name": "get_order", "args": {"id": "A-17"}}],
    }
    loaded = table([row])
    assert summary(loaded) == [("Where is A-17?", "It ships on Friday.", "On Friday.")]
    (case,) = cases(loaded)
    assert case.context == "A-17 ships on Friday.\n\nB-1 is late."
    assert (case.conversation or ())[0].steps == (ToolCall("get_order", {"id": "A-17"}),)


def test_a_conversation_of_ragas_is_a_recording() -> None:
    """Messages of types human, ai and tool are turns, and the calls are expected of the whole conversation."""
    messages = [
        {"content": "Hi", "type": "human", "metadata": None},
        {"content": "Hello", "type": "ai", "metadata": None, "tool_calls": None},
        {"content": "Where is A-17?", "type": "human", "metadata": None},
        {"content": "", "type": "ai", "metadata": None, "tool_calls": [{"name": "get_order", "args": {"id": "A-17"}}]},
        {"content": "shipped", "type": "tool", "metadata": None},
        {"content": "It is shipped.", "type": "ai", "metadata": None, "tool_calls": []},
    ]
    calls = [{"name": "get_order", "args": {"id": "A-17"}}]
    loaded = table([{"user_input": messages, "reference": "shipped", "reference_tool_calls": calls}])
    assert summary(loaded) == [("Where is A-17?", "shipped", "It is shipped.")]
    (case,), (recording,) = cases(loaded), loaded.recordings
    assert case.expected_calls == (ToolCall("get_order", {"id": "A-17"}),)
    assert [turn.query for turn in case.conversation or ()] == ["Hi", "Where is A-17?"]
    steps = recording.trace.invocations[1].steps or ()
    assert [type(step) for step in steps] == [ToolCall, ToolResult]


def test_messages_beside_a_reference_are_a_recording_with_an_expectation() -> None:
    """OpenAI's evals have `input` with messages and `ideal`. Messages alone stay a recording."""
    messages = [{"role": "user", "content": "Hi?"}]
    assert summary(table([{"input": messages, "ideal": "Hello"}])) == [("Hi?", "Hello", None)]
    whole = [*messages, {"role": "assistant", "content": "Hey"}]
    assert summary(table([{"messages": whole, "reference": "Hello"}])) == [("Hi?", "Hello", "Hey")]
    alone = table([{"messages": whole}, {"messages": whole}])
    assert (alone.kind, alone.eval_set) == ("chat messages", None)


def test_calls_are_read_in_the_forms_of_several_tools() -> None:
    """DeepEval's, OpenAI's and plain names, in a cell of CSV as JSON."""
    calls = [
        {"name": "a", "input_parameters": {"x": 1}},
        {"type": "function", "function": {"name": "b", "arguments": '{"y": 2}'}},
        "c",
    ]
    loaded = table([{"input": "Hi?", "actual_output": "ok", "expected_tools": calls, "tools_called": calls[:1]}])
    (case,), (recording,) = cases(loaded), loaded.recordings
    expected = (ToolCall("a", {"x": 1}), ToolCall("b", {"y": 2}), ToolCall("c"))
    assert (case.conversation or ())[0].steps == expected
    assert recording.trace.invocations[0].steps == expected[:1]
    cell = json.dumps(calls).replace('"', '""')
    loaded = table(f'input,expected_tool_calls\nHi?,"{cell}"\nBye?,[]\nOk?,\n')
    assert [(case.conversation or ())[0].steps for case in cases(loaded)] == [expected, (), None]


def test_answers_of_squad_give_the_first() -> None:
    """Several accepted answers are one reference, and a warning says so."""
    row = {"id": "x", "question": "Who?", "answers": {"text": ["Ada", "Ada Lovelace"], "answer_start": [1, 2]}}
    loaded = table([row])
    assert summary(loaded) == [("Who?", "Ada", None)]
    assert loaded.warnings == ("qa.jsonl: /0/answers/text: holds 2 texts; the first counts",)


def test_replies_alone_are_recordings_of_another_eval_set() -> None:
    """A table of ids and replies has no eval set, and the user's message is withheld, not empty."""
    loaded = table("case_id,output\nq1,Hello\n")
    assert loaded.eval_set is None
    (recording,) = loaded.recordings
    assert (recording.case_id, recording.trace.invocations[0].final_response) == ("q1", Message("Hello"))
    assert recording.trace.invocations[0].user.withheld


def test_rows_with_one_id_are_attempts() -> None:
    """Two replies to the same question are attempts. Another question under the same id is a mistake."""
    loaded = table("id,input,output\na,Hi?,x\na,Hi?,y\n")
    assert [(recording.case_id, recording.attempt) for recording in loaded.recordings] == [("a", 1), ("a", 2)]
    assert len(cases(loaded)) == 1
    assert "line 3: has the id 'a' of an earlier row, but another case" in problem(
        "id,input,output\na,Hi?,x\na,Yo?,y\n"
    )
    assert "line 3: has the id 'a'" in problem("id,input\na,Hi?\na,Hi?\n"), "a case stands there twice"


def test_old_test_files_stay_what_they_are() -> None:
    """An array of queries is one conversation of ADK. Queries as JSON lines, or with other columns, are rows."""
    turns = [{"query": "Hi?", "reference": "Hello"}, {"query": "Bye?", "reference": "Goodbye"}]
    assert len(cases(read(json.dumps(turns).encode(), "old.test.json"))) == 1
    assert len(cases(table(turns))) == 2
    rows = [turn | {"response": "ok"} for turn in turns]
    assert len(read(json.dumps(rows).encode(), "rows.json").recordings) == 2


def test_one_object_and_an_array_are_tables_too() -> None:
    """JSON lines may have one line, and pandas writes an array."""
    rows = [{"question": "Hi?", "reference": "Hello"}]
    for text, path in (
        (json.dumps(rows[0]), "a.jsonl"),
        (json.dumps(rows), "a.json"),
        (json.dumps(rows * 2), "a.json"),
    ):
        assert summary(read(text.encode(), path))[0] == ("Hi?", "Hello", None)


def test_a_table_on_standard_input_is_recognised() -> None:
    """Without a name, the header shows that the text is a table."""
    assert summary(table("question;reference\nHi?;Hello\n", path="-")) == [("Hi?", "Hello", None)]


def test_yaml_holds_eval_sets_and_rows() -> None:
    """An eval set in ADK's shape, and a list of rows."""
    text = """
eval_set_id: shop
eval_cases:
  - eval_id: hi
    conversation:
      - user_content: {role: user, parts: [{text: "Hi?"}]}
        final_response: {role: model, parts: [{text: Hello}]}
"""
    assert summary(read(text.encode(), "shop.evalset.yaml")) == [("Hi?", "Hello", None)]
    assert summary(read(b"- question: Hi?\n  expected: Hello\n", "shop.yaml")) == [("Hi?", "Hello", None)]
    with pytest.raises(FormatError, match="'expected' stands there twice"):
        read(b"- question: Hi?\n  expected: Hello\n  expected: Bye\n", "shop.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; the first line must hold the names of the columns"),
        (b"question,reference\n", "holds no rows"),
        (b"question,reference\nHi?,\xff\n", "line 2: is not UTF-8 text (byte 0xff); save the table as CSV UTF-8"),
        ("질문,정답\n안녕,네\n".encode("cp949"), "is not UTF-8 text"),
        ("question,reference\nHi?,x\n".encode("utf-16-le"), "holds the character NUL; save the table as CSV UTF-8"),
        (b'question,reference\nHi?,"never ends\n', "is not CSV: unexpected end of data; a quote may have no end"),
        (b"question,question,reference\na,b,c\n", "line 1: the column 'question' stands there twice; rename one"),
        (b"question,reference\nHi?,Hello,again\n", "line 2: has 3 cells, and the first line has 2 names"),
        (b"question,reference\nHi?,Hello\n,Bye\n", "line 3, /question: is empty; every row needs a message"),
        (b"question,expected_calls\nHi?,f(x)\n", "line 2, /expected_calls: must be a JSON array of calls"),
        (b'question,expected_calls\nHi?,"[{""x"": 1}]"\n', "line 2, /expected_calls/0: must be a call such as"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(content: bytes, message: str) -> None:
    """The message names the line, the column and the problem."""
    assert message in problem(content)


def test_a_column_that_begins_late_is_not_lost() -> None:
    """A later row with another reference than the first rows would otherwise be scored without it."""
    rows: list[dict[str, Any]] = [{"input": f"{i}?", "output": "x"} for i in range(150)]
    rows[120]["note"] = "kept"
    assert len(table(rows).recordings) == 150
    rows[130]["expected"] = "y"
    assert "/130/expected: is a column that the first 100 rows do not have" in problem(rows)


@pytest.mark.parametrize("text", [text for text in HOSTILE if not re.search("[\ud800-\udfff]", text)])
def test_hostile_cells_are_text(text: str) -> None:
    """Cells are read as they are: nothing in them is evaluated."""
    row = {"input": text or "x", "expected": text or "x"}
    assert summary(table([row, {"input": "a", "expected": "b"}]))[0] == (text or "x", text or "x", None)


@pytest.mark.long
def test_hostile_tables_end_soon() -> None:
    """Very many columns, quotes without an end, and deep JSON in a cell are refused or read in no time."""
    wide = ",".join(f"column{i}" for i in range(20_000))
    assert "has no column of the user's messages" in problem(f"{wide}\n{wide}\n")
    assert "a quote may have no end" in problem("question,reference\n" + '"' + "a,b\n" * 100_000)
    deep = "[" * 100_000
    assert "must be a JSON array of calls" in problem(f"question,expected_calls\nHi?,{deep}\n")
    names = "question," + ",".join(f"answer {i}" for i in range(300))
    assert len(cases(table(f"{names}\nHi?,{','.join('x' for _ in range(300))}\n"))) == 1
