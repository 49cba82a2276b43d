"""Eval files of skills are converted into one another, and everything that has no place is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import fairtrial
from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalSet

CHECKS: list[dict[str, Any]] = [
    {"type": "contains", "text": "Total"},
    {"type": "not_contains", "text": ["error", "TODO"], "ignore_case": True},
    {"type": "matches", "pattern": r"\d+"},
    {"type": "exists", "path": "report.md"},
    {"type": "absent", "path": "draft.md"},
    {"type": "matches", "path": "report.md", "pattern": "^# "},
    {"type": "json", "schema": {"type": "object"}},
    {"type": "calls", "at_most": 5},
    {"type": "seconds", "at_most": 30},
    {"type": "uses_tools", "tools": ["Read", "Write"], "order": "in_order"},
    {"type": "avoids_tools", "tools": ["Bash"]},
    {"type": "uses_skills", "skills": ["notes"]},
]


def write(path: Path, document: Any) -> Path:
    """Write a document as JSON."""
    path.write_text(json.dumps(document))
    return path


def evals(**case: Any) -> dict[str, Any]:
    """An `evals.json` with one case."""
    return {"skill_name": "notes", "evals": [{"id": "one", "prompt": "Write notes.", **case}]}


def read(path: Path) -> EvalSet:
    """The cases of a file or of a suite."""
    from fairtrial import loading

    eval_set = loading.read_file(path).eval_set
    assert eval_set is not None
    return eval_set


def convert(source: Path, target: Path, form: str) -> str:
    """Convert a file on the command line, and return what it reports."""
    done = fairtrial("convert", str(source), "-o", str(target), "--to", form)
    assert done.code == 0, done.err
    return done.out + done.err


def test_evals_stay_as_they_are(tmp_path: Path) -> None:
    """Everything that the format has comes back, also keys that nobody reads."""
    document = evals(
        expected_output="Good notes.", files=["evals/files/a.csv"], checks=CHECKS, category="usual",
        assertions=["They are short.", {"name": "polite", "text": "They are polite."}], should_trigger=True, owner="me",
    )  # fmt: skip
    first = write(tmp_path / "evals.json", document)
    report = convert(first, tmp_path / "again.json", "agent-skills")
    assert "lost" not in report
    own, again = read(first).cases[0], read(tmp_path / "again.json").cases[0]
    assert again == own


def test_a_suite_of_waza_keeps_checks_judgements_and_files(tmp_path: Path) -> None:
    """Each check has its grader, and reads back as the same question."""
    source = evals(checks=CHECKS, assertions=["They are short."], files=["a.csv"], expected_output="Good.")
    report = convert(write(tmp_path / "evals.json", source), tmp_path / "out/eval.yaml", "waza")
    assert "lost" not in report
    assert "name the model" in report
    case = read(tmp_path / "out/eval.yaml").cases[0]
    assert case.workspace is not None
    kinds = [(check.type, check.path, check.texts, check.pattern) for check in case.workspace.checks]
    assert ("not_contains", "", ("error", "TODO"), "") in kinds
    assert ("matches", "report.md", (), "^# ") in kinds
    assert sorted(kind for kind, *_ in kinds) == sorted(check["type"] for check in CHECKS)
    assert [rubric.text for rubric in case.rubrics] == ["The result is as described: Good.", "They are short."]
    assert [file.source for file in case.workspace.files] == ["a.csv"]


def test_a_check_without_a_grader_is_named(tmp_path: Path) -> None:
    """Waza cannot say which files may change, or count files."""
    checks = [
        {"type": "changes_only", "paths": ["report.md"]},
        {"type": "exists", "path": "*.md", "at_least": 2},
        {"type": "command", "command": "make test", "name": "tests pass"},
    ]
    report = convert(write(tmp_path / "evals.json", evals(checks=checks)), tmp_path / "out/eval.yaml", "waza")
    assert "lost: case 'one': the check 'changes_only report.md'" in report
    assert "lost: case 'one': the check 'exists *.md at least 2'" in report
    assert "lost: case 'one': the check 'tests pass'" in report


def test_an_expectation_that_nobody_judges_asks_no_judge(tmp_path: Path) -> None:
    """Beside checks, the expected output is for readers, so that it is the description of a task."""
    source = evals(checks=CHECKS[:1], expected_output="Good.")
    convert(write(tmp_path / "evals.json", source), tmp_path / "out/eval.yaml", "waza")
    task = yaml.safe_load((tmp_path / "out/tasks/one.yaml").read_text())
    assert task["description"] == "Good."
    assert [grader["type"] for grader in task["graders"]] == ["text"]


def test_tasks_of_skilljack_name_what_they_lose(tmp_path: Path) -> None:
    """A marker, tools and a checklist have a place, and files and further checks have none."""
    source = evals(checks=CHECKS[:2], assertions=["They are short."], files=["a.csv"], should_trigger=False)
    report = convert(write(tmp_path / "evals.json", source), tmp_path / "tasks.yaml", "skilljack")
    assert "lost: case 'one': the check \"not_contains 'error' 'TODO'\"" in report
    assert "lost: case 'one': the file 'a.csv'" in report
    case = read(tmp_path / "tasks.yaml").cases[0]
    assert case.workspace is not None
    assert (case.workspace.triggers, case.workspace.checks[0].texts) == (False, ("Total",))
    assert [rubric.text for rubric in case.rubrics] == ["They are short."]


def test_trigger_queries_go_both_ways(tmp_path: Path) -> None:
    """Queries become cases, and cases with an answer become queries."""
    queries = [{"id": "a", "query": "Take notes.", "should_trigger": True}, {"query": "Hi.", "should_trigger": False}]
    convert(write(tmp_path / "trigger-eval.json", queries), tmp_path / "evals.json", "agent-skills")
    report = convert(tmp_path / "evals.json", tmp_path / "back.json", "trigger-queries")
    assert "lost" not in report
    sides = [(own["query"], own["should_trigger"]) for own in json.loads((tmp_path / "back.json").read_text())]
    assert sides == [("Take notes.", True), ("Hi.", False)]


def test_a_case_without_an_answer_is_no_query(tmp_path: Path) -> None:
    """It is left out by name, and a file without any query is refused."""
    cases = [{"id": "x", "prompt": "Do."}, {"id": "y", "prompt": "Not.", "should_trigger": False, "files": ["a"]}]
    mixed = write(tmp_path / "mixed.json", {"skill_name": "notes", "evals": cases})
    report = convert(mixed, tmp_path / "queries.json", "trigger-queries")
    assert "lost: case 'x': is left out: it does not say whether the skill should be used" in report
    assert "lost: case 'y': 1 file" in report
    with pytest.raises(UsageError, match="no case fits into trigger-queries"):
        api.convert(write(tmp_path / "work.json", evals()), to="trigger-queries")


def test_a_conversation_loses_its_turns(tmp_path: Path) -> None:
    """An eval set of ADK becomes prompts, with the reference replies as expected outputs."""
    turns = [("Hello.", "Hi."), ("Bye.", "See you.")]
    conversation = [
        {"user_content": {"parts": [{"text": text}]}, "final_response": {"parts": [{"text": reply}]}}
        for text, reply in turns
    ]
    source = {"eval_set_id": "shop", "eval_cases": [{"eval_id": "talk", "conversation": conversation}]}
    report = convert(write(tmp_path / "shop.evalset.json", source), tmp_path / "evals.json", "agent-skills")
    assert "lost: case 'talk': 1 further message of the user" in report
    (case,) = json.loads((tmp_path / "evals.json").read_text())["evals"]
    assert (case["prompt"], case["expected_output"]) == ("Hello.", "See you.")


@pytest.mark.parametrize("form", ["adk", "agents-cli"])
def test_other_formats_have_no_place_for_a_workspace(tmp_path: Path, form: str) -> None:
    """The files and checks of a coding agent are named as lost."""
    report = convert(write(tmp_path / "evals.json", evals(checks=CHECKS)), tmp_path / "out.json", form)
    assert "workspace of a coding agent, with its files and checks" in report


def test_no_task_file_is_overwritten(tmp_path: Path) -> None:
    """Tasks that stand beside the specification are the work of somebody."""
    source = write(tmp_path / "evals.json", evals())
    convert(source, tmp_path / "eval.yaml", "waza")
    done = fairtrial("convert", str(source), "-o", str(tmp_path / "eval.yaml"), "--to", "waza")
    assert (done.code, "would be overwritten" in done.err) == (2, True)


@pytest.mark.shared
@pytest.mark.long
def test_real_files_are_converted_by_waza_schema(shared: Path, tmp_path: Path) -> None:
    """Every real `evals.json` becomes a suite that fits waza's own schema, and reads back with all its cases."""
    import jsonschema

    schema = json.loads((shared / "data/skills/microsoft+waza/schemas/eval.schema.json").read_text())
    sources = sorted((shared / "data/skills").glob("**/evals/evals.json"))
    assert len(sources) >= 5
    for number, source in enumerate(sources):
        target = tmp_path / str(number) / "eval.yaml"
        convert(source, target, "waza")
        jsonschema.validate(yaml.safe_load(target.read_text()), schema)
        tasks = [yaml.safe_load(path.read_text()) for path in (target.parent / "tasks").iterdir()]
        graders = {"type": "array", "items": {"$ref": "#/$defs/graderConfig"}, "$defs": schema["$defs"]}
        for task in tasks:
            jsonschema.validate(task.get("graders", []), graders)
        assert sorted(case.id for case in read(target).cases) == sorted(case.id for case in read(source).cases)
