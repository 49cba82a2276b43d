"""The commands take tables, and report the role of each column."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from commands import fairtrial
from fairtrial import load_eval_set

CONFIG = '{"criteria": {"response_match_score": 0.8}}'
AGENT = "def reply(trace):\n    return 'It ships on ' + trace.invocations[-1].query.rpartition(' ')[2]\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("test_config.json").write_text(CONFIG, encoding="utf-8")


def write(name: str, *lines: str) -> None:
    """Write lines to a file."""
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_table_is_run() -> None:
    """An answer is what is expected, because the run makes the replies; the note says so."""
    write("table_agent.py", *AGENT.splitlines())
    write("qa.csv", "id,question,answer", "a,When does A ship? Friday,It ships on Friday", "b,When? Monday,No idea")
    done = fairtrial("run", "qa.csv", "--agent", "table_agent:reply", "--store", "none")
    assert done.err.startswith("note: qa.csv: read with --map input=question,expected=answer,id=id\n")
    assert "✓ a  passed" in done.out
    assert done.code == 1


@pytest.mark.parametrize("name", ["qa.csv", "qa.jsonl", "qa.csv.gz"])
def test_an_answer_is_expected_if_nobody_looks_for_replies(name: str) -> None:
    """`record`, `--against` and `load_eval_set` have one reading of a table; `score` and `check` have two."""
    write("answering.py", *AGENT.splitlines())
    text = "question,answer\nWhen does A ship? Friday,It ships on Friday\n"
    row = {"question": "When does A ship? Friday", "answer": "It ships on Friday"}
    packed = name.endswith(".gz")
    data = json.dumps(row).encode() if name.endswith(".jsonl") else text.encode()
    Path(name).write_bytes(gzip.compress(data) if packed else data)
    (case,) = load_eval_set(name).cases
    assert case.conversation is not None
    assert case.conversation[-1].final_response is not None
    assert case.conversation[-1].final_response.text == "It ships on Friday"
    recorded = fairtrial("record", name, "--agent", "answering:reply", "-o", "replies.jsonl")
    assert (recorded.code, "expected=answer" in recorded.err) == (0, True)
    assert fairtrial("score", "replies.jsonl", "--against", name, "--store", "none").code == 0
    for command in (["score", name, "--store", "none"], ["check", name]):
        refused = fairtrial(*command)
        told = "write --map expected=answer or --map reply=answer" in refused.out + refused.err
        assert (refused.code, told) == (2, True), command


def test_two_columns_of_answers_stay_a_question() -> None:
    """Nobody knows which of them is expected."""
    write("qa.csv", "question,answer,답변", "Hi?,Hello,안녕")
    refused = fairtrial("run", "qa.csv", "--agent", "table_agent:reply", "--store", "none")
    assert (refused.code, "'answer' may be what is expected" in refused.err) == (2, True)


def test_a_run_of_a_table_goes_on_with_its_columns() -> None:
    """A resumed run reads the table as the run did."""
    write("table_again.py", *AGENT.splitlines())
    write("qa.csv", "q,a", "When does A ship? Friday,It ships on Friday")
    assert fairtrial("run", "qa.csv", "--agent", "table_again:reply", "--map", "input=q,expected=a").code == 0
    run_id = fairtrial("runs", "--quiet").out.strip()
    assert fairtrial("run", "--resume", run_id).code == 0


def test_a_table_is_scored_alone_and_against_an_eval_set() -> None:
    """With a reference, a table is enough. Without, another table holds the expectations."""
    write("log.csv", "id,input,output,expected", "a,When?,On Friday,On Friday", "b,Where?,Here,There")
    done = fairtrial("score", "log.csv", "--store", "none")
    assert (done.code, "✓ a  passed" in done.out) == (1, True)
    write("replies.csv", "case_id;output", "a;On Friday", "b;There")
    rows = [{"id": "a", "question": "When?", "ideal": "On Friday"}, {"id": "b", "question": "Where?", "ideal": "There"}]
    write("expected.jsonl", *map(json.dumps, rows))
    done = fairtrial("score", "replies.csv", "--against", "expected.jsonl", "--store", "none")
    assert done.code == 0, done.err
    assert [line for line in done.err.splitlines() if line.startswith("note")] == [
        "note: expected.jsonl: read with --map input=question,expected=ideal,id=id",
        "note: replies.csv: read with --map reply=output,id=case_id; nothing is expected",
    ]


def test_check_names_the_columns() -> None:
    """The line can be copied to a command."""
    write("qa.csv", "질문,정답,난이도", "안녕?,네,쉬움")
    done = fairtrial("check", "qa.csv")
    assert done.out.splitlines() == [
        "✓ qa.csv: table, 1 case",
        "    read with --map input=질문,expected=정답; other columns: '난이도'",
    ]
    assert (
        fairtrial("check", "qa.csv", "--map", "input=난이도")
        .out.splitlines()[1]
        .startswith("    read with --map input=난이도,expected=정답")
    )


def test_a_table_becomes_an_eval_set() -> None:
    """`convert` writes ADK's format, with the columns that have no part."""
    write("qa.csv", "question,expected,level", "When?,On Friday,easy")
    done = fairtrial("convert", "qa.csv", "-o", "qa.evalset.json")
    assert (done.code, done.out) == (0, "qa.evalset.json: adk\n")
    (case,) = json.loads(Path("qa.evalset.json").read_bytes())["eval_cases"]
    assert (case["eval_id"], case["columns"]) == ("qa-1", {"level": "easy"})
    assert fairtrial("check", "qa.evalset.json").out == "✓ qa.evalset.json: eval set, 1 case\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("question", "such as input=question,reply=answer, or a file of --save-map; got 'question'"),
        ("input=a,input=b", "each part once"),
        ("prompt=a", "'prompt' is not a part of a case; allowed are input, expected, expected_calls, reply, calls"),
        ("input=", "--map: input must name a column"),
    ],
)
def test_a_wrong_map_is_refused(value: str, message: str) -> None:
    """Before a file is read."""
    done = fairtrial("check", "qa.csv", "--map", value)
    assert (done.code, message in done.err) == (2, True)


def test_replies_without_expectations_need_criteria_that_need_none() -> None:
    """The default criteria could decide nothing, and a warning says what to give."""
    Path("test_config.json").unlink()
    write("log.jsonl", '{"question": "When?", "response": "On Friday"}')
    done = fairtrial("score", "log.jsonl", "--store", "none")
    assert (done.code, "warning: the recordings do not contain what was expected" in done.err) == (3, True)
