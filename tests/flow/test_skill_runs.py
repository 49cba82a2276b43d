"""A skill is tested with it, without it, with an old version, and for its trigger."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import Done, fairtrial
from fairtrial import api
from fairtrial.errors import UsageError

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"
SKILL = EXAMPLES / "sales-report"
AGENT = f"harness:{EXAMPLES / 'scripted-agent.yaml'}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the example's skill."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SKILL, tmp_path / "sales-report")
    return tmp_path


def run(*more: str, skill: str = "sales-report", attempts: int = 1) -> Done:
    """Test the skill in the current folder."""
    options = ("--agent", AGENT, "--attempts", str(attempts), "--sandbox", "none", "--json", "run.json")
    return fairtrial("run", skill, *options, *more)


def report() -> dict[str, Any]:
    """The JSON report of the run."""
    document: dict[str, Any] = json.loads(Path("run.json").read_text())
    return document


def drop_step(folder: Path, words: str) -> None:
    """Remove the lines with some words from the skill."""
    path = folder / "sales-report" / "SKILL.md"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if words not in line))


@pytest.mark.usefixtures("folder")
def test_the_difference_is_the_first_line() -> None:
    """Two of three cases need the skill, so that it is worth 67 points, and no case is worse."""
    done = run()
    assert done.code == 0
    lead = next(line for line in done.out.splitlines() if not line.startswith("criteria:"))
    assert lead.startswith("with the skill +67 points (")
    notes = report()["run"]["notes"]
    assert "compared with no skill: 2 of 3 cases better, none worse; no difference shown" in notes[0]
    assert "+1,280 tokens" in notes[0]  # a third more: 2 messages of 960 tokens in 2 of 3 cases
    silent = "every attempt passes with the skill and without it, so that the case says nothing about the skill"
    assert notes[1] == f"{silent}: best-month-only"


@pytest.mark.usefixtures("folder")
def test_the_verdict_is_about_the_skill_alone() -> None:
    """Attempts without the skill fail, and are stored, and do not fail the run."""
    done = run(attempts=2)
    document = report()
    verdicts = {(own["eval_set"].rpartition("@")[2], own["case_id"]): own["verdict"] for own in document["attempts"]}
    assert verdicts["without", "three-months"] == "failed"
    assert verdicts["with", "three-months"] == "passed"
    assert document["run"]["counts"] == {"passed": 6}
    assert "✓ PASSED" in done.out
    assert "sales-report@without:three-months" not in done.out


@pytest.mark.usefixtures("folder")
def test_programs_that_read_junit_see_the_skill_alone() -> None:
    """A failure without the skill is no failure of the build."""
    run("--junit", "skill.xml")
    text = Path("skill.xml").read_text()
    assert 'failures="0"' in text
    assert "@without" not in text
    assert 'file="sales-report/evals/evals.json"' in text


@pytest.mark.usefixtures("folder")
def test_variants_compare_and_gate_like_runs() -> None:
    """A variant of a run is named behind it, wherever a run is."""
    run()
    run_id = report()["run"]["id"]
    compared = fairtrial("compare", f"{run_id}@without", f"{run_id}@with", "--json", "-")
    assert compared.code == 0
    (cases, *_) = json.loads(compared.out)["rows"]
    assert (cases["better"], cases["worse"], round(cases["difference"], 3)) == (2, 0, 0.667)
    assert fairtrial("gate", f"{run_id}@with", "--at-least", "0.1").code == 0
    assert fairtrial("gate", f"{run_id}@without", "--at-least", "0.9").code == 1
    problem = fairtrial("compare", f"{run_id}@old", f"{run_id}@with")
    assert "has no variant 'old'; its variants: with, without" in problem.err


@pytest.mark.usefixtures("folder")
def test_claims_on_a_run_are_about_the_skill() -> None:
    """Attempts without the skill are the base of claims about a difference, and no part of other claims."""
    done = run("--better-by", "0", "--not-worse-by", "0.4")
    run_id = report()["run"]["id"]
    assert f"than {run_id}@without" in " ".join(done.out.split())
    assert done.code == 3  # three cases prove little
    decided = fairtrial("gate", run_id, "--at-least", "0.1", "--json", "-")
    assert decided.json["claims"][0]["estimate"] == 1
    assert fairtrial("gate", f"{run_id}@without", "--at-least", "0.9").code == 1
    run()
    (cases, *_) = fairtrial("compare", run_id, report()["run"]["id"], "--json", "-").json["rows"]
    assert (cases["cases"], cases["difference"]) == (3, 0)
    rows = fairtrial("history", "--json", "-").json["rows"]
    assert [(row["cases"], row["value"]["value"]) for row in rows] == [(3, 1), (3, 1)]


@pytest.mark.usefixtures("folder")
def test_claims_on_a_skill_wait_for_all_attempts() -> None:
    """Waves of attempts would mix the variants."""
    done = run("--until-decided", "--at-least", "0.5")
    assert (done.code, "--until-decided: a run of a skill makes all its attempts" in done.err) == (2, True)


def test_an_old_version_comes_from_git(folder: Path) -> None:
    """A skill is compared with the last commit, and the working tree is not touched."""
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], check=True, cwd=folder)
    drop_step(folder, "description")
    (folder / "sales-report" / "SKILL.md").write_text("---\nname: sales-report\ndescription: Nothing.\n---\n")
    run("--versus", "HEAD")
    assert "with the skill -67 points" in report()["run"]["notes"][0]
    assert "compared with the old version" in report()["run"]["notes"][0]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["no-such-revision", "--output=x"])
def test_a_version_that_is_not_there_is_refused(name: str) -> None:
    """A name that is neither a folder nor a revision is an error, also if it looks like an option."""
    done = run(f"--versus={name}")
    assert (done.code, "versus: " in done.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_triggers_have_sensitivity_and_specificity() -> None:
    """The example misses one of three queries, and is quiet on all others."""
    done = run("--trigger")
    assert done.code == 1
    lead, wrong, *_ = report()["run"]["notes"]
    assert "fires on 67 % of 3 queries that should (sensitivity" in lead
    assert "stays quiet on 100 % of 3 queries that should not fire (specificity" in lead
    assert "wrong on 1 query: yes-3" in wrong


def test_near_misses_have_a_share_of_their_own(folder: Path) -> None:
    """The worst category comes first. A kind of query that has no categories has no such note."""
    queries = [
        {"query": "Write a report of the sales in sales.csv.", "should_trigger": True},
        {"query": "Delete the report of the sales.", "should_trigger": False, "category": "near miss"},
        {"query": "When do the sales begin?", "should_trigger": False, "kind": "near miss"},
        {"query": "What is the capital of France?", "should_trigger": False, "category": "unrelated"},
        {"query": "Hello.", "should_trigger": False},
    ]
    (folder / "sales-report" / "evals" / "trigger-eval.json").write_text(json.dumps(queries))
    run("--trigger")
    (note,) = (note for note in report()["run"]["notes"] if "by category" in note)
    lead, shares = note.split(" by category: ")
    assert lead == "the skill: stays quiet on queries that should not fire,"
    names = [share.split(" (")[0] for share in shares.split("), ")]
    assert names == [
        "near miss 50 % of 2 queries",
        "unrelated 100 % of 1 query",
        "without a category 100 % of 1 query",
    ]


def test_descriptions_are_tried_side_by_side(folder: Path) -> None:
    """Another description changes when the skill fires."""
    (folder / "vague.txt").write_text("Does many things.")
    run("--trigger", "--description", "vague.txt")
    notes = "\n".join(report()["run"]["notes"])
    assert "the description 'vague': fires on 0 % of 3 queries" in notes


def test_a_run_goes_on_where_it_stopped(folder: Path) -> None:
    """A resumed run repeats no attempt, and keeps its options; another skill is refused."""
    run()
    first = report()
    again = fairtrial("run", "--resume", first["run"]["id"], "--attempts", "2", "--json", "run.json")
    assert again.code == 0
    second = report()
    assert len(second["attempts"]) == 2 * len(first["attempts"])
    again_first = [own["trace"] for own in second["attempts"] if own["attempt"] == 1]
    assert again_first == [own["trace"] for own in first["attempts"]]
    drop_step(folder, "Reply")
    refused = fairtrial("run", "--resume", first["run"]["id"], "--attempts", "3")
    assert "signature of agent is not the same" in refused.err


def test_nothing_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No workspace stays, and the home of the user and the skill are as they were."""
    temporary = folder / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    run()
    assert [path for path in temporary.iterdir() if not path.name.startswith("fairtrial-skill-")] == []
    assert not (folder / "sales-report" / "report.md").exists()


