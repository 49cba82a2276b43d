"""Write starter files: the example of the package, and the beginning of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path

from fairtrial.agents.harness.harness_table import find_harness
from fairtrial.api.project_files import find_project
from fairtrial.errors import UsageError
from fairtrial.loading.skill_folders import EVALS, find_skill, read_skill_at

_PACKAGE = Path(__file__).parents[2]
EXAMPLES = _PACKAGE / "examples"
"""The folder of the example: an agent, its eval set, its config, and reasoning traces."""
_STARTER = _PACKAGE / "starter"
_PROJECT = """\
# The options of `fairtrial run`, which needs no arguments now.
eval_sets = [{folder}]
agent = {agent}

# fairtrial run --profile ci
[profile.ci]
attempts = 4
reports.junit = "fairtrial.xml"
"""


def write_project(folder: Path) -> Path | None:
    """Write a project file for the starter in a folder, and return it, or None if there is a project file already."""
    if find_project(Path.cwd()) is not None:
        return None
    file = Path("fairtrial.toml")
    names = {"folder": str(folder), "agent": f"{folder / 'agent.py'}:reply"}
    file.write_text(_PROJECT.format(**{name: json.dumps(text) for name, text in names.items()}), encoding="utf-8")
    return file


def write_starter(folder: Path) -> list[Path]:
    """Write an eval set, a config and an agent into a folder, which is made if necessary, and return the files.

    Raises UsageError, and writes nothing, if one of the files exists.
    """
    sources = sorted(file for file in _STARTER.iterdir() if file.is_file())
    targets = [folder / source.name for source in sources]
    for target in targets:
        if target.exists():
            raise UsageError(
                f"{target} exists, and would be overwritten; name another folder: fairtrial init FOLDER",
                code="would-overwrite",
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in zip(sources, targets, strict=True):
            target.write_bytes(source.read_bytes())
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror or problem}", code="unwritable-file") from None
    return targets


def write_agent_skill(harness: str) -> Path:
    """Write the skill about this package to the place in which a coding agent looks for skills, and return the file.

    Raises UsageError, and writes nothing, if the agent is not known, or if the file exists and says something else.
    """
    target = Path(find_harness(harness, on_path=False).skills, "fairtrial", "SKILL.md")
    text = (_STARTER / "skill" / "SKILL.md").read_bytes()
    if target.exists() and target.read_bytes() != text:
        raise UsageError(
            f"{target} exists, and would be overwritten; remove it to get the one of this version",
            code="would-overwrite",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text)
    return target


def write_skill_evals(folder: Path) -> list[Path]:
    """Write three prompts and a file of trigger queries into the `evals` of a skill, and return the files.

    Raises UsageError, and writes nothing, if the folder holds no skill, or if one of the files exists.
    """
    home = find_skill(folder)
    skill = read_skill_at(home)
    subject = skill.description.strip().splitlines()[0].rstrip(".")
    targets = [home / EVALS / "evals.json", home / EVALS / "trigger-eval.json"]
    for target in targets:
        if target.exists():
            raise UsageError(f"{target} exists, and would be overwritten", code="would-overwrite")
    documents = (_evals(skill.name, subject), _queries(skill.name, subject))
    try:
        targets[0].parent.mkdir(exist_ok=True)
        for target, document in zip(targets, documents, strict=True):
            target.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror or problem}", code="unwritable-file") from None
    return targets


def _evals(name: str, subject: str) -> dict[str, object]:
    """Return the three prompts that a test of a skill begins with: the usual task, other words, and a hard task."""
    prompts = (
        ("usual", f"TODO: write the task that most people use the skill for. The skill: {subject}."),
        ("other-words", "TODO: write the same task in the words of a person who does not know that the skill exists."),
        ("hard", "TODO: write a task with an input that is empty, large, or broken."),
    )
    expected = "TODO: say what a good result is."
    evals = [
        {"id": case, "prompt": prompt, "expected_output": expected, "assertions": ["TODO: a fact about the result."]}
        for case, prompt in prompts
    ]
    return {"skill_name": name, "evals": evals}


def _queries(name: str, subject: str) -> list[dict[str, object]]:
    """Return queries on which a skill should fire, and near misses on which it should not."""
    return [
        {"query": f"TODO: ask for this, without the name {name}: {subject}.", "should_trigger": True},
        {"query": "TODO: ask for the same in other words.", "should_trigger": True},
        {
            "query": "TODO: ask for something that sounds alike and needs another skill.",
            "should_trigger": False,
            "category": "near miss",
        },
        {"query": "What is the capital of France?", "should_trigger": False, "category": "unrelated"},
    ]
