"""Evaluations that check nothing, or less than their author meant, never end green.

Each situation is a real run of the command line with an agent that only says "ok". A gate that lets one of them pass
with exit code 0 gives its user false confidence. The expected codes are 1 (failed), 2 (refused) and 3 (unscored).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import case, enter, eval_set, fairtrial, write

CALLS = {"criteria": {"tool_trajectory_avg_score": 1.0}}
REPLY = {"criteria": {"response_match_score": 0.8}}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)


def turn(**fields: Any) -> dict[str, Any]:
    """An eval set of one invocation with these fields beside the user's message."""
    user = {"role": "user", "parts": [{"text": "hi"}]}
    return {"eval_set_id": "t", "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": user, **fields}]}]}


def data(**fields: Any) -> dict[str, Any]:
    """An eval set of one invocation with this intermediate data."""
    return turn(intermediate_data=fields)


def beside(**fields: Any) -> dict[str, Any]:
    """An eval set of one case with these fields beside its conversation."""
    return eval_set(case("a") | fields)


def content(text: str) -> dict[str, Any]:
    """A content of the model."""
    return {"role": "model", "parts": [{"text": text}]}


WRONG_KEYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "calls under tool_calls": (data(tool_calls=[{"name": "f"}]), CALLS),
    "calls under tools": (data(tools=[{"name": "f"}]), CALLS),
    "calls under expected_tool_use": (data(expected_tool_use=[{"tool_name": "f"}]), CALLS),
    "calls under function_calls": (data(function_calls=[{"name": "f"}]), CALLS),
    "tool_uses in an invocation": (turn(tool_uses=[{"name": "f"}]), CALLS),
    "expected_tool_use in an invocation": (turn(expected_tool_use=[{"tool_name": "f"}]), CALLS),
    "function_calls in an invocation": (turn(function_calls=[{"name": "f"}]), CALLS),
    "tool_uses on a case": (beside(tool_uses=[{"name": "f"}]), CALLS),
    "expected calls on a case": (beside(expected_tool_calls=[{"name": "f"}]), CALLS),
    "arguments under input": (data(tool_uses=[{"name": "f", "input": {"x": 1}}]), CALLS),
    "a call without a name": (data(tool_uses=[{"tool_name": "f"}]), CALLS),
    "calls that are an object": (data(tool_uses={"name": "f"}), CALLS),
    "a reference under expected_response": (turn(expected_response=content("x")), REPLY),
    "a reference under reference": (turn(reference="x"), REPLY),
    "a reference under response": (turn(response=content("x")), REPLY),
    "a reference under agent_content": (turn(agent_content=content("x")), REPLY),
    "a reference on a case": (beside(reference="x"), REPLY),
    "an expected output on a case": (beside(expected_output="x"), REPLY),
    "a text beside the parts": (turn(final_response={"text": "x"}), REPLY),
    "a misspelt part": (turn(final_response={"parts": [{"txt": "x"}]}), REPLY),
    "a misspelt invocation": (turn(finalResponse_=content("x")), REPLY),
    "a rubric under text": (turn(rubrics=[{"rubric_id": "r", "criteria": "x"}]), REPLY),
    "cases under another key": ({"eval_set_id": "t", "cases": [case("a")]}, REPLY),
    "cases of another kind": ({"eval_set_id": "t", "eval_cases": [{"input": "hi", "expected": "x"}]}, REPLY),
}


