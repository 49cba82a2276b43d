"""The options of `fairtrial run`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, Done, case, enter, eval_set, fairtrial, write
from fairtrial import EvalCase, Invocation, Message, Score, Trace
from fairtrial.metrics.response import ResponseMatch
from fairtrial.text.language import detect_language


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with one eval set and its config."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail", "good_too"))


def run(*arguments: str | Path, agent: str = "commands:obedient", store: str = "none") -> Done:
    """Run the test agent without keeping anything."""
    return fairtrial("run", *arguments, "--agent", agent, "--store", store)


def verdicts(done: Done) -> dict[str, str]:
    """The verdicts of all attempts in a JSON report on stdout."""
    return {f"{one['case_id']}/{one['attempt']}": one["verdict"] for one in done.json["attempts"]}


def test_passed_is_zero() -> None:
    """A run in which every case passes exits with 0."""
    done = run("trips.evalset.json", "--only", "good*")
    assert (done.code, "✓ PASSED" in done.out) == (0, True)


def test_failed_is_one() -> None:
    """A run with a failed case exits with 1 and says how many failed."""
    done = run("trips.evalset.json")
    assert done.code == 1
    assert "✗ FAILED: 1 case failed" in done.out


def test_crash_of_the_agent_is_one() -> None:
    """An agent that crashes is an error with its cause, and the run has failed."""
    write("one.evalset.json", eval_set("crash", "good"))
    done = run("one.evalset.json")
    assert done.code == 1
    assert "agent: RuntimeError: the agent fell over" in done.out
    assert "✓ good" in done.out


def test_exit_of_the_agent_is_its_own() -> None:
    """An agent that calls sys.exit() ends its own conversation only."""
    write("one.evalset.json", eval_set("exit", "good"))
    done = run("one.evalset.json", "--json", "-")
    assert verdicts(done) == {"exit/1": "error", "good/1": "passed"}
    assert done.code == 1


@pytest.fixture
def unscored() -> Path:
    """A config whose metric raises."""
    metric = {"code_config": {"name": "commands.broken_metric"}}
    return write("broken.json", {"criteria": {"mine": 0.5}, "custom_metrics": {"mine": metric}})


def test_unscored_is_three(unscored: Path) -> None:
    """A run in which something could not be scored exits with 3, and shows why."""
    done = run("trips.evalset.json", "--config", unscored)
    assert done.code == 3
    assert "? UNSCORED" in done.out
    assert "ValueError: cannot score 1 of good" in done.out


def test_allow_unscored_turns_three_into_zero_and_says_so(unscored: Path) -> None:
    """--allow-unscored exits with 0 and tells on stderr that it did."""
    done = run("trips.evalset.json", "--config", unscored, "--allow-unscored")
    assert done.code == 0
    assert "--allow-unscored" in done.err


def test_allow_unscored_does_not_hide_failures() -> None:
    """--allow-unscored leaves 1 as it is."""
    assert run("trips.evalset.json", "--allow-unscored").code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.evalset.json"], "nowhere.evalset.json: no such file or folder"),
        (["trips.evalset.json", "--config", "nowhere.json"], "nowhere.json: no such configuration file"),
        (["trips.evalset.json", "--only", "god"], "no case matches 'god'; did you mean 'good'?"),
        (["trips.evalset.json:fial"], "no case matches 'fial'; did you mean 'fail'?"),
        (["trips.evalset.json", "--only", "*zz*"], "no case matches '*zz*'; the run has 3 cases"),
        (["trips.evalset.json", "--concurrency", "0"], "--concurrency"),
        (["trips.evalset.json", "--attempts", "0"], "--attempts"),
        (["trips.evalset.json", "--reply-timeout", "0"], "--reply-timeout"),
        (["trips.evalset.json", "--atempts", "2"], "--attempts"),
        (["trips.evalset.json", "--json", "test_config.json/report.json"], "--json: cannot write"),
        (["trips.evalset.json", "--junit", "."], "'--junit': File '.' is a directory"),
        (["trips.evalset.json", "--junit", "-"], "'--junit': must be a file, got '-'"),
        (["trips.evalset.json", "--adk-results", "test_config.json"], "--adk-results: cannot write"),
        (["."], "criteria"),
        (["test_config.json"], "holds EvalConfig, but an eval set is needed"),
        ([], "needs at least one EVALSET and --agent TARGET"),
    ],
)
def test_wrong_usage_is_two_and_names_the_trouble(arguments: list[str], said: str) -> None:
    """What cannot be used is found out before anything runs: exit code 2 and one message without traceback."""
    write("typo/test_config.json", {"criteria": {"response_match_scor": 1}})
    write("typo/typo.evalset.json", eval_set("good"))
    done = run(*arguments)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert not done.out


def test_a_report_that_cannot_be_written_at_the_end_is_named_after_the_verdict() -> None:
    """The run is done, and its other reports are there: exit code 2, and no traceback."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:in_the_way", "--junit", "report.xml", "--json", "report.json"
    )
    assert (done.code, done.err.strip()) == (
        2,
        "fairtrial: --junit: cannot write report.xml: Is a directory [unwritable-file]",
    )
    assert "PASSED" in done.out
    assert json.loads(Path("report.json").read_bytes())["run"]["verdict"] == "passed"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("commands", "must be 'module:function'"),
        ("commands:obediant", "did you mean 'obedient'?"),
        ("no_such_module:reply", "cannot import 'no_such_module'"),
        ("commands:MATCH", "must be something to call"),
    ],
)
def test_targets_that_are_no_agent(target: str, said: str) -> None:
    """A target that cannot be called is refused with the reason."""
    done = run("trips.evalset.json", agent=target)
    assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rnu"], "did you mean 'run'?"),
        (["run", "trips.evalset.json", "--agent", "shop.bot.reply"], "did you mean 'shop.bot:reply'?"),
        (["run", "trips.evalset.json", "--only", "elsewhere"], "the run has 3 cases: good, fail, good_too"),
        (["run", "trips.evalset.json", "--store", "mysql://x"], "a store is in SQLite or Postgres"),
        (["run", "trips.evalset.json", "--store", "sqlite:////dev/null/runs.db"], "keep no run with --store none"),
        (["run", "trips.evalset.json", "--attempts", "4,3"], "did you mean 4,at_least:3?"),
        (["run", "trips.evalset.json", "--config", "plain.json"], "an EvalConfig {'criteria': {NAME: THRESHOLD}}"),
        (["expect", "rec.jsonl", "-o", "/dev/null/x/y.json"], "cannot make the folder of /dev/null/x/y.json"),
    ],
)
def test_a_mistake_gets_a_hint(arguments: list[str], hint: str) -> None:
    """The message names what was probably meant."""
    write("plain.json", {"response_match_score": 0.5})
    Path("shop").mkdir()
    Path("shop/bot.py").write_text("def reply(text):\n    return text\n", encoding="utf-8")
    agent = [] if "--agent" in arguments or arguments[0] != "run" else ["--agent", "commands:obedient"]
    done = fairtrial(*arguments, *agent)
    assert done.code == 2
    assert hint in " ".join(done.err.split())


