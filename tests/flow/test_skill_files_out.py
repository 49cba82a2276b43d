"""The eval files of a skill are begun, and its results are written, in the layout of agentskills.io."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

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


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.usefixtures("folder")
def test_results_are_laid_out_as_the_guide_does(attempts: int) -> None:
    """Each attempt has its grades with evidence and its time, and the benchmark has means and differences."""
    options = ("--agent", AGENT, "--attempts", str(attempts), "--sandbox", "none", "--json", "run.json")
    fairtrial("run", "sales-report", *options)
    run = json.loads(Path("run.json").read_text())["run"]["id"]
    done = fairtrial("export", run, "--as", "agent-skills", "-o", "out")
    assert done.code == 0, done.err
    place = Path("out/eval-three-months/without_skill") / ("run-2" if attempts > 1 else "")
    grading = json.loads((place / "grading.json").read_text())
    assert grading["summary"] == {"passed": 1, "failed": 2, "total": 3, "pass_rate": pytest.approx(1 / 3)}
    assert grading["assertion_results"][0] == {
        "text": "exists report.md",
        "passed": False,
        "evidence": "no file matches 'report.md'",
    }
    timing = json.loads((place / "timing.json").read_text())
    assert timing["total_tokens"] == 1920
    assert timing["duration_ms"] > 0
    summary = json.loads(Path("out/benchmark.json").read_text())["run_summary"]
    assert summary["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0}
    assert summary["delta"]["pass_rate"] == pytest.approx(1 - summary["without_skill"]["pass_rate"]["mean"])
    assert summary["delta"]["tokens"] == pytest.approx(1280)


@pytest.mark.usefixtures("folder")
def test_results_are_not_mixed_with_other_files() -> None:
    """A folder that holds something is refused, and so is a run without variants."""
    fairtrial("run", "sales-report", "--agent", AGENT, "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    run = json.loads(Path("run.json").read_text())["run"]["id"]
    assert "holds something" in fairtrial("export", run, "--as", "agent-skills", "-o", "sales-report").err
    assert "needs a folder" in fairtrial("export", run, "--as", "agent-skills").err