def test_the_skill_does_not_bring_its_answers_along(folder: Path) -> None:
    """The agent never sees the eval files, which tell the expected answers."""
    probe = folder / "probe.json"
    shown = "find .claude -type f | sort"
    probe.write_text(json.dumps({"command": ["sh", "-c", shown], "skills": ".claude/skills", "log": "text"}))
    fairtrial("run", "sales-report", "--agent", f"harness:{probe}", "--attempts", "1", "--json", "run.json")
    replies = {own["trace"][0]["reply"]["text"] for own in report()["attempts"] if own["eval_set"].endswith("@with")}
    assert replies == {".claude/skills/sales-report/SKILL.md"}


def test_a_missing_file_stops_before_anything_runs(folder: Path) -> None:
    """A case whose file is missing would blame the agent."""
    (folder / "sales-report" / "evals" / "files" / "sales.csv").unlink()
    done = run()
    assert done.code == 2
    assert "holds no 'evals/files/sales.csv', which the case 'three-months' gives to the agent" in done.err


def test_check_names_a_missing_file_and_where_it_may_be(folder: Path) -> None:
    """A folder that got a new name is seen before anything runs."""
    path = folder / "sales-report" / "evals" / "evals.json"
    path.write_text(path.read_text().replace("evals/files/sales.csv", "old-name/files/sales.csv"))
    done = fairtrial("check", "sales-report")
    assert done.code == 2
    problem = "holds no 'old-name/files/sales.csv', which the case 'three-months' gives to the agent"
    assert f"{problem}; 'evals/files/sales.csv' has the same name" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "words",
    [
        ("sales-report", "--only", "one-*"),
        ("sales-report:one-month",),
        ("sales-report/evals/evals.json:one-month",),
        ("sales-report", "--only", "sales-report@with*:one-month"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_cases_are_chosen_as_everywhere(words: tuple[str, ...]) -> None:
    """A chosen case runs with the skill and without it, and so do its variants by their names."""
    assert fairtrial("run", *words, "--agent", AGENT, "--attempts", "1", "--json", "run.json").code == 0
    ran = {(own["case_id"], own["eval_set"].rpartition("@")[2]) for own in report()["attempts"]}
    assert ran == {("one-month", "with"), ("one-month", "without")}


def test_a_case_that_is_left_out_needs_no_files(folder: Path) -> None:
    """Somebody may lack the files of the other cases."""
    (folder / "sales-report" / "evals" / "files" / "sales.csv").unlink()
    assert fairtrial("run", "sales-report", "--only", "one-month", "--agent", AGENT, "--attempts", "1").code == 0


@pytest.mark.usefixtures("folder")
def test_options_of_skills_need_a_skill() -> None:
    """An option that nothing reads is an error."""
    done = fairtrial("run", str(EXAMPLES / "shop.evalset.json"), "--agent", "examples.agent:reply", "--trigger")
    assert "need a folder with SKILL.md" in done.err


def test_a_skill_without_evals_says_how_to_begin(folder: Path) -> None:
    """The message names the command that writes them."""
    shutil.rmtree(folder / "sales-report" / "evals")
    with pytest.raises(UsageError, match="has no eval files"):
        api.plan_skill_run("sales-report", AGENT, api.SkillOptions())


@pytest.mark.usefixtures("folder")
def test_a_budget_ends_a_run_and_a_larger_one_goes_on() -> None:
    """An attempt costs 0.004 $, so that two of six are made, and the others have no verdict."""
    done = run("--max-cost", "0.009")
    assert done.code != 0
    first = report()
    causes = [own["failure"]["cause"] for own in first["attempts"] if own.get("failure")]
    assert len(causes) == 4
    assert all("is not started: the budget of $0.009 is used up" in cause for cause in causes)
    again = fairtrial("run", "--resume", first["run"]["id"], "--max-cost", "1", "--json", "run.json")
    assert again.code == 0, again.err
    assert not any(own.get("failure") for own in report()["attempts"])


def test_a_program_without_a_price_has_no_budget(folder: Path) -> None:
    """A limit that nobody could keep is refused."""
    probe = folder / "probe.json"
    probe.write_text(json.dumps({"command": ["cat"], "skills": ".claude/skills", "log": "text"}))
    done = fairtrial("run", "sales-report", "--agent", f"harness:{probe}", "--max-cost", "1")
    assert (done.code, "probe does not report what an attempt costs" in done.err) == (2, True)


def write_text_agent(folder: Path) -> str:
    """Write an agent whose output is its reply, and return its name."""
    probe = folder / "probe.json"
    probe.write_text(json.dumps({"command": ["echo", "done"], "skills": ".claude/skills", "log": "text"}))
    return f"harness:{probe}"


def test_a_trigger_that_nobody_could_see_is_not_asked_for(folder: Path) -> None:
    """A log of text names no calls, so that every query would look quiet."""
    done = fairtrial("run", "sales-report", "--agent", write_text_agent(folder), "--trigger")
    assert (done.code, "--trigger: the log of probe is text, which names no use of a skill" in done.err) == (2, True)


def test_calls_that_nobody_saw_are_not_counted(folder: Path) -> None:
    """A check of calls is undecided if the log names none, and a check of files is decided."""
    checks = [{"type": "calls", "at_most": 3}, {"type": "absent", "path": "x"}]
    case = {"id": "one", "prompt": "Go", "checks": checks}
    document = {"skill_name": "sales-report", "evals": [case]}
    (folder / "sales-report" / "evals" / "evals.json").write_text(json.dumps(document))
    options = ("--agent", write_text_agent(folder), "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    fairtrial("run", "sales-report", *options)
    parts = [
        (part["value"], part.get("reason", ""))
        for own in report()["attempts"]
        for outcome in own["outcomes"]
        if outcome["criterion"] == "workspace_checks_v1"
        for part in outcome["parts"]
    ]
    assert parts[0][0] is None
    assert parts[0][1].startswith("the recording does not say which tools were called")
    assert parts[1][0] == 1
    counts = [
        outcome["value"]
        for own in report()["attempts"]
        for outcome in own["outcomes"]
        if outcome["criterion"] == "tool_call_count_v1"
    ]
    assert set(counts) == {None}


@pytest.mark.usefixtures("folder")
def test_the_path_of_a_skill_file_means_the_skill() -> None:
    """People complete the path of the file that they wrote."""
    assert run(skill="sales-report/SKILL.md").code == 0


@pytest.mark.parametrize(("version", "is_refused"), [("0.92.0", True), ("999.0.0", False), ("unknown", False)])
def test_a_program_that_may_find_no_skills_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_refused: bool
) -> None:
    """Codex 0.92.0 looks for skills in another folder: it would run to the end, and the skill would change nothing."""
    program = folder / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo codex-cli {version} || touch {folder}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    done = fairtrial("run", "sales-report", "--agent", "codex", "--attempts", "1", "--sandbox", "none")
    refusal = "codex: codex-cli 0.92.0 is older than 0.98.0, and may find no skills; update the program"
    assert (refusal in done.err, (folder / "ran").exists()) == (is_refused, not is_refused)