@pytest.mark.parametrize("reply", ["注文は発送されました。", "订单已经发货了。", "주문이 발송되었습니다."])
def test_the_warning_about_opposite_meanings_has_an_example_in_the_language(reply: str) -> None:
    """Two replies of opposite meaning, with the ROUGE that the criterion computes for them."""
    write("texts.evalset.json", eval_set(case("one", reply)))
    done = run("texts.evalset.json")
    found = re.search(r"\((\S[^()]*) against ([^()]*): (0\.\d\d)\)", done.err)
    assert found is not None
    assert detect_language(found[1]) == detect_language(reply)
    score = ResponseMatch()(
        Trace((Invocation(Message("hi"), (), Message(found[1])),)),
        EvalCase("one", (Invocation(Message("hi"), (), Message(found[2])),)),
    )
    assert isinstance(score, Score)
    assert score.value == pytest.approx(float(found[3]), abs=0.00501)


def test_folders_of_files_to_write_are_made() -> None:
    """So it is for every command that writes one file."""
    assert fairtrial("record", "trips.evalset.json", "--agent", "commands:obedient", "-o", "a/b/rec.jsonl").code == 0
    assert fairtrial("expect", "a/b/rec.jsonl", "-o", "c/expected.json").code == 0
    assert fairtrial("convert", "c/expected.json", "-o", "d/e/same.json").code == 0
    assert all(map(Path.is_file, map(Path, ("a/b/rec.jsonl", "c/expected.json", "d/e/same.json"))))


def test_agent_is_needed() -> None:
    """Without --agent nothing runs."""
    done = fairtrial("run", "trips.evalset.json", "--store", "none")
    assert (done.code, "--agent" in done.err) == (2, True)


def test_unknown_store_is_two() -> None:
    """A store that cannot be opened is named, its password is not."""
    done = run("trips.evalset.json", store="nosuchdb://me:secret@host/db")
    assert done.code == 2
    assert "--store: cannot open" in done.err
    assert "secret" not in done.err