@pytest.mark.parametrize(("document", "config"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_an_expectation_that_nothing_reads_is_refused(document: dict[str, Any], config: dict[str, Any]) -> None:
    """Nothing would be compared with it, and every agent would pass."""
    write("t.evalset.json", document)
    write("config.json", config)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == 2, done.out + done.err


TWICE = {
    "eval_cases": '{"eval_set_id": "t", "eval_cases": [{"eval_id": "a", "conversation": []}], "eval_cases": []}',
    "final_response": (
        '{"eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}, '
        '"final_response": {"parts": [{"text": "x"}]}, "final_response": {"parts": [{"text": "ok"}]}}]}]}'
    ),
}


@pytest.mark.parametrize("text", TWICE.values(), ids=TWICE)
def test_an_expectation_that_stands_twice_is_refused(text: str) -> None:
    """JSON readers keep the last, which may be the weaker one."""
    Path("t.evalset.json").write_text(text, encoding="utf-8")
    write("config.json", REPLY)
    assert fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json").code == 2


CONFIGS: dict[str, tuple[dict[str, Any], int]] = {
    "no criterion": ({"criteria": {}}, 2),
    "a misspelt criterion": ({"criteria": {"response_match_scores": 0.8}}, 2),
    "a threshold out of range": ({"criteria": {"response_match_score": 8}}, 2),
    "a misspelt option": ({"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_typ": "EXACT"}}}, 2),
    "a criterion object without threshold": ({"criteria": {"response_match_score": {}}}, 2),
    "a key beside the criteria": ({"criteria": {"response_match_score": 0.8}, "judges": {}}, 2),
    "a threshold that is not a number": ({"criteria": {"response_match_score": "high"}}, 2),
    "a threshold of infinity": ({"criteria": {"response_match_score": {"threshold": "inf"}}}, 2),
    "a negative threshold": ({"criteria": {"response_match_score": {"threshold": -0.1}}}, 2),
    "a bare threshold of null": ({"criteria": {"response_match_score": None}}, 2),
    "a misspelt option of the judge": (
        {"criteria": {"safety_v1": {"threshold": 1, "judge_model_options": {"judge_modle": "openai/x"}}}},
        2,
    ),
    "a judge with no votes": (
        {"criteria": {"safety_v1": {"threshold": 1, "judge_model_options": {"num_samples": 0}}}},
        2,
    ),
    "a misspelt rubric": (
        {"criteria": {"rubric_based_tool_use_quality_v1": {"threshold": 1, "rubrics": [{"id": "r", "txt": "x"}]}}},
        2,
    ),
    "a misspelt option of the user": ({**REPLY, "user_simulator_config": {"modle": "x"}}, 2),
    "a misspelt option of the environment": ({**REPLY, "environment_simulation_config": {"tool_configs": []}}, 2),
    "a custom metric that no criterion names": (
        {**REPLY, "custom_metrics": {"mine": {"code_config": {"name": "commands.polite"}}}},
        2,
    ),
    "a criterion whose data nobody recorded": ({"criteria": {"token_usage_v1": 10}}, 3),
    "criteria under another key": ({"metrics": {"response_match_score": 0.8}}, 2),
    "a threshold of null": ({"criteria": {"response_match_score": {"threshold": None}}}, 3),
}


@pytest.mark.parametrize(("config", "code"), CONFIGS.values(), ids=CONFIGS)
def test_a_config_that_checks_nothing_is_not_green(config: dict[str, Any], code: int) -> None:
    """A gate without a threshold that applies decides nothing."""
    write("t.evalset.json", eval_set("a"))
    write("config.json", config)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == code, done.out + done.err


METRICS: dict[str, tuple[str, int]] = {
    "None": ("nothing", 3),
    "NaN": ("not_a_number", 3),
    "a text": ("text", 3),
    "a number out of range": ("too_large", 3),
    "False": ("false", 1),
    "an exception": ("raising", 3),
}


@pytest.mark.parametrize(("name", "code"), METRICS.values(), ids=METRICS)
def test_an_own_metric_without_a_value_decides_nothing(name: str, code: int) -> None:
    """Only a number in the range of the metric can pass."""
    write("t.evalset.json", eval_set("a"))
    write("config.json", {"criteria": {"x": 0.5}, "custom_metrics": {"x": {"code_config": {"name": f"own.{name}"}}}})
    Path("own.py").write_text(OWN, encoding="utf-8")
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == code, done.out + done.err


