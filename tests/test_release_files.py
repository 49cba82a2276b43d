"""The files for releases and for other projects fit the schemas of GitHub and GitLab, and do as they say."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import fairtrial

ROOT = Path(__file__).parent.parent
NOTES = runpy.run_path(str(ROOT / ".ci" / "release.py"))["notes"]
CHANGELOG = """# Changelog

## 0.3.0 (unreleased)

Next.

## 0.2.0 (2026-12-01)

Users can
look.

## 0.1.0

Old.
"""
SCHEMAS = {
    "action.yml": "github-actions",
    ".github/dependabot.yml": "dependabot",
    ".github/ISSUE_TEMPLATE/bug.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    ".github/ISSUE_TEMPLATE/format.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/question.yml": "github-issue-forms",
    ".github/workflows/check.yml": "github-workflows",
    ".github/workflows/release.yml": "github-workflows",
}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def check_schema(schema: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Check a file against a schema that check-jsonschema ships."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_fits_the_schema_of_github(name: str) -> None:
    """GitHub ignores or refuses a file that does not."""
    done = check_schema(SCHEMAS[name], ROOT / name)
    assert done.returncode == 0, done.stdout


def test_every_file_for_github_is_checked() -> None:
    """A new file needs a row in the table."""
    there = {str(path.relative_to(ROOT)) for path in (ROOT / ".github").rglob("*") if path.is_file()}
    assert there | {"action.yml"} == SCHEMAS.keys()


@pytest.mark.long
def test_a_wrong_workflow_is_refused(tmp_path: Path) -> None:
    """The check can fail: a job without steps or a machine is none."""
    (tmp_path / "wrong.yml").write_text("on: push\njobs: {a: {step: []}}\n", encoding="utf-8")
    assert check_schema("github-workflows", tmp_path / "wrong.yml").returncode == 1


@pytest.mark.long
def test_the_component_fits_the_schema_of_gitlab(tmp_path: Path) -> None:
    """The schema knows jobs and not the inputs of a component, which stand in a document of their own."""
    _, jobs = (ROOT / "templates" / "fairtrial.yml").read_text(encoding="utf-8").split("\n---\n")
    (tmp_path / "jobs.yml").write_text(jobs, encoding="utf-8")
    done = check_schema("gitlab-ci", tmp_path / "jobs.yml", "--data-transform", "gitlab-ci")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_gets_no_permission_by_default(path: Path) -> None:
    """A job that writes asks for it itself, and only the release does."""
    workflow: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    asking = [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert asking == (["build", "site"] if path.name == "release.yml" else [])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_commands_of_a_workflow_are_shell(path: Path) -> None:
    """And the targets of make that they name exist."""
    workflow: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for script in scripts:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert {name for line in re.findall(r"^make (.+)$", script, re.MULTILINE) for name in line.split()} <= targets


def test_the_notes_of_a_release_are_its_section() -> None:
    """Without the sections of other versions."""
    assert NOTES("v0.2.0", CHANGELOG, "0.2.0") == "Users can\nlook."


@pytest.mark.parametrize(
    ("tag", "version", "problem"),
    [("v0.2.1", "0.2.0", "the tag is v0.2.1"), ("v0.3.0", "0.3.0", "unreleased"), ("v0.4.0", "0.4.0", "no section")],
)
def test_a_release_that_does_not_fit_is_refused(tag: str, version: str, problem: str) -> None:
    """The tag is the version, and the changelog has a dated section of it."""
    with pytest.raises(ValueError, match=problem):
        NOTES(tag, CHANGELOG, version)


def git(folder: Path, *arguments: str) -> str:
    """What git prints in a folder."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a commit, and a server's copy of it as its remote."""
    git(tmp_path, "init", "--quiet", "--bare", "server.git")
    git(tmp_path, "clone", "--quiet", "server.git", "own")
    folder = tmp_path / "own"
    (folder / "README.md").write_text("Read me.\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--message", "First")
    return folder


