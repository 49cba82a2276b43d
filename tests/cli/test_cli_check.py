"""The command `fairtrial check` reports the formats of files, and what is wrong with them."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, enter, eval_set, fairtrial, session, write
from span_files import answer, messages, otlp, span


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def test_files_say_what_they_are() -> None:
    """Each file gets one line: its kind and how much it holds."""
    write("a.evalset.json", eval_set("one", "two"))
    write("b.session.json", session("s", "hi", "ok"))
    write("c.json", MATCH)
    done = fairtrial("check", "a.evalset.json", "b.session.json", "c.json")
    assert done.out.splitlines() == [
        "✓ a.evalset.json: eval set, 2 cases",
        "✓ b.session.json: session, 1 recording, 1 invocation, 0 tool calls",
        "✓ c.json: EvalConfig, criteria: response_match_score",
    ]
    assert done.code == 0


def test_a_warning_stands_at_its_own_file() -> None:
    """A folder has many files, and the first of them is not at fault."""
    Path("chats").mkdir()
    asked, said = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Yes."}
    write("chats/a.json", [asked, said])
    write("chats/b.json", [asked, {**said, "zzz": "a text of more than four words"}])
    lines = fairtrial("check", "chats").out.splitlines()
    assert [line[:15].strip() for line in lines] == ["✓ chats/a.json:", "✓ chats/b.json:", "warning: /1"]


def test_every_problem_is_listed() -> None:
    """A file with problems gets them all, each with its place, and the exit code is 2; the others are still told of."""
    write("a.evalset.json", {"eval_set_id": "a", "eval_cases": [{"conversation": 5}, {"eval_id": 3}]})
    write("b.evalset.json", eval_set("one"))
    done = fairtrial("check", "a.evalset.json", "b.evalset.json")
    assert done.code == 2
    assert "✗ a.evalset.json: cannot be read" in done.out
    assert "    error: /eval_cases/0/conversation" in done.out
    assert "    error: /eval_cases/1/eval_id" in done.out
    assert "✓ b.evalset.json: eval set, 1 case" in done.out


def test_what_is_not_there_is_a_problem_among_others(tmp_path: Path) -> None:
    """A file that does not exist, and a folder without JSON, are told of like any other; the rest is still checked."""
    write("b.evalset.json", eval_set("one"))
    (tmp_path / "empty").mkdir()
    done = fairtrial("check", "a.evalset.json", "empty", "b.evalset.json")
    assert (done.code, done.out.splitlines()) == (
        2,
        [
            "✗ a.evalset.json: cannot be read",
            "    error: No such file or directory",
            "✗ empty: cannot be read",
            (
                "    error: holds no *.json or *.jsonl or *.pb or *.gz or *.zst or *.eval or *.traj or *.parquet or "
                "*.csv or *.tsv or *config.yaml or *config.yml or *.evalset.yaml or *.evalset.yml"
            ),
            "✓ b.evalset.json: eval set, 1 case",
        ],
    )


def test_a_config_is_checked_to_the_end() -> None:
    """A config that can be read but not used is a problem."""
    write("c.json", {"criteria": {"response_match_score": 1.5}})
    done = fairtrial("check", "c.json")
    assert done.code == 2
    assert "error: /criteria/response_match_score: must be a number from 0 to 1" in done.out


def test_repairs_are_warnings() -> None:
    """What was read in spite of a mistake is a warning with line and column, and the exit code is 0."""
    Path("c.json").write_text('{"criteria": {"response_match_score": 0.8,}}', encoding="utf-8")
    done = fairtrial("check", "c.json")
    assert done.code == 0
    assert "    warning: line 1" in done.out


def test_lenient_makes_unknown_options_warnings() -> None:
    """--lenient is for files newer than this version."""
    write("c.json", {"criteria": {"response_match_score": {"threshold": 1, "colour": 1}}})
    assert fairtrial("check", "c.json").code == 2
    lenient = fairtrial("check", "c.json", "--lenient")
    assert (lenient.code, "warning: " in lenient.out) == (0, True)


def test_folders_are_searched() -> None:
    """Of a folder every JSON file is checked, below it too."""
    write("evals/a.evalset.json", eval_set("one"))
    write("evals/deep/c.json", MATCH)
    write("evals/folder.json/d.jsonl", session("s", "hi", "ok"))
    done = fairtrial("check", "evals")
    assert [line.split(":")[0] for line in done.out.splitlines()] == [
        "✓ evals/a.evalset.json",
        "✓ evals/deep/c.json",
        "✓ evals/folder.json/d.jsonl",
    ]


def test_hostile_names_are_shown_as_text() -> None:
    """Names in files, and of files, never reach the terminal as control characters."""
    metric = {"code_config": {"name": "commands.polite"}}
    name = "mine\x1b[31m\u202e"
    write("evil\x1b[2J.json", {"criteria": {name: 0.5}, "custom_metrics": {name: metric}})
    done = fairtrial("check", ".")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert r"evil\x1b[2J.json: EvalConfig, criteria: mine\x1b[31m\u202e" in done.out


def test_every_problem_of_a_config_is_listed() -> None:
    """Wrong thresholds, misspelt options and unknown criteria are said together, as `fairtrial run` says them too."""
    options = {"threshold": 3, "rouge_typ": "rouge1", "tokens": "letters"}
    write("c.json", {"criteria": {"response_match_score": options, "safety_v2": 1.0}})
    done = fairtrial("check", "c.json")
    assert done.code == 2
    problems = [line.strip().removeprefix("error: ") for line in done.out.splitlines()[1:]]
    assert [problem.partition(": ")[0].removeprefix("/criteria/") for problem in problems] == [
        "response_match_score/threshold",
        "response_match_score/rouge_typ",
        "response_match_score/tokens",
        "safety_v2",
    ]
    write("a.evalset.json", eval_set("one"))
    refused = fairtrial("run", "a.evalset.json", "--agent", "commands:obedient", "--config", "c.json")
    refusal = refused.err.removeprefix("fairtrial: ").replace(" [unusable-config]", "")
    assert refusal.splitlines() == [f"c.json: {problem}" for problem in problems]


def test_a_persona_that_nobody_knows_is_a_problem() -> None:
    """A scenario that `fairtrial run` would refuse is no usable one."""
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Ask.", "user_persona": "novice"}
    write("s.json", {"scenarios": [scenario]})
    done = fairtrial("check", "s.json")
    assert done.code == 2
    assert "user_persona: there is no persona 'novice'; did you mean 'NOVICE'?" in done.out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_allowed_invocation": 3}, "/max_allowed_invocation: is not a known option; did you mean"),
        ({"stop_signal": 5}, "/stop_signal: must be a string that is not blank, got 5"),
        ({"custom_instructions": "{{ plan }}"}, "/custom_instructions: must use {{ stop_signal }}"),
        ({"model": "nobody"}, "/model: model 'nobody' names no provider"),
        (
            {"model_configuration": {"temprature": 1}},
            "/model_configuration/temprature: is not a known option",
        ),
    ],
)
def test_what_nobody_simulates_with_is_checked_too(options: dict[str, object], problem: str) -> None:
    """A mistake in the simulator's config is said, and nothing runs, although no case is a scenario."""
    write("c.json", {**MATCH, "user_simulator_config": options})
    write("a.evalset.json", eval_set("one"))
    checked = fairtrial("check", "c.json")
    refused = fairtrial("run", "a.evalset.json", "--agent", "commands:obedient", "--config", "c.json")
    assert (checked.code, refused.code) == (2, 2)
    assert f"    error: /user_simulator_config{problem}" in checked.out
    assert f"/user_simulator_config{problem}" in refused.err