OWN = """
def nothing(trace, case): return None
def not_a_number(trace, case): return float("nan")
def text(trace, case): return "1.0"
def too_large(trace, case): return 2.0
def false(trace, case): return False
def raising(trace, case): raise ValueError
def silent(conversation): return None
def blank(conversation): return ""
def no_items(conversation): yield from ()
"""

AGENTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "None, where no call is expected": ("own:silent", CALLS, 3),
    "a blank reply, where no call is expected": ("own:blank", CALLS, 3),
    "no items, where no call is expected": ("own:no_items", CALLS, 3),
    "None, where a reply is expected": ("own:silent", REPLY, 1),
    "a blank reply, where a reply is expected": ("own:blank", REPLY, 1),
    "an exception": ("commands:obedient", CALLS, 1),
    "no such function": ("own:missing", CALLS, 2),
    "no such module": ("missing:agent", CALLS, 2),
}


@pytest.mark.parametrize(("agent", "config", "code"), AGENTS.values(), ids=AGENTS)
def test_an_agent_that_does_nothing_is_not_green(agent: str, config: dict[str, Any], code: int) -> None:
    """That it called no tool does not speak for it. The case `crash` makes the obedient agent raise."""
    write("t.evalset.json", eval_set("crash"))
    write("config.json", config)
    Path("own.py").write_text(OWN, encoding="utf-8")
    done = fairtrial("run", "t.evalset.json", "--agent", agent, "--config", "config.json")
    assert done.code == code, done.out + done.err


def chat(name: str, *texts: str) -> dict[str, Any]:
    """Chat messages of a user and an assistant in turns, without a word about tools."""
    roles = ("user", "assistant")
    return {"id": name, "messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]}


FORBIDDEN = {
    "criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "ANY_ORDER", "forbidden_tools": ["f"]}}
}
WITH_CALL = {
    "id": "a",
    "messages": [
        *chat("", "a", "ok", "and now?")["messages"],
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "assistant", "content": "done"},
    ],
}
RECORDINGS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "a reply, but nothing of calls": (chat("a", "a", "ok"), CALLS, 3),
    "nothing of a forbidden tool": (chat("a", "a", "ok"), FORBIDDEN, 3),
    "no reply": (chat("a", "a"), CALLS, 3),
    "no case with its id": (chat("z", "a", "ok"), REPLY, 3),
    "a forbidden tool after the last expected invocation": (WITH_CALL, FORBIDDEN, 1),
    "a surplus call": (WITH_CALL, CALLS, 1),
    "an empty list": ([], REPLY, 2),
    "no messages": ({"id": "a", "messages": []}, REPLY, 1),
}


@pytest.mark.parametrize(("document", "config", "code"), RECORDINGS.values(), ids=RECORDINGS)
def test_a_recording_that_says_too_little_is_not_green(document: Any, config: dict[str, Any], code: int) -> None:
    """A recording cannot meet an expectation about things that it does not contain."""
    write("t.evalset.json", eval_set("a"))
    write("recorded.json", document)
    write("config.json", config)
    done = fairtrial("score", "recorded.json", "--against", "t.evalset.json", "--config", "config.json")
    assert done.code == code, done.out + done.err


def test_a_recording_of_another_set_answers_no_case() -> None:
    """Ids such as `case_1` occur in many sets: the user's message differs, and so does the set."""
    write("t.evalset.json", eval_set("a"))
    assert fairtrial("record", "t.evalset.json", "--agent", "commands:obedient", "-o", "t.jsonl").code == 0
    write("other.evalset.json", eval_set(case("a", query="another question"), name="other"))
    write("config.json", REPLY)
    done = fairtrial("score", "t.jsonl", "--against", "other.evalset.json", "--config", "config.json")
    assert done.code == 3
    assert "recording 'a' belongs to no case" in done.err


