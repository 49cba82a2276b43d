"""Installed packages are complete, and their page on an index leads somewhere."""

from __future__ import annotations

import email
import hashlib
import os
import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fairtrial

ROOT = Path(__file__).parent.parent
HOOK = runpy.run_path(str(ROOT / "hatch_build.py"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?://|#)")


@pytest.mark.long
def test_a_wheel_holds_every_file_of_the_package_and_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: dict[str, bytes]
) -> None:
    """Templates, texts and lists too. And its page has absolute links only, to the repository that the build names."""
    monkeypatch.setenv("FAIRTRIAL_REPOSITORY", "https://git.example.org/fair/trial")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    files = {name.removeprefix("src/") for name in contents if name.startswith("src/fairtrial/")}
    examples = {f"fairtrial/{name}" for name in contents if re.fullmatch(r"examples/[^/]+", name)}
    assert "fairtrial/api/failure_modes/templates/mode_name.jinja" in files
    assert len(examples) >= 2
    assert (files | examples) - names == set()
    page = email.message_from_string(metadata)
    assert "Repository, https://git.example.org/fair/trial" in page.get_all("Project-URL", [])
    assert page["Author"]
    readme = str(page.get_payload())
    assert not RELATIVE.search(readme)
    assert "(https://git.example.org/fair/trial/blob/main/docs/index.md)" in readme


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_are_equal_byte_by_byte(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone can build a release again, and compare. The time of the build and the clock of files do not count."""
    monkeypatch.setenv("FAIRTRIAL_REPOSITORY", "https://git.example.org/fair/trial")
    digests = []
    for number in range(2):
        folder = tmp_path / str(number)
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        (file,) = folder.iterdir()
        digests.append(hashlib.sha256(file.read_bytes()).hexdigest())
        os.utime(ROOT / "README.md")
    assert digests[0] == digests[1]


def test_a_build_without_a_repository_has_no_dead_links() -> None:
    """The links become text."""
    page = HOOK["rendered"](README, "")
    assert not RELATIVE.search(page)
    assert "[ADK](https://github.com/google/adk-python)" in page
    assert HOOK["urls"]("") == {}


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://git.example.org/fair/trial.git\n", "https://git.example.org/fair/trial"),
        ("https://user:secret@git.example.org/fair/trial", "https://git.example.org/fair/trial"),
        ("git@git.example.org:fair/trial.git", "https://git.example.org/fair/trial"),
        ("ssh://git@git.example.org/fair/trial.git", "https://git.example.org/fair/trial"),
        ("/srv/git/trial.git", ""),
        ("", ""),
    ],
)
def test_a_remote_has_a_web_address(remote: str, address: str) -> None:
    """Without credentials. A folder has none."""
    assert HOOK["web_address"](remote) == address


@pytest.fixture(scope="module")
def contents() -> dict[str, bytes]:
    """The content of each file of the project, by its name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("needs a checkout")
    return {name: (ROOT / name).read_bytes() for name in names}


@pytest.mark.long
def test_no_file_names_a_package_registry(contents: dict[str, bytes]) -> None:
    """Mirrors and proxies are the business of whoever installs: the constraints pin versions without addresses."""
    hosts = re.compile(rb"py" rb"pi\.org|pythonhosted\.org|registry\.npm" rb"js\.org|--(extra-)?index-url")
    assert [name for name, content in contents.items() if hosts.search(content)] == []


@pytest.mark.long
def test_nothing_has_the_former_name_of_the_project(contents: dict[str, bytes]) -> None:
    """A package of the same field has a name that an index cannot tell from it. Two benches and a page name it."""
    former = re.compile(rb"(?<!agent)as" rb"say", re.IGNORECASE)
    assert [name for name, content in contents.items() if former.search(name.encode() + b"\n" + content)] == []


def test_the_version_of_a_wheel_is_the_version_of_the_package() -> None:
    """Written down once."""
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?\w+)?", fairtrial.__version__)


@pytest.mark.long
def test_the_package_is_imported_without_docstrings() -> None:
    """Python leaves them out with -OO."""
    command = [sys.executable, "-OO", "-c", "import fairtrial; print(fairtrial.evaluate.__name__, fairtrial.__doc__)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("evaluate ")
