"""`fairtrial mcp` answers a client of the official SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commands import case, enter, eval_set, fairtrial, write

pytestmark = pytest.mark.agents
pytest.importorskip("mcp")

Questions = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with two runs of the same cases, of which the second breaks one."""
    enter(tmp_path, monkeypatch)
    write("trips.evalset.json", eval_set("good", case("other", "something else entirely")))
    write("kind.json", {"criteria": {"response_match_score": 0.8}})
    for agent in ("commands:obedient", "commands:obedient"):
        fairtrial("run", "trips.evalset.json", "--agent", agent, "--config", "kind.json", "--quiet")
    return fairtrial("runs", "--quiet").out.split()


async def _converse(questions: Questions) -> tuple[list[Any], list[tuple[bool, str]]]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "fairtrial", "mcp"], env={**os.environ})
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        answers = [await session.call_tool(name, arguments) for name, arguments in questions]
    return tools, [(_failed(answer), answer.content[0].text) for answer in answers]


def _failed(answer: Any) -> bool:
    """Whether an answer is an error: the key has another spelling since version 2 of the SDK."""
    return bool(getattr(answer, "is_error", getattr(answer, "isError", False)))


def ask(name: str, arguments: Mapping[str, Any]) -> str:
    """The text of an answer that is no error."""
    _, ((failed, text),) = asyncio.run(_converse([(name, dict(arguments))]))
    assert not failed, text
    return text


def test_the_tools_are_the_read_only_questions_and_check() -> None:
    """Each has a description, and a hint that it changes nothing."""
    tools, _ = asyncio.run(_converse([]))
    assert {tool.name for tool in tools} == {"runs", "show", "failures", "compare", "history", "check"}
    for tool in tools:
        hints = tool.annotations.model_dump()
        assert tool.description
        assert hints.get("read_only_hint", hints.get("readOnlyHint")) is True


def test_every_question_is_answered_as_on_the_command_line(here: list[str]) -> None:
    """One conversation asks all of them."""
    new, old = here
    questions: Questions = [
        ("runs", {}),
        ("show", {"run": new}),
        ("show", {"run": new, "case": "other"}),
        ("failures", {"run": new}),
        ("compare", {"base": old, "run": new}),
        ("history", {}),
        ("check", {"paths": ["trips.evalset.json"]}),
    ]
    _, answers = asyncio.run(_converse(questions))
    assert [failed for failed, _ in answers] == [False] * len(questions)
    assert all(text.startswith("exit code 0") for _, text in answers), answers
    listed, shown, one, modes, compared, series, checked = [text for _, text in answers]
    assert new in listed
    assert old in listed
    assert "1 passed, 1 failed" in shown
    assert "something else entirely" in one
    assert "other" in modes
    assert "signature: " in compared
    assert new[:15] in series
    assert "2 cases" in checked


def test_an_argument_cannot_be_an_option(here: list[str]) -> None:
    """An option such as --html would write a file."""
    new, old = here
    assert ask("show", {"run": new, "case": "--html=stolen.html"}).startswith("exit code 2")
    assert ask("compare", {"base": old, "run": "--html=stolen.html"}).startswith("exit code 2")
    assert not Path("stolen.html").exists()


def test_check_reads_nothing_outside_the_folder() -> None:
    """Not by a path of its own, and not through a link."""
    Path("link.json").symlink_to("/etc/hostname")
    for path in ("/etc/hostname", "../secret.json", "link.json"):
        assert ask("check", {"paths": [path]}).startswith("exit code 2: needs files below")


def test_a_question_about_an_unknown_run_is_an_answer() -> None:
    """The client reads the reason."""
    assert "no run" in ask("show", {"run": "19990101"})