def test_only_takes_globs_and_repeats() -> None:
    """--only chooses by glob, and several choose together."""
    done = run("trips.evalset.json", "--only", "fa*", "--only", "good_???", "--json", "-")
    assert list(verdicts(done)) == ["fail/1", "good_too/1"]


def test_only_takes_ids_that_look_like_globs() -> None:
    """Brackets in an id mean themselves."""
    write("odd.evalset.json", eval_set("good[1]", "good1"))
    done = run("odd.evalset.json", "--only", "good[1]", "--json", "-")
    assert list(verdicts(done)) == ["good[1]/1"]


def test_cases_behind_the_file_name() -> None:
    """FILE:case1,case2 chooses cases of that file, as in ADK."""
    write("more.evalset.json", eval_set("good_more", "fail_more", name="more"))
    done = run("trips.evalset.json:good_too,good", "more.evalset.json", "--json", "-")
    assert list(verdicts(done)) == ["good/1", "good_too/1", "good_more/1", "fail_more/1"]


def test_attempts_are_counted_from_one() -> None:
    """--attempts holds each conversation several times; the cases keep their file order."""
    done = run("trips.evalset.json", "--attempts", "2", "--concurrency", "3", "--json", "-")
    assert list(verdicts(done)) == ["good/1", "good/2", "fail/1", "fail/2", "good_too/1", "good_too/2"]


def test_reply_timeout_is_the_agents_error() -> None:
    """A reply that takes too long is an error of the agent that names the time."""
    write("wait.evalset.json", eval_set("wait"))
    done = run("wait.evalset.json", "--reply-timeout", "0.05", agent="commands:patient")
    assert done.code == 1
    assert "agent: no reply within 0.05 seconds" in done.out


def test_folders_take_the_nearest_config_of_each_file() -> None:
    """Of a folder every *.test.json and *.evalset.json runs, each with the test_config.json nearest to it."""
    strict = {"criteria": {"tool_trajectory_avg_score": 1.0}}
    write("evals/test_config.json", MATCH)
    write("evals/a.test.json", eval_set("good_a", name="a"))
    write("evals/deep/test_config.json", strict)
    write("evals/deep/b.evalset.json", eval_set("good_b", name="b"))
    write("evals/deep/er/c.evalset.json", eval_set("good_c", name="c"))
    write("evals/notes.json", {"not": "an eval set"})
    done = run("evals", "--json", "-")
    criteria = {one["case_id"]: one["outcomes"][0]["criterion"] for one in done.json["attempts"]}
    assert criteria == {
        "good_a": "response_match_score",
        "good_b": "tool_trajectory_avg_score",
        "good_c": "tool_trajectory_avg_score",
    }
    assert "criteria: evals/test_config.json, evals/deep/test_config.json" in done.err


def test_config_overrides_what_lies_beside() -> None:
    """--config is for all files."""
    write("other.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    done = run("trips.evalset.json", "--config", "other.json")
    assert "criteria: other.json" in done.out
    assert done.code == 0


def test_default_criteria_are_announced() -> None:
    """Without a config ADK's defaults hold, and the output says so."""
    write("far/alone/alone.evalset.json", eval_set("good"))
    done = run("far/alone/alone.evalset.json")
    assert "criteria: defaults (tool_trajectory_avg_score 1.0, response_match_score 0.8)" in done.out


MAP = ("--map", "expected=answer")


@pytest.mark.parametrize("threshold", ["", "response_match_score=0.7"])
def test_a_default_that_applies_to_no_case_is_left_out(threshold: str) -> None:
    """Questions with answers state no tool calls. The run passes on the rest, and a note names what did not count."""
    Path("questions.csv").write_text("question,answer\nhi,ok\n", encoding="utf-8")
    options = ["--threshold", threshold] if threshold else []
    Path("test_config.json").unlink()
    done = run("questions.csv", *MAP, *options, "--json", "run.json")
    assert done.code == 0
    assert f"response_match_score {threshold.partition('=')[2] or 0.8})" in done.out
    assert "note: tool_trajectory_avg_score is a default criterion that applied to no case" in done.out
    assert len(json.loads(Path("run.json").read_bytes())["run"]["notes"]) == 1


@pytest.mark.parametrize("option", ["--config", "--threshold"])
def test_a_criterion_that_was_asked_for_counts_though_it_applies_to_no_case(option: str) -> None:
    """The verdict says what to do."""
    Path("questions.csv").write_text("question,answer\nhi,ok\n", encoding="utf-8")
    write("own.json", {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}})
    value = "own.json" if option == "--config" else "tool_trajectory_avg_score=1"
    Path("test_config.json").unlink()
    done = run("questions.csv", *MAP, option, value)
    assert done.code == 3
    said = " ".join(done.out.split())
    assert "tool_trajectory_avg_score has a threshold, and applied to no case; state in a case what it compares" in said


