"""Skills that compete for the same queries are installed together, and the report shows which one is used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import Done, fairtrial

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"
AGENT = f"harness:{EXAMPLES / 'scripted-agent.yaml'}"
REPORT = "Write a report of the sales in sales.csv."
FORECAST = "Give me a summary of the sales of next year."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two skills about sales. The scripted agent uses the first whose description speaks of sales."""
    monkeypatch.chdir(tmp_path)
    write_skill("reports", "Reports of sales.", [(REPORT, True), (FORECAST, False), ("Hello.", False)])
    write_skill("forecasts", "Forecasts of sales.", [(FORECAST, True), (REPORT, False)])
    return tmp_path


def write_skill(name: str, description: str, queries: Sequence[tuple[str, bool]]) -> None:
    """Write a skill with trigger queries, which do not name it."""
    (Path(name) / "evals").mkdir(parents=True)
    Path(name, "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nWork.\n")
    documents = [{"query": query, "should_trigger": side} for query, side in queries]
    Path(name, "evals", "trigger-eval.json").write_text(json.dumps(documents))


def run(*more: str) -> Done:
    """Ask the queries of both skills."""
    options = ("--agent", AGENT, "--attempts", "2", "--sandbox", "none", "--json", "run.json")
    return fairtrial("run", "reports", *more, *options)


def report() -> dict[str, Any]:
    """The JSON report of the run."""
    document: dict[str, Any] = json.loads(Path("run.json").read_text())
    return document


def uses() -> dict[tuple[str, str], dict[str, int]]:
    """How often attempts used a skill, by variant and by the skill that they should use."""
    return {(own["variant"], own["target"]): own["counts"] for own in report()["run"]["skill_uses"]}


def notes() -> list[str]:
    """The notes of the run."""
    own: list[str] = report()["run"]["notes"]
    return own


def test_the_report_says_which_skill_is_used_for_which_queries() -> None:
    """Forecasts takes what belongs to reports, and the greeting gets neither."""
    assert run("forecasts", "--trigger").code == 1
    assert uses() == {
        ("with", "forecasts"): {"forecasts": 4},
        ("with", "reports"): {"forecasts": 4},
        ("with", ""): {"": 2},
    }


def test_the_terminal_draws_the_uses_as_a_table() -> None:
    """A row is the skill that should be used, and a column the skill that was used. No note repeats it."""
    done = run("forecasts", "--trigger")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["should", "use", "↓", "used", "→", "forecasts", "reports", "no", "skill"] in lines
    assert ["forecasts", "4", "–", "–"] in lines
    assert ["reports", "4", "–", "–"] in lines
    assert ["no", "skill", "–", "–", "2"] in lines
    assert "attempts that should use" not in done.out


def test_the_files_of_a_run_hold_the_table() -> None:
    """JSON as counts, Markdown as a table."""
    run("forecasts", "--trigger", "--markdown", "run.md")
    assert {"variant": "with", "target": "reports", "counts": {"forecasts": 4}} in report()["run"]["skill_uses"]
    lines = Path("run.md").read_text().splitlines()
    assert "| attempts that should use | used `forecasts` | used `reports` | used no skill |" in lines
    assert "| `reports` | 4 | – | – |" in lines


def test_each_description_has_a_table_of_its_own() -> None:
    """The title names the description."""
    Path("quiet.txt").write_text("Predicts numbers.")
    done = run("forecasts", "--trigger", "--description", "quiet.txt")
    assert "should use ↓ used → (quiet)" in done.out


def test_each_skill_has_its_own_rates() -> None:
    """The queries of both files are asked, and a query that both files hold counts for each skill."""
    run("forecasts", "--trigger")
    lead = [note for note in notes() if "sensitivity" in note]
    assert lead[0].startswith("reports: fires on 0 % of 1 query that should")
    assert lead[1].startswith("forecasts: fires on 100 % of 1 query that should")
    assert "stays quiet on 0 % of 1 query that should not fire" in lead[1]


def test_another_description_is_compared_with_the_present_one() -> None:
    """A description without the word that the agent looks for takes nothing from the other skill."""
    Path("quiet.txt").write_text("Predicts numbers.")
    options = ("--agent", AGENT, "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    done = fairtrial("run", "forecasts", "reports", "--trigger", "--description", "quiet.txt", *options)
    assert done.code == 1
    assert uses()["quiet", "reports"] == {"reports": 2}
    assert any(
        note.startswith("with the description 'quiet' ") and "the present description" in note for note in notes()
    )
    assert {own["eval_set"].rpartition("@")[2] for own in report()["attempts"]} == {"with", "quiet"}


def test_a_description_on_trial_does_not_decide_the_run() -> None:
    """The verdict and the exit code are about the skill as it is."""
    Path("loud.txt").write_text("Nothing at all.")
    options = ("--agent", AGENT, "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    shutil.rmtree("reports")
    write_skill("reports", "Reports of sales.", [(REPORT, True), ("Hello.", False)])
    assert fairtrial("run", "reports", "--trigger", "--description", "loud.txt", *options).code == 0
    assert report()["run"]["counts"] == {"passed": 2}


def test_a_run_of_several_skills_goes_on() -> None:
    """The manifest holds all of them."""
    run("forecasts", "--trigger")
    again = fairtrial("run", "--resume", report()["run"]["id"], "--attempts", "3", "--json", "run.json")
    assert again.code == 1, again.err
    assert uses()["with", "reports"] == {"forecasts": 6}


def test_several_skills_are_only_compared_by_queries() -> None:
    """Work is measured for one skill."""
    done = run("forecasts")
    assert (done.code, "several skills are only compared by their queries; set --trigger" in done.err) == (2, True)


def test_two_skills_with_one_name_do_not_compete() -> None:
    """The agent finds skills by name."""
    shutil.copytree("reports", "copy")
    done = run("copy", "--trigger")
    assert (done.code, "another skill is named 'reports', too" in done.err) == (2, True)