def test_an_unknown_model_is_placed_as_the_file_spells_it() -> None:
    """The user finds the key that must be changed, also in a file that spells its keys in camelCase."""
    tools = {"toolName": "f", "mockStrategyType": "MOCK_STRATEGY_TOOL_SPEC"}
    parts = {
        "userSimulatorConfig": {"model": "nobody"},
        "environmentSimulationConfig": {"simulationModel": "nobody", "toolSimulationConfigs": [tools]},
    }
    write("c.json", {**MATCH, **parts})
    write("a.evalset.json", eval_set("one"))
    checked = fairtrial("check", "c.json")
    refused = fairtrial("run", "a.evalset.json", "--agent", "commands:obedient", "--config", "c.json")
    for pointer in ("/userSimulatorConfig/model", "/environmentSimulationConfig/simulationModel"):
        assert f"    error: {pointer}: model 'nobody' names no provider" in checked.out
    assert "/environmentSimulationConfig/simulationModel: model 'nobody'" in refused.err


def test_files_of_spans_and_log_records_are_also_checked_together() -> None:
    """They are scored as one body of data. The spans alone lack the contents that the log records hold."""
    texts = {"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": answer("ok")}
    record = {
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": [{"key": name, "value": {"stringValue": text}} for name, text in texts.items()],
    }
    write("spans.json", otlp(span(1)))
    write("logs.json", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    done = fairtrial("check", "logs.json", "spans.json")
    assert done.out.splitlines() == [
        "✓ logs.json: OTLP spans, 1 log record: they complete the spans of another file",
        (
            "✓ spans.json: OTLP spans (GenAI conventions), 1 recording, 1 invocation, 0 tool calls; "
            "not recorded: user messages, replies"
        ),
        "✓ these 2 files together: OTLP spans, 1 recording, 1 invocation, 0 tool calls",
    ]
    assert done.code == 0


LOG: dict[str, Any] = {"request": {"messages": [{"role": "user", "content": "hi"}]}, "answer": {"text": "Hello."}}
PATHS = "messages=request.messages,reply=answer.text"


def test_a_map_is_saved_and_given_back() -> None:
    """A map of paths is TOML, and a file where `--map` takes pairs."""
    write("log.json", LOG)
    assert fairtrial("check", "log.json", "--map", PATHS, "--save-map", "log.toml").code == 0
    assert Path("log.toml").read_text() == 'messages = "request.messages"\nreply = "answer.text"\n'
    assert fairtrial("check", "log.json", "--map", "log.toml").out.startswith("✓ log.json: mapped JSON, 1 recording")


@pytest.mark.parametrize("column", ["질문, 또는 요청", 'a "b" = c', "tab\there", "del\x7f"])
def test_the_map_of_a_table_is_saved(column: str) -> None:
    """It holds the guessed columns, too. Their names may have any characters."""
    write("a.jsonl", {column: "hi", "expected": "yo"})
    Path("first.toml").write_text(f"input = {json.dumps(column)}".replace("\x7f", "\\u007f"), "utf-8")
    fairtrial("check", "a.jsonl", "--map", "first.toml", "--save-map", "second.toml")
    done = fairtrial("convert", "a.jsonl", "-o", "a.evalset.json", "--map", "second.toml")
    assert done.code == 0, done.err
    assert tomllib.loads(Path("second.toml").read_text("utf-8")) == {"input": column, "expected": "expected"}


def test_files_without_one_map_save_none() -> None:
    """An eval set has none, and two tables may have two."""
    write("a.evalset.json", eval_set("one"))
    Path("b.csv").write_text("question,expected\nhi,yo\n")
    Path("c.csv").write_text("prompt,expected\nhi,yo\n")
    assert "no file is a table, or read with --map" in fairtrial("check", "a.evalset.json", "--save-map", "m.toml").err
    assert "the files have different maps" in fairtrial("check", "b.csv", "c.csv", "--save-map", "m.toml").err
    assert not Path("m.toml").exists()


@pytest.mark.parametrize(
    "given", ['[map]\nmessages = "request.messages"\nreply = "answer.text"\n', 'map = "log.toml"\n']
)
@pytest.mark.parametrize("command", ["check", "score"])
def test_the_map_of_the_project_counts(command: str, given: str) -> None:
    """It is a table, or a file beside the project file."""
    write("log.json", LOG)
    Path("log.toml").write_text('messages = "request.messages"\nreply = "answer.text"\n')
    Path("fairtrial.toml").write_text(given)
    Path("inner").mkdir()
    assert fairtrial(command, "log.json").code in (0, 3)
    os.chdir("inner")
    assert fairtrial(command, "../log.json").code in (0, 3)


def test_the_map_of_the_project_is_of_logs() -> None:
    """Eval sets, configurations and recordings of this package hold what their own keys say."""
    write("a.evalset.json", eval_set("one"))
    write("b.json", MATCH)
    Path("log.toml").write_text('messages = "request.messages"\nreply = "answer.text"\n')
    write("log.json", LOG)
    fairtrial("convert", "log.json", "-o", "own.jsonl", "--map", "log.toml")
    Path("fairtrial.toml").write_text('map = "log.toml"\n')
    done = fairtrial("check", "a.evalset.json", "b.json", "own.jsonl")
    assert [line.partition(": ")[2] for line in done.out.splitlines()] == [
        "eval set, 1 case",
        "EvalConfig, criteria: response_match_score",
        "recordings, 1 recording, 1 invocation, tool calls not recorded",
    ]


def test_check_is_lenient_if_the_project_is() -> None:
    """A misspelt key is then a warning."""
    write("a.evalset.json", {**eval_set("one"), "eval_set_idd": "x"})
    assert fairtrial("check", "a.evalset.json").code == 2
    Path("fairtrial.toml").write_text("lenient = true\n")
    assert fairtrial("check", "a.evalset.json").code == 0


def test_an_unreadable_project_is_named_beside_the_files() -> None:
    """Its options would have counted."""
    write("a.evalset.json", eval_set("one"))
    Path("fairtrial.toml").write_text("map = 5\n")
    done = fairtrial("check", "a.evalset.json")
    assert (done.code, done.out.splitlines()[:2]) == (
        2,
        ["✗ fairtrial.toml: cannot be read", "    error: map: must be an object or a string, got 5"],
    )
    assert "✓ a.evalset.json" in done.out


def test_a_map_file_holds_texts() -> None:
    """A path is a text."""
    write("log.json", LOG)
    Path("m.toml").write_text("messages = 5\n")
    done = fairtrial("check", "log.json", "--map", "m.toml")
    assert (done.code, "m.toml: messages: must be a text" in done.err) == (2, True)


def test_the_explanation_is_a_page() -> None:
    """One page holds all files that can be explained, and none is overwritten."""
    write("log.json", LOG["request"]["messages"])
    write("b.json", LOG["request"])
    assert fairtrial("check", "log.json", "b.json", "--html", "page.html").code == 0
    page = Path("page.html").read_text()
    assert page.count("<h2>") == 2
    assert "is a file that this command reads" in fairtrial("check", "log.json", "--html", "log.json").err