def test_lenient_makes_unknown_options_warnings() -> None:
    """An option that is not known is an error with its place, and a warning with --lenient."""
    newer: dict[str, Any] = {"criteria": {"response_match_score": {"threshold": 0.8, "colour": "blue"}}}
    write("newer.json", newer)
    strict = run("trips.evalset.json", "--only", "good", "--config", "newer.json")
    lenient = run("trips.evalset.json", "--only", "good", "--config", "newer.json", "--lenient")
    assert (strict.code, lenient.code) == (2, 0)
    assert "newer.json: /criteria/response_match_score/colour: is not a known option" in strict.err
    assert "warning: newer.json: /criteria/response_match_score/colour" in lenient.err


def test_quiet_prints_the_verdict_only() -> None:
    """--quiet leaves two lines: the verdict and the counts."""
    done = run("trips.evalset.json", "--quiet")
    assert [line.split()[0] for line in done.out.splitlines()] == ["✗", "3"]
    assert "intervals" not in done.out
    assert not done.err


def test_json_on_stdout_is_pure() -> None:
    """With --json - stdout holds JSON and nothing else; the report goes to stderr."""
    done = run("trips.evalset.json", "--json", "-")
    assert done.json["run"]["verdict"] == "failed"
    assert "✗ FAILED" in done.err


def test_what_an_agent_prints_stays_out_of_the_json() -> None:
    """An agent may print: with --json - that goes to stderr."""
    done = run("trips.evalset.json", "--json", "-", "--concurrency", "1", agent="commands:loud")
    assert done.json["run"]["verdict"] == "passed"
    assert "debugging good\n" in done.err


@pytest.mark.long
def test_what_a_process_of_an_agent_prints_stays_out_of_the_json(tmp_path: Path) -> None:
    """A tool server that an agent starts inherits its standard output: with --json - that goes to stderr too."""
    (tmp_path / "shelling.py").write_text("import os\ndef reply(trace):\n    os.system('echo from a process')\n")
    command = [sys.executable, "-c", "from fairtrial.cli import main; main()", "run", "trips.evalset.json"]
    options = ["--agent", "shelling:reply", "--store", "none", "--json", "-"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["run"]["verdict"] == "failed"
    assert "from a process\n" in done.stderr


def test_reports_go_to_files_in_new_folders() -> None:
    """--json, --junit and --adk-results write files, and make the folders for them."""
    run("trips.evalset.json", "--json", "a/r.json", "--junit", "b/r.xml", "--adk-results", "c/d")
    assert json.loads(Path("a/r.json").read_bytes())["run"]["verdict"] == "failed"
    assert Path("b/r.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert len(list(Path("c/d").glob("*.evalset_result.json"))) == 1


def test_store_none_leaves_nothing() -> None:
    """--store none keeps no file, and offers no `fairtrial show`."""
    before = set(Path().iterdir())
    done = run("trips.evalset.json")
    assert set(Path().iterdir()) == before
    assert "fairtrial show" not in done.out


def test_the_default_store_is_in_the_current_folder() -> None:
    """Without --store the run is kept in .fairtrial/fairtrial.db, and the output says how to see it."""
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient")
    assert Path(".fairtrial/fairtrial.db").is_file()
    assert "fairtrial show 20" in done.out


@pytest.mark.long
def test_scenarios_need_somebody_who_plays_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case without a fixed conversation is never silently skipped."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    scenario = {"starting_prompt": "hi", "conversation_plan": "greet"}
    write("s.evalset.json", {"eval_set_id": "s", "eval_cases": [{"eval_id": "sim", "conversation_scenario": scenario}]})
    done = run("s.evalset.json")
    assert done.code == 2
    assert "no key" in done.err


def test_two_eval_sets_may_share_an_id() -> None:
    """Every case keeps its own id in the JSON report. On the terminal a shared id stands behind that of its set."""
    write("more.evalset.json", eval_set("good", case("only_here"), name="more"))
    done = run("trips.evalset.json", "more.evalset.json", "--json", "-")
    assert [(each["eval_set"], each["case_id"]) for each in done.json["attempts"]] == [
        ("trips", "good"),
        ("trips", "fail"),
        ("trips", "good_too"),
        ("more", "good"),
        ("more", "only_here"),
    ]
    shown = re.findall(r"^[✓✗!?] (\S+)  ", done.err, re.MULTILINE)
    assert shown == ["trips:good", "fail", "good_too", "more:good", "only_here"]
