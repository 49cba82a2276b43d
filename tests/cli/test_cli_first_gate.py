"""`fairtrial init --agent ... --csv ...`: from what a user has to a gate in one command."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import enter, fairtrial

AGENT = """\
from fairtrial import ToolCall, ToolResult

def capitals(message):
    return f"I think that it is {'Paris' if 'France' in message else 'Rome'}."

def shop(conversation):
    item = conversation.invocations[-1].query.split()[-1].strip("?")
    yield ToolCall("get_price", {"item": item})
    yield ToolResult("get_price", {"price": 12})
    yield f"Item {item} costs 12 euros and is shipped in 3 days."

def polite(message):
    return "Hello and welcome!"

def broken(message):
    raise LookupError("no such thing")
"""
CAPITALS = "question,expected\nWhat is the capital of France?,Paris\nAnd of Italy?,Rome\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with agents and tables of questions."""
    enter(tmp_path, monkeypatch)
    Path(".git").mkdir()
    Path("my_agents.py").write_text(AGENT, encoding="utf-8")
    Path("capitals.csv").write_text(CAPITALS, encoding="utf-8")
    items = "".join(f"What is the price of {number}?\n" for number in range(12))
    Path("items.csv").write_text(f"question\n{items}", encoding="utf-8")


def project() -> dict[str, Any]:
    """The project file that was written."""
    return tomllib.loads(Path("fairtrial.toml").read_text(encoding="utf-8"))


def steps() -> list[dict[str, Any]]:
    """The steps of the workflow that was written."""
    workflow: dict[str, Any] = yaml.safe_load(Path(".github/workflows/fairtrial.yml").read_text(encoding="utf-8"))
    own: list[dict[str, Any]] = workflow["jobs"]["gate"]["steps"]
    return own


def commands() -> str:
    """The commands of the workflow about evaluation, as a script."""
    return "\n".join(step["run"] for step in steps() if "fairtrial " in step.get("run", ""))


def test_a_table_with_expected_replies_is_the_eval_set() -> None:
    """Short references are searched in the replies, and nothing is written but the project file and the workflow."""
    done = fairtrial("init", "--agent", "my_agents:capitals", "--csv", "capitals.csv")
    assert done.code == 0, done.err
    assert project()["eval_sets"] == ["capitals.csv"]
    assert project()["criteria"] == {"contains": {"threshold": 1.0, "ignore_case": True}}
    assert not Path("evals").exists()
    assert done.out.splitlines()[-1] == "next: fairtrial run --profile ci"


@pytest.mark.long
def test_the_first_replies_become_expectations_where_nothing_is_expected() -> None:
    """The calls and the facts of these replies decide, and a sentence asks the user to read them."""
    done = fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    assert done.code == 0, done.err
    assert project()["eval_sets"] == ["evals/items.evalset.json"]
    assert set(project()["criteria"]) == {"tool_trajectory_avg_score", "facts_match_v1"}
    (case, *_) = json.loads(Path("evals/items.evalset.json").read_text(encoding="utf-8"))["eval_cases"]
    assert "costs 12 euros" in case["conversation"][0]["final_response"]["parts"][0]["text"]
    assert "read evals/items.evalset.json: the replies in it are expected from now on" in done.out


@pytest.mark.long
def test_the_claim_is_the_highest_that_so_many_cases_can_show() -> None:
    """If all of n cases pass, the exact one-sided limit is 0.05 ** (1 / n). The limits go in steps of 5 points."""
    fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    exact = 0.05 ** (1 / 12)
    (claim,) = project()["profile"]["ci"]["gate"]["claims"]
    assert claim["at_least"] <= exact < claim["at_least"] + 0.05


@pytest.mark.long
def test_the_attempts_are_the_fewest_that_the_plan_finds_enough() -> None:
    """`fairtrial plan` says so about the same run."""
    fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    (run,) = fairtrial("runs", "--quiet").out.split()
    rows = fairtrial("plan", run, "--half-width", "0.1", "--json", "-").json["rows"]
    assert project()["profile"]["ci"]["attempts"] == min(row["attempts"] for row in rows if row["cases"] <= 12)


@pytest.mark.long
def test_the_gate_passes_now_and_fails_for_a_worse_agent() -> None:
    """It is decided by the command that the workflow runs."""
    fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    assert commands() == "fairtrial run --profile ci"
    passed = fairtrial("run", "--profile", "ci")
    assert (passed.code, "PASSED: cases at least 75 %" in passed.out) == (0, True), passed.out
    Path("my_agents.py").write_text(AGENT.replace("12 euros", "21 euros"), encoding="utf-8")
    sys.modules.pop("my_agents")
    assert fairtrial("run", "--profile", "ci").code == 1