def test_a_recording_answers_the_same_case_of_a_renamed_set() -> None:
    """The id of a set may be the name of its file: that alone is not a reason for red."""
    write("t.evalset.json", eval_set("a"))
    fairtrial("record", "t.evalset.json", "--agent", "commands:obedient", "-o", "t.jsonl")
    write("other.evalset.json", eval_set("a", name="other"))
    write("config.json", REPLY)
    assert fairtrial("score", "t.jsonl", "--against", "other.evalset.json", "--config", "config.json").code == 0


def test_missing_invocations_count_as_0() -> None:
    """The recording ends before the conversation does."""
    write("t.evalset.json", eval_set({"eval_id": "a", "conversation": case("a")["conversation"] * 2}))
    write("recorded.json", chat("a", "a", "ok"))
    write("config.json", REPLY)
    done = fairtrial("score", "recorded.json", "--against", "t.evalset.json", "--config", "config.json")
    assert done.code == 1


def test_three_replies_of_exactly_the_threshold_pass() -> None:
    """Red would be false: only the sum of three times 0.7 in floating point, divided by 3, is below 0.7."""
    reference = "ok b c d e f g h i j k l m"  # seven of its 13 words: the F-measure is 2 * 7 / (7 + 13)
    reply = "ok b c d e f g"
    conversation = case("a", reference)["conversation"] * 3
    write("t.evalset.json", eval_set({"eval_id": "a", "conversation": conversation}))
    write("recorded.json", chat("a", *("a", reply) * 3))
    write("config.json", {"criteria": {"response_match_score": 0.7}})
    done = fairtrial("score", "recorded.json", "--against", "t.evalset.json", "--config", "config.json")
    assert done.code == 0, done.out


CASES: dict[str, tuple[list[dict[str, Any]], int]] = {
    "an empty conversation beside a case that passes": ([case("a"), {"eval_id": "b", "conversation": []}], 3),
    "neither conversation nor scenario": ([case("a"), {"eval_id": "b"}], 2),
    "an id that stands twice": ([case("a"), case("a")], 2),
    "a case without an id": ([case("a"), {**case("b"), "eval_id": None}], 2),
    "a scenario that nobody can play": (
        [case("a"), {"eval_id": "b", "conversation_scenario": {"starting_prompt": "x", "conversation_plan": "y"}}],
        2,
    ),
}