def make_site(folder: Path, version: str, text: str) -> Path:
    """A site of one page, and of a page whose name begins with _."""
    site = folder.parent / "built" / version
    site.mkdir(parents=True, exist_ok=True)
    (site / "index.html").write_text(text, encoding="utf-8")
    (site / f"_{text}.html").write_text(text, encoding="utf-8")
    return site


def test_the_site_of_a_version_stands_beside_those_of_others(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later release of an old version replaces its pages, and the newest version stays the first."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    publish = runpy.run_path(str(ROOT / "docs" / "publish_site.py"))["publish"]
    for version, text in (("0.9", "old"), ("0.10", "new"), ("0.9", "patched")):
        publish(checkout, make_site(checkout, version, text), "origin", "gh-pages")
        shutil.rmtree(checkout.parent / "built")
    server = checkout.parent / "server.git"
    assert git(server, "ls-tree", "-r", "--name-only", "gh-pages").splitlines() == [
        ".nojekyll",
        "0.10/_new.html",
        "0.10/index.html",
        "0.9/_patched.html",
        "0.9/index.html",
        "index.html",
        "versions.json",
    ]
    listed = json.loads(git(server, "show", "gh-pages:versions.json"))
    assert [(own["version"], own["aliases"]) for own in listed] == [("0.10", ["latest"]), ("0.9", [])]
    assert 'url=0.10/"' in git(server, "show", "gh-pages:index.html")
    assert git(server, "show", "gh-pages:0.9/index.html") == "patched"
    assert git(server, "rev-list", "--count", "gh-pages") == "3"
    assert git(checkout, "status", "--porcelain") == ""


def test_the_release_publishes_the_site_that_it_built() -> None:
    """On the branch of the pages, after the release itself, and with the environment that `make site` makes."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["site"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert (job["needs"], commands) == (
        "build",
        ["make site", ".venv-site/bin/python docs/publish_site.py origin gh-pages"],
    )
    assert "SITE := .venv-site\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def hooks() -> dict[str, dict[str, str]]:
    """The hooks for pre-commit, by id."""
    listed = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook for hook in listed}


def test_a_hook_takes_the_files_that_it_can_judge() -> None:
    """And leaves the others alone."""
    pattern = hooks()["fairtrial-check"]["files"]
    named = ["evals/shop.evalset.json", "a.test.json", "evals/test_config.json", "fairtrial.toml"]
    assert [name for name in named if not re.search(pattern, name)] == []
    assert [name for name in ("package.json", "my_test_config.json", "a.py") if re.search(pattern, name)] == []


def test_a_hook_refuses_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hooks pass good files, and end with another code for bad files."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "shop.evalset.json", "good.evalset.json")
    Path("bad.evalset.json").write_text("{", encoding="utf-8")
    Path("clean.jsonl").write_text('{"text": "hello"}\n', encoding="utf-8")
    Path("secret.jsonl").write_text('{"text": "write to ann@example.com"}\n', encoding="utf-8")
    for hook, good, bad in (
        ("fairtrial-check", "good.evalset.json", "bad.evalset.json"),
        ("fairtrial-redact", "clean.jsonl", "secret.jsonl"),
    ):
        _, *arguments = hooks()[hook]["entry"].split()
        assert (fairtrial(*arguments, good).code, fairtrial(*arguments, bad).code != 0) == (0, True)


@pytest.mark.long
def test_the_job_of_the_component_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last command writes the files that it keeps, and ends with the code of the run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    _, jobs = yaml.safe_load_all((ROOT / "templates" / "fairtrial.yml").read_text(encoding="utf-8"))
    job = jobs["fairtrial"]
    given = {"PACKAGE": ".", "EVALS": "examples", "AGENT": "examples.agent:reply", "OPTIONS": "--store none"}
    assert job["variables"].keys() == given.keys()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", job["script"][-1]]
    done = subprocess.run(command, env={**os.environ, **given, "PATH": path}, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    kept = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    assert all(Path(name).stat().st_size for name in kept)
