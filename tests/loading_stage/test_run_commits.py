"""A run records the commit of its folder with its author date, also where git is absent, and the job of CI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commands import enter
from fairtrial.loading.repository import ci_job, commit_of_folder

JOB_VARIABLES = ("GITHUB_RUN_ID", "CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_BUILDID", "BUILD_URL")
DATE = "2026-03-04T05:06:07-03:30"


def git(*words: str) -> str:
    """The output of git in the working folder."""
    identity = ("-c", "user.name=A > B", "-c", "user.email=a@b")
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two commits, outside of CI."""
    for name in (*JOB_VARIABLES, "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME"):
        monkeypatch.delenv(name, raising=False)
    enter(tmp_path, monkeypatch)
    git("init", "-q", "-b", "feature/trips")
    (tmp_path / "agent.py").write_text("one")
    git("add", ".")
    for number in range(2):
        (tmp_path / "agent.py").write_text(f"{number}\n" * 50)
        git("commit", "-qam", f"commit {number}", "--date", DATE)
    return tmp_path


@pytest.fixture
def no_git(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A machine without the program git."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))


def expected() -> dict[str, str]:
    """What git says about the commit."""
    return {"commit": git("rev-parse", "HEAD"), "branch": "feature/trips", "date": git("show", "-s", "--format=%aI")}


def test_git_tells_changed_files() -> None:
    """A changed file makes the run dirty."""
    assert commit_of_folder() == {**expected(), "dirty": False}
    Path("agent.py").write_text("changed")
    assert commit_of_folder() == {**expected(), "dirty": True}


@pytest.mark.parametrize("pack", [(), ("gc", "-q"), ("pack-refs", "--all")])
def test_without_git_the_files_tell_the_commit(
    pack: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    """Loose or packed, and nothing is said about changed files."""
    if pack:
        git(*pack)
    known = expected()
    below = repository / "evals"
    below.mkdir()
    monkeypatch.chdir(below)
    monkeypatch.setenv("PATH", str(below))
    assert commit_of_folder() == known
    assert known["date"] == DATE


def test_without_git_a_work_tree_has_its_own_commit(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    """And the branch of a detached head is not known."""
    tree = repository / "tree"
    git("worktree", "add", "-q", "--detach", str(tree), "HEAD~1")
    first = git("rev-parse", "HEAD~1")
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", str(tree))
    assert commit_of_folder() == {"commit": first, "branch": "", "date": DATE}


@pytest.mark.usefixtures("no_git")
@pytest.mark.parametrize("head", ["", "ref: ../../secret", "ref: refs/heads/none", "zz" * 20, "\x00" * 50])
def test_without_git_a_strange_head_is_no_commit(head: str) -> None:
    """The run does not depend on it."""
    Path(".git/HEAD").write_text(head)
    assert commit_of_folder() is None


def test_outside_of_a_repository_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The value is None."""
    monkeypatch.chdir(tmp_path_factory.mktemp("plain"))
    assert commit_of_folder() is None


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        (
            {
                "GITHUB_SERVER_URL": "https://github.com",
                "GITHUB_REPOSITORY": "o/r",
                "GITHUB_RUN_ID": "7",
                "GITHUB_JOB": "evals",
            },
            {"system": "GitHub Actions", "job": "evals", "url": "https://github.com/o/r/actions/runs/7"},
        ),
        (
            {"CI_JOB_NAME": "evals", "CI_JOB_URL": "https://user:secret@gitlab.example/o/r/-/jobs/7"},
            {"system": "GitLab CI", "job": "evals", "url": "https://gitlab.example/o/r/-/jobs/7"},
        ),
        (
            {"JOB_NAME": "evals", "BUILD_URL": "javascript:alert(1)"},
            {"system": "Jenkins", "job": "evals", "url": ""},
        ),
    ],
)
def test_the_job_is_read_from_the_variables_of_its_system(
    variables: dict[str, str], job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address holds no password, and is one of the web."""
    assert ci_job() is None
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ci_job() == job
