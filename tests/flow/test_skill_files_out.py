"""The eval files of a skill are begun, and its results are written, in the layout of agentskills.io."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands import fairtrial

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"
AGENT = f"harness:{EXAMPLES / 'scripted-agent.yaml'}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the example's skill."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES / "sales-report", tmp_path / "sales-report")
    return tmp_path


def test_a_skill_gets_three_prompts_and_a_trigger_file(folder: Path) -> None:
    """The files are read as they are, and say what is to be written."""
    shutil.rmtree(folder / "sales-report" / "evals")
    done = fairtrial("init", "sales-report", "--skill")
    assert done.code == 0
    assert "next: replace each TODO, then fairtrial run sales-report --agent claude" in done.out
    checked = fairtrial("check", "sales-report/evals/evals.json", "sales-report/evals/trigger-eval.json")
    assert "evals of an Agent Skill, 3 cases" in checked.out
    assert "trigger queries of an Agent Skill, 4 cases" in checked.out
    assert "/evals/0/prompt: is still to be written" in checked.out + checked.err


def test_what_is_still_to_be_written_does_not_run(folder: Path) -> None:
    """Attempts at a prompt that nobody wrote would cost money and say nothing."""
    shutil.rmtree(folder / "sales-report" / "evals")
    fairtrial("init", "sales-report", "--skill")
    done = fairtrial("run", "sales-report", "--agent", AGENT)
    assert (done.code, "'usual', 'other-words', 'hard': still to be written" in done.err) == (2, True)
    asked = fairtrial("run", "sales-report", "--agent", AGENT, "--trigger")
    assert (asked.code, "still to be written" in asked.err) == (2, True)
    checked = fairtrial("check", "sales-report")
    assert checked.out.count("is still to be written") == 12


@pytest.mark.usefixtures("folder")
def test_eval_files_are_never_overwritten() -> None:
    """What stands there is the work of somebody."""
    before = Path("sales-report/evals/evals.json").read_bytes()
    done = fairtrial("init", "sales-report", "--skill")
    assert (done.code, "would be overwritten" in done.err) == (2, True)
    assert Path("sales-report/evals/evals.json").read_bytes() == before


def test_a_folder_without_a_skill_gets_no_evals(tmp_path: Path) -> None:
    """Prompts without a skill would test nothing."""
    done = fairtrial("init", str(tmp_path), "--skill")
    assert (done.code, "holds no SKILL.md" in done.err) == (2, True)


def export(*more: str, attempts: int = 1, agent: str = AGENT) -> Path:
    """Test the skill in the current folder, and return the folder with its results."""
    options = ("--agent", agent, "--attempts", str(attempts), "--sandbox", "none", "--json", "run.json")
    fairtrial("run", "sales-report", *options, *more)
    run = json.loads(Path("run.json").read_text())["run"]["id"]
    done = fairtrial("export", run, "--as", "agent-skills", "-o", "out")
    assert done.code == 0, done.err
    return Path("out")


def read(path: Path) -> Any:
    """Return the document in a file."""
    return json.loads(path.read_text())


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.usefixtures("folder")
def test_an_attempt_is_laid_out_as_the_guide_does(attempts: int) -> None:
    """Each attempt has a folder with its grades with evidence, its time, and the files that the agent left."""
    place = export(attempts=attempts) / f"eval-three-months/without_skill/run-{attempts}"
    grading = read(place / "grading.json")
    assert grading["summary"] == {"passed": 1, "failed": 2, "total": 3, "pass_rate": 0.3333}
    first = {"text": "exists report.md", "passed": False, "evidence": "no file matches 'report.md'"}
    assert grading["assertion_results"][0] == first
    assert grading["expectations"][0] == first
    assert grading["execution_metrics"]["tool_calls"] == {"Read": 1}
    timing = read(place / "timing.json")
    assert timing["total_tokens"] == 1920
    assert timing["duration_ms"] == pytest.approx(timing["total_duration_seconds"] * 1000)


@pytest.mark.usefixtures("folder")
def test_the_files_that_the_agent_left_are_written() -> None:
    """A reviewer sees the reply and the report of an attempt."""
    outputs = export() / "eval-three-months/with_skill/run-1/outputs"
    assert (outputs / "report.md").read_text().startswith("# Sales report")
    assert "February" in (outputs / "reply.md").read_text()


@pytest.mark.usefixtures("folder")
def test_the_prompt_stands_where_programs_look_for_it() -> None:
    """Scripts read the number of a case beside its variants, and viewers the prompt beside its attempts."""
    folder = export() / "eval-three-months"
    metadata = read(folder / "eval_metadata.json")
    assert (metadata["eval_id"], metadata["eval_name"]) == (1, "three-months")
    assert "sales.csv" in read(folder / "with_skill/eval_metadata.json")["prompt"]


@pytest.mark.usefixtures("folder")
def test_the_benchmark_has_attempts_means_and_differences() -> None:
    """The names are those of the guide and of skill-creator's schema, and the notes hold the interval."""
    benchmark = read(export(attempts=2) / "benchmark.json")
    summary = benchmark["run_summary"]
    assert summary["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0}
    assert summary["without_skill"]["pass_rate"]["mean"] == pytest.approx((1 / 3 + 1 / 2 + 1) / 3, abs=1e-4)
    assert summary["delta"]["pass_rate"] == pytest.approx(1 - summary["without_skill"]["pass_rate"]["mean"])
    assert summary["delta"]["tokens"] == pytest.approx(1280)
    assert benchmark["metadata"]["skill_name"] == "sales-report"
    assert benchmark["metadata"]["runs_per_configuration"] == 2
    runs = [own for own in benchmark["runs"] if own["eval_name"] == "one-month"]
    assert {(own["configuration"], own["run_number"]) for own in runs} == {
        ("with_skill", 1), ("with_skill", 2), ("without_skill", 1), ("without_skill", 2)
    }  # fmt: skip
    assert runs[0]["result"]["pass_rate"] == 1.0
    assert "with the skill +67 points (" in benchmark["notes"][0]


def test_an_outage_is_no_failure_of_the_skill(folder: Path) -> None:
    """An attempt that nothing graded has no grades, its cause stands beside it, and no mean counts it."""
    probe = folder / "probe.json"
    probe.write_text(json.dumps({"command": ["false"], "skills": ".claude/skills", "log": "claude"}))
    out = export(agent=f"harness:{probe}")
    attempt = out / "eval-three-months/with_skill/run-1"
    assert not (attempt / "grading.json").exists()
    assert "its log breaks off" in (attempt / "outputs/failure.md").read_text()
    benchmark = read(out / "benchmark.json")
    assert (benchmark["runs"], benchmark["run_summary"]["with_skill"]) == ([], {})


def test_a_file_of_the_agent_never_replaces_another(folder: Path) -> None:
    """The agent may name a file or a folder as ours."""
    words = "mkdir Reply.md; echo own > Reply.md/own.txt; echo hello"
    probe = folder / "probe.json"
    probe.write_text(json.dumps({"command": ["sh", "-c", words], "skills": ".claude/skills", "log": "text"}))
    outputs = export(agent=f"harness:{probe}") / "eval-three-months/with_skill/run-1/outputs"
    assert (outputs / "Reply.md/own.txt").read_text() == "own\n"
    assert (outputs / "reply-2.md").read_text() == "hello"


@pytest.mark.usefixtures("folder")
def test_results_are_not_mixed_with_other_files() -> None:
    """A folder that holds something is refused, and so is a run without variants."""
    fairtrial("run", "sales-report", "--agent", AGENT, "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    run = json.loads(Path("run.json").read_text())["run"]["id"]
    assert "holds something" in fairtrial("export", run, "--as", "agent-skills", "-o", "sales-report").err
    assert "needs a folder" in fairtrial("export", run, "--as", "agent-skills").err
