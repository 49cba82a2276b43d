"""Does everything that the documentation shows work?"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairtrial import api

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[object]:
    """The code blocks of all pages in one language."""
    return [
        pytest.param(code, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, (kind, code) in enumerate(_BLOCK.findall(page.read_text()), 1)
        if kind == language
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples in it, as a reader has it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line with this environment's `fairtrial`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONPATH": str(folder)}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code: str, folder: Path) -> None:
    """Every Python block runs as it stands."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", blocks("sh"))
def test_commands_run(code: str, folder: Path) -> None:
    """Every command exits with 0, or with what the comment behind it says."""
    for line in code.splitlines():
        command, _, comment = line.partition("  # exits with ")
        done = shell(command, folder)
        assert done.returncode == int(comment or 0), f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("code", blocks("json"))
def test_configurations_are_read(code: str, folder: Path) -> None:
    """Every block of JSON is JSON, and every configuration can be used, but for what is not installed here."""
    shown = json.loads(code)
    if "criteria" not in shown or "custom_metrics" in shown:
        return
    (folder / "config.json").write_text(code, encoding="utf-8")
    (checked,) = api.check([str(folder / "config.json")])
    assert checked.what.startswith("EvalConfig")
    assert not [problem for problem in checked.problems if "needs the extra" not in problem]


def _without_times(text: str) -> str:
    """The report without what differs between two runs: ids and seconds, and the columns that hold seconds."""
    kept = [line for line in text.splitlines() if "invocation_duration_v1" not in line]
    return re.sub(r"\d{8}-\d{6}-\w{6}|\d+\.\d+ s\b", "…", "\n".join(line.rstrip() for line in kept))


def test_readme_shows_the_real_output(folder: Path) -> None:
    """What the README prints below its example is what the example prints."""
    shown = re.search(
        r"```sh\n(fairtrial run [^\n]*?)(?:  # [^\n]*)?\n```\n\n```text\n(.*?)```",
        (ROOT / "README.md").read_text(),
        re.DOTALL,
    )
    assert shown is not None
    command, output = shown.groups()
    assert _without_times(shell(command, folder).stdout).strip() == _without_times(output).strip()
