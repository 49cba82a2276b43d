"""Runs in CI servers: annotations, a summary, names and tags, failed cases, and an early stop."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write

AGENT = ("trips.evalset.json", "--agent", "commands:obedient", "--concurrency", "1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set, outside of GitHub."""
    enter(tmp_path, monkeypatch)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail_it", "crash"))


def last_run() -> dict[str, Any]:
    """The report that was written last."""
    found: dict[str, Any] = json.loads(Path("r.json").read_bytes())
    return found


def test_github_gets_annotations_at_the_lines_of_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error each for cases that failed, in the file of the eval set, and the report as the step summary."""
    write("trips.evalset.json", eval_set("good", "crash"))
    Path("trips.evalset.json").write_text(json.dumps(json.loads(Path("trips.evalset.json").read_text()), indent=1))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = fairtrial("run", *AGENT)
    lines = Path("trips.evalset.json").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if '"eval_id": "crash"' in line)
    (annotation,) = [line for line in done.out.splitlines() if line.startswith("::error")]
    place = f"title=crash%3A error,file=trips.evalset.json,line={number}"
    cause = r"agent: RuntimeError: the agent fell over \(.*commands\.py, line \d+\)"
    assert re.fullmatch(f"::error {re.escape(place)}::{cause}", annotation)
    assert "FAILED" in Path("summary.md").read_text()


def test_an_annotation_names_a_case_without_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody who sees the pull request reads it."""
    cases = eval_set("crash")
    cases["eval_cases"][0]["eval_id"] = "ghp_016C7s8Kd2mNq9RtLx4VbZe3WfYh5Jp1Ga06"
    write("trips.evalset.json", cases)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = fairtrial("run", *AGENT)
    (annotation,) = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert annotation.startswith("::error title=[REDACTED%3Aprovider_key]%3A error,file=trips.evalset.json")


def test_an_agent_cannot_give_github_commands() -> None:
    """The report stands between a stop with a secret token and its end."""
    write("trips.evalset.json", eval_set("fail_\n::add-mask::x"))
    done = fairtrial("run", *AGENT, "--github")
    stop = re.search(r"^::stop-commands::(\w{32})$", done.out, re.MULTILINE)
    assert stop
    inside, outside = done.out.split(f"::{stop[1]}::\n")
    assert "::add-mask::" in inside
    assert not re.search(r"^\s*::add-mask::", outside, re.MULTILINE)


def test_outside_of_github_there_are_no_annotations() -> None:
    """And `--no-github` silences them inside."""
    assert "::" not in fairtrial("run", *AGENT).out


@pytest.mark.long
def test_only_cases_that_failed_run_again() -> None:
    """By the verdicts of the earlier run; if all of them passed, nothing is left to run."""
    fairtrial("run", *AGENT, "--json", "r.json")
    first = last_run()["run"]["id"]
    fairtrial("run", *AGENT, "--json", "r.json", "--failed-from", first)
    assert [case["case_id"] for case in last_run()["attempts"]] == ["fail_it", "crash"]
    fairtrial("run", *AGENT, "--json", "r.json", "--only", "good")
    done = fairtrial("run", *AGENT, "--failed-from", last_run()["run"]["id"])
    assert (done.code, "every case passed" in done.err) == (2, True)


@pytest.mark.long
def test_only_recordings_of_cases_that_failed_are_scored_again() -> None:
    """`score` takes the verdicts of an earlier run or score, also of recordings that stay in their file."""
    fairtrial("record", *AGENT, "-o", "recorded.jsonl")
    fairtrial("score", "recorded.jsonl", "--against", "trips.evalset.json", "--json", "r.json")
    first = last_run()["run"]["id"]
    fairtrial("score", "recorded.jsonl", "--against", "trips.evalset.json", "--json", "r.json", "--failed-from", first)
    assert [case["case_id"] for case in last_run()["attempts"]] == ["fail_it", "crash"]
    write("streamed.json", {"criteria": {"tool_call_count_v1": 100}})
    fairtrial("score", "recorded.jsonl", "--config", "streamed.json", "--json", "r.json")
    second = last_run()["run"]["id"]
    fairtrial("score", "recorded.jsonl", "--config", "streamed.json", "--json", "r.json", "--failed-from", second)
    assert [case["case_id"] for case in last_run()["attempts"]] == ["crash"]


def test_a_run_can_stop_at_the_first_failure() -> None:
    """The cases behind it are not run, and the report says so."""
    write("trips.evalset.json", eval_set("good", "crash", "late"))
    done = fairtrial("run", *AGENT, "-x", "--json", "r.json")
    assert done.code == 1
    assert [case["case_id"] for case in last_run()["attempts"]] == ["good", "crash"]
    assert "stopped at the first attempt that did not pass" in done.out


def test_runs_have_names_tags_pass_rates_and_commits() -> None:
    """And they are found by them."""
    for command in (("init", "-q"), ("add", "trips.evalset.json"), ("commit", "-qm", "x")):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *command], check=True)
    fairtrial("run", *AGENT, "--name", "nightly", "--tag", "main", "--tag", "slow")
    Path("trips.evalset.json").write_text(Path("trips.evalset.json").read_text() + "\n")
    fairtrial("run", *AGENT, "--only", "good")
    second, first = re.findall(r"^ \d{8}-.*?(?=\n \d{8}-|\Z)", fairtrial("runs").out, re.MULTILINE | re.DOTALL)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:8]
    assert f"{commit}+" in second
    assert f"{commit} " in first
    assert ("100 %" in second, "33 %" in first) == (True, True)
    assert all(label in first for label in ("nightly", "main", "slow"))
    assert len(fairtrial("runs", "--tag", "slow", "--name", "night*", "-q").out.split()) == 1
    assert not fairtrial("runs", "--tag", "other", "-q").out


def test_the_default_store_is_not_committed() -> None:
    """Its folder ignores itself."""
    fairtrial("run", *AGENT)
    assert Path(".fairtrial/.gitignore").read_text() == "*\n"


def test_rouge_alone_over_korean_is_a_warning() -> None:
    """It passes the opposite of a reply. English, or a judge beside it, is no reason to warn."""
    korean = eval_set("good")
    korean["eval_cases"][0]["conversation"][0]["final_response"]["parts"][0]["text"] = "환불할 수 있습니다"
    write("trips.evalset.json", korean)
    assert "only response_match_score decides about replies in Korean" in fairtrial("run", *AGENT).err
    write("trips.evalset.json", eval_set("good"))
    assert "response_match_score decides" not in fairtrial("run", *AGENT).err


def test_folders_of_tools_are_left_out_and_other_json_is_no_error() -> None:
    """Hidden folders, virtual environments and node_modules belong to tools; `package.json` to something else."""
    for folder in (".hidden", "node_modules/x", "env/lib"):
        Path(folder).mkdir(parents=True)
        Path(folder, "broken.evalset.json").write_text("{")
    Path("env/pyvenv.cfg").touch()
    Path("package.json").write_text('{"name": "shop", "scripts": {}}')
    done = fairtrial("check", ".")
    assert done.code == 0
    assert "✓ package.json: JSON of another kind, left out" in done.out
    assert "broken" not in done.out
    assert fairtrial("run", ".", "--agent", "commands:obedient").code == 1
    Path("bad.evalset.json").write_text('{"name": "shop"}')
    assert fairtrial("check", ".").code == 2
