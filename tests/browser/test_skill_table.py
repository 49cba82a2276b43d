"""The page of a run in which skills compete: which skill was used, for each skill that the queries should trigger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, launched, opened

from commands import fairtrial, write

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>\u202e"
LOG = """
echo '{"type":"system","subtype":"init","model":"m","tools":["Skill"]}'
echo '{"type":"assistant","message":{"role":"assistant","model":"m","content":[%s]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0}'
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser."""
    with launched() as own:
        yield own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two skills, and an agent that uses a third whatever it is asked."""
    folder = tmp_path_factory.mktemp("uses")
    for name, query in (("tides", "When is high water?"), ("winds", "Is it windy?")):
        (folder / name / "evals").mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Tells the {name}.\n---\nWork.\n")
        queries = [{"query": query, "should_trigger": True}, {"query": f"{name}?", "should_trigger": False}]
        write(folder / name / "evals" / "trigger-eval.json", queries)
    (folder / "quiet.txt").write_text("Nothing.")
    call = f'{{"type":"tool_use","id":"t","name":"Skill","input":{{"skill":"{HOSTILE.replace(" ", "-")}"}}}}'
    write(folder / "agent.json", {"command": ["sh", "-c", LOG % call], "skills": ".claude/skills", "log": "claude"})
    return folder


@pytest.fixture
def visit(browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visit]:
    """The page of their run."""
    monkeypatch.chdir(folder)
    options = ("--agent", "harness:agent.json", "--attempts", "1", "--sandbox", "none", "--html", "run.html")
    done = fairtrial("run", "tides", "winds", "--trigger", "--description", "quiet.txt", *options)
    assert done.code == 1, done.err
    with opened(browser) as own:
        own.open((folder / "run.html").as_uri())
        yield own


def test_a_table_for_each_description(visit: Visit) -> None:
    """A row is the skill that should be used, and a column the skill that was used. Names of agents are text."""
    section = visit.page.locator("section[aria-labelledby='skill-uses-title']")
    tables = section.locator("table").all()
    assert len(tables) == 2
    assert "quiet" in tables[1].locator("caption").inner_text()
    head = tables[0].locator("thead th").all_inner_texts()
    assert head == [
        "should use ↓ used →", "tides", "winds", "<img-src=x-onerror=alert(1)>\\u202e", "no skill"
    ]  # fmt: skip
    rows = [" ".join(row.inner_text().split()) for row in tables[0].locator("tbody tr").all()]
    assert rows == ["tides – – 1 –", "winds – – 1 –", "no skill – – 2 –"]
    assert visit.page.locator("img[src]").count() == 0
    assert visit.errors == []
