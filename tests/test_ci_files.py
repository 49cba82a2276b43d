"""The GitHub Action and the GitLab snippet run as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "run-in-ci.md"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A folder with the examples, and the environment of a CI server with our command on its path."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}


def run(command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as a CI server does."""
    return subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)


def test_the_action_runs(environment: dict[str, str]) -> None:
    """Its last step writes annotations, the summary and both reports; the exit code is that of the run."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    inputs = {name: value.get("default", "") for name, value in action["inputs"].items()}
    inputs |= {"evals": "examples", "agent": "examples.agent:reply", "options": "--store none"}
    names = {
        name: inputs[match[1]]
        for name, value in step["env"].items()
        if (match := re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value))
    }
    assert names.keys() == step["env"].keys()
    done = run(step["run"], environment | names)
    assert done.returncode == 1, done.stderr
    assert "::error title=cancel_after_asking%3A failed,file=examples/shop.evalset.json,line=" in done.stdout
    assert all(Path(name).stat().st_size for name in ("summary.md", "fairtrial.xml", "fairtrial.json"))


def test_the_action_installs_its_own_checkout(tmp_path: Path, environment: dict[str, str]) -> None:
    """Unless the workflow names a package: there is none on an index yet."""
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
    assert step["env"] == {"PACKAGE": "${{ inputs.package }}", "CHECKOUT": "${{ github.action_path }}"}
    inputs = {"PACKAGE": "", "CHECKOUT": str(ROOT)}
    # Its dependencies and hatchling are installed here, so that no index is asked.
    alone = {
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_TARGET": str(tmp_path / "new"),
    }
    done = run(step["run"], environment | inputs | alone)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "fairtrial" / "__main__.py").is_file()


def test_no_page_installs_from_an_index_on_which_fairtrial_is_not() -> None:
    """Each command installs a checkout, or a repository."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    commands = [line for page in pages for line in page.read_text().splitlines() if "pip install" in line]
    assert len(commands) > 10
    assert not [line for line in commands if re.search(r"pip install (-\S+ )*'?fairtrial(?!\S* @ git\+)", line)]
    assert not [line for line in commands if "./fairtrial" in line]  # no step of a page checks it out


def gitlab_job() -> dict[str, Any]:
    """The job of the page for GitLab."""
    (snippet,) = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "script" in text]
    job: dict[str, Any] = yaml.safe_load(snippet)["eval"]
    return job


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pip clones the repository, and this is an export of it")
def test_the_snippet_for_gitlab_installs_the_repository(tmp_path: Path, environment: dict[str, str]) -> None:
    """Nothing has to be checked out before. This checkout stands for the address that the page names."""
    install, _ = gitlab_job()["script"]
    alone = {
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_TARGET": str(tmp_path / "new"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/OWNER/fairtrial",
    }
    done = run(install, environment | alone)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "fairtrial" / "__main__.py").is_file()


def test_the_snippet_for_gitlab_runs(environment: dict[str, str]) -> None:
    """Its command writes the files that it keeps. The example stands for the agent and the cases of the page."""
    job = gitlab_job()
    _, command = job["script"]
    own = command.replace("evals/", "examples").replace("shop.agent:reply", "examples.agent:reply")
    assert run(own, environment).returncode == 1
    assert all(Path(name).exists() for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]))


def test_the_page_says_what_its_placeholder_is() -> None:
    """Nobody can run a command with OWNER in it."""
    assert "Replace OWNER on this page" in PAGE.read_text()