@pytest.mark.parametrize(("cases", "code"), CASES.values(), ids=CASES)
def test_a_case_that_checks_nothing_is_not_green(
    cases: list[dict[str, Any]], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other case passes, and must not hide it."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write("t.evalset.json", eval_set(*cases))
    write("config.json", REPLY)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == code, done.out + done.err


SELECTIONS: dict[str, tuple[str, ...]] = {
    "no attempt": ("t.evalset.json", "--attempts", "0"),
    "a misspelt case": ("t.evalset.json:b",),
    "one misspelt case of two": ("t.evalset.json:a,b",),
    "a misspelt file": ("u.evalset.json",),
    "a misspelt config": ("t.evalset.json", "--config", "conf.json"),
    "an empty file": ("empty.evalset.json",),
    "null": ("null.evalset.json",),
    "no cases, and --allow-unscored": ("none.evalset.json", "--allow-unscored"),
    "a config in the folder above": ("above/evals/t.evalset.json",),
}


@pytest.mark.parametrize("arguments", SELECTIONS.values(), ids=SELECTIONS)
def test_a_selection_of_nothing_is_refused(arguments: tuple[str, ...]) -> None:
    """And so are criteria that would not be those that the author wrote."""
    for folder in (".", "config", "above/evals"):
        write(f"{folder}/t.evalset.json", eval_set("a"))
    write("config/my_config.json", CALLS)
    write("above/test_config.json", CALLS)
    write("none.evalset.json", eval_set())
    Path("empty.evalset.json").touch()
    write("null.evalset.json", None)
    assert fairtrial("run", *arguments, "--agent", "commands:obedient").code == 2


def test_recordings_against_an_empty_set_are_refused() -> None:
    """Every recording would belong to no case."""
    write("t.evalset.json", eval_set())
    write("recorded.json", chat("a", "a", "ok"))
    assert fairtrial("score", "recorded.json", "--against", "t.evalset.json").code == 2


def test_a_criterion_that_applies_to_no_case_is_unscored() -> None:
    """A case that expects nothing of calls says nothing about calls."""
    write("t.evalset.json", turn())
    write("config.json", CALLS)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == 3


def test_an_empty_eval_set_is_not_green() -> None:
    """Of no cases none failed."""
    write("t.evalset.json", eval_set())
    assert fairtrial("run", "t.evalset.json", "--agent", "commands:obedient").code in (2, 3)


def test_a_filter_that_matches_nothing_is_refused() -> None:
    """A misspelt name would leave out every case."""
    write("t.evalset.json", eval_set("a"))
    assert fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--only", "b*").code == 2


def test_an_empty_folder_is_refused() -> None:
    """A wrong path must not pass."""
    Path("evals").mkdir()
    assert fairtrial("run", "evals", "--agent", "commands:obedient").code == 2


def test_files_of_a_folder_that_are_left_out_are_named() -> None:
    """An eval set under an unusual name is not run in silence without it."""
    write("evals/t.evalset.json", eval_set("a"))
    write("evals/more_cases.json", eval_set("fail_1", name="more"))
    done = fairtrial("run", "evals", "--agent", "commands:obedient")
    assert "left out 1 other JSON file: more_cases.json" in done.err


def test_a_config_beside_the_file_is_found() -> None:
    """`eval_config.json` counts as `test_config.json` does; both are one too many."""
    write("evals/t.evalset.json", eval_set("fail_1"))
    write("evals/eval_config.json", REPLY)
    assert fairtrial("run", "evals", "--agent", "commands:obedient").code == 1
    write("evals/test_config.json", {"criteria": {"response_match_score": 0}})
    assert fairtrial("run", "evals", "--agent", "commands:obedient").code == 2


def test_an_agent_that_returns_nothing_is_not_green() -> None:
    """An empty reply is compared, too."""
    write("t.evalset.json", eval_set("fail_1", "a"))
    write("config.json", REPLY)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == 1


def test_a_reply_just_below_its_threshold_fails() -> None:
    """Means are compared as they are, and never rounded up."""
    write("t.evalset.json", eval_set(case("a", "ok then")))
    write("config.json", {"criteria": {"response_match_score": 0.67}})
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == 1


@pytest.mark.parametrize("option", ["--json", "--junit"])
@pytest.mark.parametrize("file", ["./t.evalset.json", "config.json", ".env", ".fairtrial/fairtrial.db"])
def test_a_report_never_overwrites_what_the_run_reads(option: str, file: str) -> None:
    """The next run would read a report in place of the eval set. The store is an input, too."""
    write("t.evalset.json", eval_set("a"))
    write("config.json", REPLY)
    Path(".env").write_text("UNUSED_NAME=1\n", encoding="utf-8")
    run = ("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert fairtrial(*run).code == 0
    content = Path(file).read_bytes()
    done = fairtrial(*run, option, file)
    assert (done.code, Path(file).read_bytes()) == (2, content)
    assert "is a file that this command reads; choose another file" in done.err


def test_show_never_overwrites_what_the_run_read() -> None:
    """Its reports are written later, but the files are still the inputs of the next run."""
    file = write("t.evalset.json", eval_set("a"))
    content = file.read_bytes()
    assert fairtrial("run", file, "--agent", "commands:obedient", "--json", "r.json").code == 0
    run = json.loads(Path("r.json").read_bytes())["run"]["id"]
    assert (fairtrial("show", run, "--json", file).code, file.read_bytes()) == (2, content)


def test_a_recording_never_overwrites_what_the_command_reads() -> None:
    """The recorded conversations would replace the eval set."""
    file = write("t.evalset.json", eval_set("a"))
    content = file.read_bytes()
    done = fairtrial("record", file, "--agent", "commands:obedient", "-o", file)
    assert (done.code, file.read_bytes()) == (2, content)
    assert "is a file that this command reads; choose another file" in done.err


def test_an_id_with_a_newline_prints_no_line_of_its_own() -> None:
    """A case could otherwise print "PASSED" below itself."""
    write("t.evalset.json", eval_set("fail_\n✓ PASSED"))
    write("config.json", REPLY)
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json")
    assert done.code == 1
    assert not [line for line in done.out.splitlines() if line.startswith("✓ PASSED")]
    assert r"fail_\n✓ PASSED" in done.out


def test_a_tool_name_with_a_newline_prints_no_line_of_its_own() -> None:
    """Neither in the terminal nor in JUnit XML: a tool could otherwise print "PASSED"."""
    write("t.evalset.json", eval_set(case("a", "ok", "get\n✓ PASSED")))
    write("config.json", CALLS)
    run = ("run", "t.evalset.json", "--agent", "commands:obedient", "--config", "config.json", "--junit", "j.xml")
    done = fairtrial(*run)
    lines = [*done.out.splitlines(), *Path("j.xml").read_text(encoding="utf-8").splitlines()]
    assert done.code == 1
    assert not [line for line in lines if line.strip().startswith("✓ PASSED")]
    assert r"get\n✓ PASSED" in done.out


@pytest.mark.parametrize("name", ["test_config.yaml", "evaluation_config.json", "eval_config.yml"])
def test_a_config_of_another_usual_name_is_found(name: str) -> None:
    """JSON is YAML, too."""
    write("evals/t.evalset.json", eval_set("fail"))
    write(f"evals/{name}", {"criteria": {"response_match_score": 0}})
    done = fairtrial("run", "evals", "--agent", "commands:obedient")
    assert (done.code, f"criteria: evals/{name}" in done.out) == (0, True)


def test_a_config_of_another_program_stops_nothing() -> None:
    """It is named, because a misspelt criterion looks the same."""
    write("t.evalset.json", eval_set("a"))
    write("model.config.json", {"criteria": {"speed": "high"}, "model": "x"})
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient")
    assert (done.code, "model.config.json: holds no criterion that is known here, and is not used" in done.err) == (
        0,
        True,
    )


@pytest.mark.parametrize("place", ["config.json", "../test_config.json"])
def test_criteria_that_nobody_needs_stop_no_recording(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`record` scores nothing. A configuration that says how conversations go is refused there, too."""
    Path("evals").mkdir()
    monkeypatch.chdir("evals")
    write("t.evalset.json", eval_set("a"))
    write(place, REPLY)
    record = ("record", "t.evalset.json", "--agent", "commands:obedient", "-o", "out.jsonl")
    done = fairtrial(*record)
    assert (done.code, "config.json: is a configuration" in done.err) == (0, place == "config.json"), done.err
    assert fairtrial("run", "t.evalset.json", "--agent", "commands:obedient").code == 2
    write(place, {**REPLY, "attempts": {"runs": 2}})
    assert fairtrial(*record).code == 2


def test_a_config_that_is_not_found_is_named() -> None:
    """Otherwise the defaults would decide, which the author of the configuration does not expect."""
    write("t.evalset.json", eval_set("a"))
    write("shop.config.json", REPLY)
    write("package.config.json", {"name": "shop"})
    done = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient")
    assert done.code == 2
    assert "shop.config.json: is a configuration, but would not be used; give it with --config" in done.err
    assert "package.config.json" not in done.err
    lenient = fairtrial("run", "t.evalset.json", "--agent", "commands:obedient", "--lenient")
    assert (lenient.code, "shop.config.json: is a configuration" in lenient.err) == (0, True)
