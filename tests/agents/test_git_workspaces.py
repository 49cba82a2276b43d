"""A case gives a folder at a revision of git, and what the agent does to a repository is a part of the state delta."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from commands import fairtrial
from fairtrial.agents import find_agent
from fairtrial.agents.harness.harness_agent import HarnessAgent
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalCase
from fairtrial.records.state_delta import StateDelta, read_delta
from fairtrial.records.trace import Trace
from fairtrial.records.workspace import CaseFile, Workspace

GIVEN = CaseFile("shop", "", revision="v1")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A folder with a repository, whose second commit repairs what the first lacks."""
    home = tmp_path / "skill"
    (home / "shop").mkdir(parents=True)
    (home / "shop" / "cart.py").write_text("broken\n")
    git(home, "init", "-q")
    git(home, "add", ".")
    git(home, "commit", "-qm", "Broken")
    git(home, "tag", "v1")
    (home / "shop" / "cart.py").write_text("repaired, the answer\n")
    git(home, "commit", "-qam", "Repair")
    return home


def attempt(root: Path, script: str, *files: CaseFile) -> tuple[str, StateDelta]:
    """Run a shell script as the agent. Return its output and the state delta."""
    probe = root.parent / "probe.json"
    probe.write_text(json.dumps({"command": ["sh", "-c", script], "skills": ".claude/skills", "log": "text"}))
    target = find_agent(f"harness:{probe}")
    assert isinstance(target, HarnessAgent)
    target = replace(target, root=str(root), sandbox="none")

    async def run() -> tuple[str, StateDelta]:
        async with target(EvalCase("c", workspace=Workspace(files)), None) as session:
            texts = [getattr(item, "text", "") async for item in session.send("Go")]
            assert session.about is not None
            delta = read_delta(Trace(final_state=session.about.final_state))
            assert delta is not None
            return "".join(texts), delta

    return asyncio.run(run())


def test_the_folder_stands_as_it_was(skill: Path) -> None:
    """The agent sees the old content in a repository whose history does not tell the repair."""
    output, delta = attempt(skill, "cat cart.py; git log --format=%s; git status --short", GIVEN)
    assert output == "broken\nStart"
    assert delta.files == ()


def test_commits_and_open_changes_are_recorded(skill: Path) -> None:
    """The branch, the new commits and the number of other changes say what the agent did with git."""
    script = (
        "git checkout -qb fix; echo ok > cart.py; git -c user.name=a -c user.email=b commit -qam Mend; echo x > new"
    )
    _, delta = attempt(skill, script, GIVEN)
    assert delta.git is not None
    assert (delta.git.branch, delta.git.uncommitted) == ("fix", 1)
    (commit,) = delta.git.commits
    assert commit.endswith(" Mend")
    assert {change.path for change in delta.files} == {"cart.py", "new"}


def test_a_repository_that_the_agent_makes_is_recorded(skill: Path) -> None:
    """Without a repository there is no state of one."""
    _, none = attempt(skill, "true")
    _, own = attempt(skill, "git init -q; echo x > a")
    assert none.git is None
    assert own.git is not None
    assert own.git.uncommitted == 1


def test_a_hostile_repository_runs_nothing_of_its_own(skill: Path) -> None:
    """A monitor of files in the configuration would be a program that git starts."""
    mark = skill.parent / "mark"
    script = f"git config core.fsmonitor 'touch {mark}'; git config core.pager 'touch {mark}'; echo x > a"
    _, delta = attempt(skill, script, GIVEN)
    assert delta.git is not None
    assert not mark.exists()


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (CaseFile("shop", revision="v9"), "'shop': 'v9': is no revision"),
        (CaseFile("shop", revision="--output=x"), "is no revision of git"),
        (CaseFile("shop/cart.py", revision="v1"), "must be a folder in a repository of git"),
    ],
)
def test_a_revision_that_is_not_there_is_refused(skill: Path, file: CaseFile, problem: str) -> None:
    """Nothing runs with another content than the case means."""
    with pytest.raises(UsageError, match=problem):
        attempt(skill, "true", file)


def test_an_eval_file_names_a_revision(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with the skill and without it gives the revision, and its cases keep the commit."""
    (skill / "SKILL.md").write_text("---\nname: skill\ndescription: Repairs shops.\n---\n")
    (skill / "evals").mkdir()
    files, checks = [{"path": "shop", "revision": "v1"}], [{"type": "contains", "text": "broken"}]
    case = {"id": "one", "prompt": "Show the cart.", "files": files, "checks": checks}
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "skill", "evals": [case]}))
    probe = skill.parent / "probe.json"
    probe.write_text(json.dumps({"command": ["cat", "cart.py"], "skills": ".claude/skills", "log": "text"}))
    monkeypatch.chdir(skill.parent)
    options = ("--agent", f"harness:{probe}", "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    done = fairtrial("run", "skill", *options)
    assert done.code == 0, done.out + done.err
    attempts = json.loads(Path("run.json").read_text())["attempts"]
    assert {own["trace"][0]["reply"]["text"] for own in attempts} == {"broken"}
