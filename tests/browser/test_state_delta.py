"""The page of an attempt of a skill: the files that the agent changed, as diffs. The run is a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, axe_problems, opened

from commands import fairtrial, write

pytestmark = pytest.mark.browser

CASE = "#page=case&case=0"
HOSTILE = "<img src=x onerror=alert(1)>"
SCRIPT = f"""
sed -i 's/^two$/zwei/' numbers.txt
rm old.txt
printf '%s\\n' '{HOSTILE}' second > new.txt
echo done
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of a skill whose agent changes a file, removes one, and adds one with HTML in it."""
    folder = tmp_path_factory.mktemp("delta")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("tides/evals/files").mkdir(parents=True)
        Path("tides/SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\nWork.\n")
        Path("tides/evals/files/numbers.txt").write_text("one\ntwo\nthree\n")
        Path("tides/evals/files/old.txt").write_text("gone\n")
        case = {"id": "a", "prompt": "Go", "files": ["evals/files"], "checks": [{"type": "exists", "path": "new.txt"}]}
        write("tides/evals/evals.json", {"skill_name": "tides", "evals": [case]})
        write("agent.json", {"command": ["sh", "-c", SCRIPT], "skills": ".claude/skills", "log": "text"})
        options = ("--agent", "harness:agent.json", "--attempts", "1", "--sandbox", "none", "--html", "run.html")
        done = fairtrial("run", "tides", *options)
        assert done.code == 0, done.err
    return (folder / "run.html").as_uri()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    """The attempt in a page of its own."""
    with opened(browser) as own:
        own.open(address + CASE, "section[aria-label$='changed files']")
        yield own


def unfold(visit: Visit, path: str) -> Any:
    """Open a file, and return its diff."""
    visit.page.locator("summary", has_text=path).click()
    diff = visit.page.get_by_role("group", name=path)
    diff.wait_for()
    return diff


def test_a_changed_file_is_shown_as_a_diff(visit: Visit) -> None:
    """The line before is deleted, the line after is inserted, and the lines around them have no mark."""
    diff = unfold(visit, "numbers.txt")
    assert diff.locator("del").all_inner_texts() == ["-two"]
    assert diff.locator("ins").all_inner_texts() == ["+zwei"]
    assert {" one", " three"} <= {line.rstrip("\n") for line in diff.locator("div").all_text_contents()}


def test_an_added_file_is_shown_as_its_text(visit: Visit) -> None:
    """What an agent writes is text, and no element of the page."""
    diff = unfold(visit, "new.txt")
    assert diff.locator("ins").all_inner_texts() == [f"+{HOSTILE}", "+second"]
    assert visit.page.locator("img[src=x]").count() == 0
    assert visit.errors == []


def test_each_file_has_its_sign_and_its_size(visit: Visit) -> None:
    """A removed file has neither a size nor a diff."""
    section = visit.page.locator("section[aria-label='3 changed files']").inner_text()
    lines = [" ".join(line.split()) for line in section.splitlines()]
    assert any(line.startswith("± numbers.txt changed") and "15 bytes" in line for line in lines), lines
    assert any(line.startswith("− old.txt removed") and "bytes" not in line for line in lines), lines
    assert any(line.startswith("+ new.txt added") for line in lines), lines


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_no_violation(browser: Any, address: str, width: int) -> None:
    """In both themes and all languages, with every file unfolded."""
    with opened(browser, viewport={"width": width, "height": 2000}, bypass_csp=True) as own:
        own.open(address + CASE, "section[aria-label]")
        assert axe_problems(own.page) == []