@pytest.mark.long
def test_replies_without_facts_are_compared_by_words() -> None:
    """No other criterion without a model applies to them."""
    fairtrial("init", "--agent", "my_agents:polite", "--csv", "items.csv")
    assert project()["criteria"] == {"response_match_score": 0.5}


@pytest.mark.long
def test_recordings_need_no_agent() -> None:
    """The workflow scores the recordings, and its gate decides."""
    fairtrial("record", "items.csv", "--agent", "my_agents:shop", "-o", "new.jsonl")
    done = fairtrial("init", "--recorded", "new.jsonl")
    assert done.code == 0, done.err
    assert "agent" not in project()
    program = f"PATH={Path(sys.executable).parent}:$PATH; {commands()}"
    ran = subprocess.run(["bash", "-ec", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, "cases at least 75 %" in ran.stdout) == (0, True), ran.stderr


@pytest.mark.long
def test_two_cases_make_no_claim() -> None:
    """The verdict of the run decides then, and the number of cases that would be enough is stated."""
    done = fairtrial("init", "--agent", "my_agents:capitals", "--csv", "capitals.csv")
    assert "gate" not in project()["profile"]["ci"] or project()["profile"]["ci"]["gate"]["claims"][0]["at_least"] < 0.3
    assert re.search(r"\d+ cases would show the pass rate to ±10 points", done.out)


@pytest.mark.long
def test_the_rule_of_the_gate_is_said_in_sentences_about_builds() -> None:
    """When a build is green, how often an agent as good as now gets there, and why the claim is not higher."""
    done = fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    sentences = [
        "Each case runs 2 times.",
        "The build is green if the run shows that at least 75 % of cases like these pass.",
        "If the agent stays as good as now, about 100 of 100 builds are green.",
        "A higher share would be shown in fewer than 80 of 100 builds.",
    ]
    assert "\ngate:\n" + "".join(f"  {sentence}\n" for sentence in sentences) in done.out
    assert "".join(f"# {sentence}\n" for sentence in sentences) in Path("fairtrial.toml").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_what_a_first_gate_says_is_translated(language: str) -> None:
    """Each sentence below the files that were written, and none of them in part."""
    done = fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv", "--lang", language)
    (*_, rest) = done.out.partition(".github/workflows/fairtrial.yml")
    known = re.compile(r"`[^`]*`|\S*[_/.]\S*|fairtrial [a-z -]+")
    assert re.findall("[a-z]{2,}", known.sub("", rest)) == []


@pytest.mark.long
def test_a_gate_below_the_table_says_why_its_limit_differs_from_the_intervals() -> None:
    """The limit has one end, the intervals have two. Without the table there is nothing to differ from."""
    fairtrial("init", "--agent", "my_agents:shop", "--csv", "items.csv")
    sentence = "The intervals of the table have two ends, and a gate asks about one"
    assert sentence in fairtrial("run", "--profile", "ci").out
    assert sentence not in fairtrial("run", "--profile", "ci", "--quiet").out


def test_a_gate_overwrites_nothing() -> None:
    """It says so before the agent is asked."""
    Path("fairtrial.toml").write_text("attempts = 2\n", encoding="utf-8")
    done = fairtrial("init", "--agent", "my_agents:broken", "--csv", "items.csv")
    assert (done.code, "fairtrial.toml exists" in done.err) == (2, True)
    assert not Path("evals").exists()


def test_an_agent_that_breaks_everywhere_leaves_no_files() -> None:
    """The message holds the error of the agent."""
    done = fairtrial("init", "--agent", "my_agents:broken", "--csv", "items.csv")
    assert (done.code, "no such thing" in done.err) == (2, True)
    assert not Path("fairtrial.toml").exists()
    assert not Path("evals").exists()


def test_options_that_leave_something_out_are_refused_outside_a_terminal() -> None:
    """Nobody can answer a question there."""
    done = fairtrial("init", "--agent", "my_agents:shop")
    assert (done.code, "--agent needs --csv FILE" in done.err) == (2, True)


def test_questions_with_expected_replies_need_an_agent() -> None:
    """There is nothing else to compare with the expected replies."""
    Path("answered.csv").write_text("question,answer\nWhen do you open?,At 9 a.m.\n", encoding="utf-8")
    done = fairtrial("init", "--csv", "answered.csv")
    assert (done.code, "answered.csv: an agent must answer the questions; name it" in done.err) == (2, True)


@pytest.mark.long
def test_a_terminal_asks_for_messages() -> None:
    """Two messages are enough for an eval set."""
    program = str(Path(sys.executable).parent / "fairtrial")
    child, terminal = pty.fork()
    if child == 0:
        os.execv(program, ["fairtrial", "init", "--agent", "my_agents:shop"])  # noqa: S606
    os.write(terminal, b"What is the price of 7?\nWhat is the price of 8?\n")
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass  # the end of the terminal
    assert os.waitpid(child, 0)[1] == 0, shown.decode()
    cases = json.loads(Path("evals/first.evalset.json").read_text(encoding="utf-8"))["eval_cases"]
    assert [case["conversation"][0]["user_content"]["parts"][0]["text"] for case in cases] == [
        "What is the price of 7?",
        "What is the price of 8?",
    ]


@pytest.mark.long
def test_recordings_are_scored_against_the_expectations_that_their_file_states() -> None:
    """A reply that contradicts its column `expected` fails. It is not the new expectation."""
    rows = "".join(f"Is item {number} there?,{'no' if number == 2 else 'yes'},yes\n" for number in range(4))
    Path("log.csv").write_text(f"question,answer,expected\n{rows}", encoding="utf-8")
    done = fairtrial("init", "--recorded", "log.csv")
    cases = json.loads(Path("evals/log.evalset.json").read_text(encoding="utf-8"))["eval_cases"]
    assert [case["conversation"][0]["final_response"]["parts"][0]["text"] for case in cases] == ["yes"] * 4
    assert "✗ log-3  failed" in done.out
    assert "until new recordings replace the file" in " ".join(done.out.split())
    assert "fairtrial score log.csv" in Path("fairtrial.toml").read_text(encoding="utf-8")
    remark = Path(".github/workflows/fairtrial.yml").read_text(encoding="utf-8").splitlines()[1]
    assert "every build has the same verdict until new recordings replace the file" in remark


def test_rows_of_json_keep_their_expectations() -> None:
    """A row without one expects its recorded reply, and a warning says of how many rows this is true."""
    rows = [{"question": "Open?", "answer": "no", "expected": "yes"}, {"question": "Late?", "answer": "never"}]
    Path("log.json").write_text(json.dumps(rows), encoding="utf-8")
    done = fairtrial("init", "--recorded", "log.json")
    cases = json.loads(Path("evals/log.evalset.json").read_text(encoding="utf-8"))["eval_cases"]
    texts = [case["conversation"][0]["final_response"]["parts"][0]["text"] for case in cases]
    assert texts == ["yes", "never"]
    assert "the files state no expectation of 1 case" in done.err


def test_expect_says_that_it_leaves_out_a_stated_expectation() -> None:
    """`fairtrial expect` makes the recorded replies the expectations."""
    Path("log.csv").write_text("question,answer,expected\nOpen?,no,yes\n", encoding="utf-8")
    done = fairtrial("expect", "log.csv", "-o", "new.evalset.json")
    assert "what the files expect of 1 case is left out" in done.err


def test_a_table_without_known_columns_is_advised_what_init_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init` has no option for the columns, so that it advises their names."""
    enter(tmp_path, monkeypatch)
    Path("own_agent.py").write_text(AGENT, encoding="utf-8")
    Path("own.csv").write_text("a,b\nHi?,Hello\n", encoding="utf-8")
    refused = fairtrial("init", "--agent", "own_agent:polite", "--csv", "own.csv")
    assert (refused.code, "rename 'COLUMN' to 'input'" in refused.err, "--map" in refused.err) == (2, True, False)


def test_a_gate_of_recordings_names_its_command() -> None:
    """`run` needs an agent, and says which command scores the recordings."""
    fairtrial("record", "capitals.csv", "--agent", "my_agents:capitals", "-o", "traces.jsonl")
    done = fairtrial("init", "--recorded", "traces.jsonl")
    command = "fairtrial score traces.jsonl --against evals/traces.evalset.json"
    assert f"next: {command}" in done.out
    assert fairtrial(*command.split()[1:]).code == 0
    refused = fairtrial("run", "--profile", "ci")
    assert refused.code == 2
    assert "recordings need no agent: fairtrial score RECORDED --against evals/traces.evalset.json" in refused.err


@pytest.mark.parametrize(
    ("language", "question"),
    [("ko", "에이전트, 예:"), ("ja", "エージェント、例:"), ("zh-CN", "您的智能体"), ("zh-TW", "您的代理")],
)
def test_the_questions_are_asked_in_the_language_of_the_terminal(language: str, question: str) -> None:
    """Of a terminal, where somebody can answer."""
    environment = {**os.environ, "FAIRTRIAL_LANG": language}
    leader, follower = pty.openpty()
    os.write(leader, b"\n")
    command = [sys.executable, "-m", "fairtrial", "init"]
    done = subprocess.run(command, stdin=follower, capture_output=True, env=environment, check=True)
    os.close(leader)
    os.close(follower)
    assert done.stdout.decode().startswith(question)
