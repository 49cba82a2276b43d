"""Command-line agents work in clean workspaces, and cannot leave them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from fairtrial.agents import find_agent
from fairtrial.agents.harness.harness_agent import HarnessAgent, HarnessOutageError, SkillSource
from fairtrial.agents.harness.sandbox import check_credentials, choose_sandbox, make_environment, wrap
from fairtrial.agents.harness.workspaces import compare, copy_folder, place_files, take_snapshot
from fairtrial.errors import AgentError, UsageError
from fairtrial.protocols import Item
from fairtrial.records.case import EvalCase
from fairtrial.records.state_delta import STATE_KEY, StateDelta, read_delta
from fairtrial.records.trace import Message, ToolCall, ToolResult, Trace, Usage
from fairtrial.records.workspace import CaseFile, Workspace, WorkspaceCheck
from other_processes import ends

LOG = """
import json, os, pathlib, sys
def line(kind, **fields):
    print(json.dumps({"type": kind, "session_id": "s", "uuid": "u", **fields}), flush=True)
def say(*parts):
    message = {"id": "m", "role": "assistant", "model": "m-1", "content": list(parts)}
    usage = {"input_tokens": 10, "output_tokens": 2}
    line("assistant", message={**message, "usage": usage}, parent_tool_use_id=None)
def end(**more):
    line("result", **{"subtype": "success", "is_error": False, "total_cost_usd": 0.5, **more})
prompt = sys.stdin.read()
line("system", subtype="init", tools=["Bash"])
"""


def agent(folder: Path, script: str, *, log: str = "claude", **more: Any) -> HarnessAgent:
    """A command-line agent whose program is a script."""
    (folder / "agent.py").write_text((LOG if log == "claude" else "") + dedent(script))
    description = {"command": [sys.executable, "{folder}/agent.py"], "skills": ".claude/skills", "log": log}
    (folder / "agent.json").write_text(json.dumps(description))
    found = find_agent(f"harness:{folder / 'agent.json'}")
    assert isinstance(found, HarnessAgent)
    return replace(found, **{"root": str(folder), "sandbox": "none", **more})


def run(target: HarnessAgent, case: EvalCase | None = None, prompt: str = "Go") -> tuple[list[Item], StateDelta]:
    """The items of one attempt, and its state delta."""

    async def attempt() -> tuple[list[Item], StateDelta]:
        async with target(case or EvalCase("c"), None) as session:
            items = [item async for item in session.send(prompt)]
            assert session.about is not None
            delta = read_delta(Trace(final_state=session.about.final_state))
            assert delta is not None
            return items, delta

    return asyncio.run(attempt())


def fail(target: HarnessAgent, error: type[Exception]) -> tuple[list[Item], str]:
    """The items before a failure, and its message."""
    items: list[Item] = []

    async def attempt() -> None:
        async with target(EvalCase("c"), None) as session:
            async for item in session.send("Go"):
                items.append(item)  # noqa: PERF401  (the items before the failure count)

    with pytest.raises(error) as raised:
        asyncio.run(attempt())
    return items, str(raised.value)


def checked(folder: Path, script: str, *checks: WorkspaceCheck) -> list[tuple[bool | None, str]]:
    """The decisions about checks after a script has run."""
    _, delta = run(agent(folder, f"{script}\nend()"), EvalCase("c", workspace=Workspace(checks=checks)))
    return [(result.passed, result.reason) for result in delta.checks]


def test_a_log_becomes_steps_tokens_and_a_reply(tmp_path: Path) -> None:
    """The items of the log come in their order, with the tokens of each message of the model."""
    script = """
    say({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}})
    line("user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
         parent_tool_use_id=None)
    say({"type": "text", "text": prompt})
    end()
    """
    items, delta = run(agent(tmp_path, script), prompt="--help")
    assert [item for item in items if isinstance(item, ToolCall)] == [
        ToolCall("Bash", {"command": "ls"}, "t", model="m-1")
    ]
    assert [item.response for item in items if isinstance(item, ToolResult)] == ["x"]
    assert [item.text for item in items if isinstance(item, Message)] == ["--help"]
    assert [item.input_tokens for item in items if isinstance(item, Usage)] == [10]  # one message with one id
    assert delta.cost == 0.5


def test_files_that_change_are_the_state_delta(tmp_path: Path) -> None:
    """Added, changed and removed files are listed with their texts, and secrets are replaced."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\ntwo\n")
    script = """
    pathlib.Path("a.txt").write_text("one\\nthree\\n")
    pathlib.Path("b.txt").unlink()
    pathlib.Path("c.txt").write_text("key sk-ant-api03-" + "a1B2" * 24)
    end()
    """
    case = EvalCase("c", workspace=Workspace((CaseFile("a.txt", "a.txt"), CaseFile("b.txt", "b.txt"))))
    _, delta = run(agent(tmp_path, script), case)
    assert [(file.path, file.change) for file in delta.files] == [
        ("a.txt", "changed"),
        ("b.txt", "removed"),
        ("c.txt", "added"),
    ]
    assert "-two\n+three" in delta.files[0].diff
    assert "REDACTED" in delta.files[2].diff
    assert "sk-ant" not in delta.files[2].diff


def test_the_skill_of_the_variant_is_installed_and_no_other(tmp_path: Path) -> None:
    """With the skill it stands in the agent's folder, and without it nothing does."""
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\n")
    variants = (("with", SkillSource(str(skill), name="tides")), ("without", SkillSource()))
    script = """
    names = [str(path) for path in sorted(pathlib.Path(".").rglob("*")) if path.is_file()]
    say({"type": "text", "text": " ".join(names)})
    end()
    """
    target = agent(tmp_path, script, skills=variants)
    texts = []
    for variant in ("with", "without"):
        items, _ = run(target, EvalCase("c", workspace=Workspace(variant=variant)))
        texts.append("".join(item.text for item in items if isinstance(item, Message)))
    assert texts == [".claude/skills/tides/SKILL.md", ""]


def test_secrets_of_the_environment_stay_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program sees the variables that are asked for, and no other secret, and a home of its own."""
    monkeypatch.setenv("MY_TOKEN", "hidden")
    monkeypatch.setenv("ASKED_TOKEN", "given")
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:pw@proxy:1")
    script = """
    kept = {name: os.environ.get(name) for name in ("MY_TOKEN", "ASKED_TOKEN", "HTTPS_PROXY")}
    home = {"HOME": os.environ["HOME"], "home": os.listdir(os.environ["HOME"])}
    say({"type": "text", "text": json.dumps({**kept, **home})})
    end()
    """
    items, _ = run(agent(tmp_path, script, credentials=("ASKED_TOKEN",)))
    (text,) = (json.loads(item.text) for item in items if isinstance(item, Message))
    assert (text["MY_TOKEN"], text["ASKED_TOKEN"], text["HTTPS_PROXY"]) == (None, "given", None)
    assert text["HOME"] != os.environ["HOME"]
    assert text["home"] == ["tmp"]
    assert not Path(text["HOME"]).exists()


def test_a_file_of_credentials_is_copied_to_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the file that is named stands in the new home."""
    own, other = tmp_path / "own", tmp_path / "other"
    (own / ".codex").mkdir(parents=True)
    (own / ".codex" / "auth.json").write_text("{}")
    (own / ".codex" / "config.toml").write_text("x")
    monkeypatch.setenv("HOME", str(own))
    make_environment(other, ("~/.codex/auth.json",))
    assert [path.name for path in (other / ".codex").iterdir()] == ["auth.json"]


@pytest.mark.parametrize("name", ["NO_SUCH_TOKEN", "~/no/such/file", "~/../etc/passwd"])
def test_credentials_that_are_not_there_are_refused(name: str) -> None:
    """A run without its credentials would fail in every attempt."""
    with pytest.raises(UsageError, match="credentials: "):
        check_credentials((name,))


def test_a_log_that_ends_early_is_an_outage(tmp_path: Path) -> None:
    """The steps so far are kept, and the agent is not blamed."""
    items, problem = fail(agent(tmp_path, 'say({"type": "text", "text": "So far"})\nsys.exit(3)'), HarnessOutageError)
    assert [item.text for item in items if isinstance(item, Message)] == ["So far"]
    assert problem == "agent ended with the code 3, and its log breaks off"


def test_an_error_of_the_provider_is_an_outage(tmp_path: Path) -> None:
    """An overloaded server says nothing about the skill."""
    script = 'end(is_error=True, result="API Error: 529 Overloaded")'
    assert "529" in fail(agent(tmp_path, script), HarnessOutageError)[1]


def test_an_error_of_the_agent_is_its_own(tmp_path: Path) -> None:
    """An agent that gives up failed."""
    script = 'end(is_error=True, subtype="error_max_turns")'
    assert "error_max_turns" in fail(agent(tmp_path, script), AgentError)[1]


@pytest.mark.long
def test_a_slow_agent_is_stopped_with_its_children(tmp_path: Path) -> None:
    """At the time limit the whole group of processes ends, and the steps so far are kept."""
    script = f"""
    import subprocess
    child = subprocess.Popen(["sleep", "600"])
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
    say({{"type": "text", "text": "Wait"}})
    child.wait()
    """
    items, problem = fail(agent(tmp_path, script, seconds=1.5, sandbox="none"), AgentError)
    assert problem == "no reply within 1.5 seconds"
    assert [item.text for item in items if isinstance(item, Message)] == ["Wait"]
    assert ends(int((tmp_path / "pid").read_text()))


def test_endless_output_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent cannot fill the memory."""
    monkeypatch.setattr("fairtrial.agents.harness.harness_agent._LARGEST_OUTPUT", 100_000)
    script = "while True: print('x' * 10_000)"
    assert "wrote more than 100,000 bytes" in fail(agent(tmp_path, script), AgentError)[1]


def test_a_second_message_is_refused(tmp_path: Path) -> None:
    """One attempt is one message."""

    async def talk() -> None:
        async with agent(tmp_path, "end()")(EvalCase("c"), None) as session:
            async for _ in session.send("one"):
                pass
            async for _ in session.send("two"):
                pass

    with pytest.raises(AgentError, match="one message an attempt"):
        asyncio.run(talk())


def test_a_program_without_a_log_replies_with_its_output(tmp_path: Path) -> None:
    """Any command can be an agent."""
    items, _ = run(agent(tmp_path, "print(input().upper())", log="text"), prompt="hello")
    assert [item.text for item in items if isinstance(item, Message)] == ["HELLO"]


@pytest.mark.parametrize(
    ("script", "check", "passed"),
    [
        ("", WorkspaceCheck("exists", path="a.txt"), False),
        ("open('a.txt', 'w')", WorkspaceCheck("exists", path="*.txt"), True),
        ("open('a.txt', 'w')", WorkspaceCheck("exists", path="*.txt", at_least=2), False),
        ("open('a.txt', 'w')", WorkspaceCheck("absent", path="a.txt"), False),
        (
            "open('a.txt', 'w').write('noon')",
            WorkspaceCheck("contains", path="a.txt", texts=("NOON",), ignore_case=True),
            True,
        ),
        ("open('a.txt', 'w').write('noon')", WorkspaceCheck("not_matches", path="a.txt", pattern="no+n"), False),
        (
            "open('a.json', 'w').write('{\"a\": 1}')",
            WorkspaceCheck("json", path="a.json", json_schema={"required": ["b"]}),
            False,
        ),
        (
            "open('a.csv', 'w').write('h\\n1\\n2\\n')",
            WorkspaceCheck("csv_rows", path="a.csv", at_least=2, at_most=2),
            True,
        ),
        ("open('a.txt', 'w')", WorkspaceCheck("changes_only", paths=("*.md",)), False),
        ("open('a.txt', 'w')", WorkspaceCheck("command", command=("test", "-f", "a.txt")), True),
        ("", WorkspaceCheck("command", command=("sh", "-c", "echo no; exit 4"), exit_code=0), False),
        ("", WorkspaceCheck("command", command=("no-such-program-here",)), None),
    ],
)
def test_checks_of_the_workspace_are_decided(
    tmp_path: Path, script: str, check: WorkspaceCheck, passed: bool | None
) -> None:
    """Each check looks at the workspace as the agent left it."""
    ((decision, reason),) = checked(tmp_path, script, check)
    if check.command == ("no-such-program-here",) and decision is False:  # the sandbox starts, and the program does not
        assert "ended with the code" in reason
    else:
        assert decision is passed


def test_a_link_out_of_the_workspace_proves_nothing(tmp_path: Path) -> None:
    """A file outside is no file of the workspace, and its text stands in no diff."""
    (tmp_path / "secret.txt").write_text("the secret")
    script = f"os.symlink({str(tmp_path / 'secret.txt')!r}, 'link.txt')"
    _, delta = run(
        agent(tmp_path, f"{script}\nend()"),
        EvalCase("c", workspace=Workspace(checks=(WorkspaceCheck("exists", path="link.txt"),))),
    )
    assert delta.checks[0].passed is False
    assert "the secret" not in json.dumps(delta.state)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")
def test_the_sandbox_keeps_writes_inside() -> None:
    """With bwrap, a write outside of the workspace fails."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # the sandbox has a /dev of its own, and tests may run in /dev/shm
    outside = folder / "outside.txt"
    script = f"""
    try:
        pathlib.Path({str(outside)!r}).write_text("x")
    except OSError as error:
        say({{"type": "text", "text": "refused"}})
    end()
    """
    items, delta = run(agent(folder, script, sandbox="bwrap"))
    assert [item.text for item in items if isinstance(item, Message)] == ["refused"]
    assert not outside.exists()
    shutil.rmtree(folder)
    assert delta.sandbox == "bwrap"


def test_the_command_of_the_sandbox_binds_two_folders_for_writing(tmp_path: Path) -> None:
    """Everything else is read-only."""
    words = wrap(["true", "--flag"], "bwrap", tmp_path / "w", tmp_path / "h")
    pairs = [words[i + 1] for i, word in enumerate(words) if word == "--bind"]
    assert pairs == [str(tmp_path / "w"), str(tmp_path / "h")]
    assert words[words.index("--ro-bind") + 1 : words.index("--ro-bind") + 3] == ["/", "/"]
    assert words[-1] == "--flag"
    assert wrap(["true"], "none", tmp_path, tmp_path) == ["true"]


def test_a_sandbox_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gets less isolation than they asked for."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert choose_sandbox(None) == "none"
    with pytest.raises(UsageError, match="no program bwrap"):
        choose_sandbox("bwrap")


def test_a_link_in_the_files_of_a_case_cannot_lead_out(tmp_path: Path) -> None:
    """A hostile skill cannot copy files of the machine into a workspace."""
    root = tmp_path / "skill"
    (root / "data").mkdir(parents=True)
    (root / "data" / "passwd").symlink_to("/etc/passwd")
    workspace = tmp_path / "w"
    with pytest.raises(UsageError, match="leads out of"):
        place_files((CaseFile("data", ""),), root, workspace)
    with pytest.raises(UsageError, match="leads out of"):
        copy_folder(root, workspace, root)


def test_a_missing_file_of_a_case_is_named(tmp_path: Path) -> None:
    """A case without its file would blame the agent."""
    with pytest.raises(UsageError, match=r"holds no 'a\.csv'"):
        place_files((CaseFile("a.csv", "a.csv"),), tmp_path, tmp_path / "w")


def test_large_and_strange_files_are_seen_and_not_read(tmp_path: Path) -> None:
    """A sparse file, a pipe and bytes that are no text have a size and no diff."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(10**9)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "image").write_bytes(b"\x00\xff")
    changes, omitted = compare({}, take_snapshot(tmp_path))
    assert [(change.path, change.diff, change.is_cut) for change in changes if change.path != "pipe"] == [
        ("image", "", True),
        ("large", "", True),
    ]
    assert omitted == 0


def test_more_changes_than_are_listed_are_counted(tmp_path: Path) -> None:
    """The list of changes is bounded."""
    for number in range(230):
        (tmp_path / f"{number:03}").write_text("x")
    changes, omitted = compare({}, take_snapshot(tmp_path))
    assert (len(changes), omitted) == (200, 30)


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ({"skills": "s"}, "/command: must be an array"),
        ({"command": ["sh"], "skills": "/abs"}, "/skills: must be a folder in the workspace"),
        ({"command": ["sh"], "skills": "../up"}, "/skills: must be a folder in the workspace"),
        ({"command": ["sh"], "skills": "s", "log": "json"}, "/log: must be one of"),
        ({"command": ["sh"], "skills": "s", "logs": "text"}, "/logs: is not a known key; did you mean"),
        ({"command": ["no-such-program-x"], "skills": "s"}, "is on PATH"),
    ],
)
def test_mistakes_in_a_description_are_named(tmp_path: Path, description: dict[str, Any], problem: str) -> None:
    """Each mistake has its place."""
    (tmp_path / "a.json").write_text(json.dumps(description))
    with pytest.raises(UsageError, match=problem):
        find_agent(f"harness:{tmp_path / 'a.json'}")


def test_an_unknown_program_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is missing is an error, and the name of a known one needs no prefix."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="no program 'claude' is on PATH"):
        find_agent("claude#opus")


def test_a_state_of_another_shape_is_no_delta() -> None:
    """Any agent may have a state with this key."""
    states: Sequence[Any] = (None, {STATE_KEY: 3}, {STATE_KEY: {"sandbox": 1, "files": 2}}, {STATE_KEY: {"files": []}})
    assert [read_delta(Trace(final_state=state)) for state in states] == [None] * 4


def test_pictures_that_the_agent_leaves_are_parts_of_the_reply(tmp_path: Path) -> None:
    """New pictures are kept by their content, and what only has the name of one, a link and a given one are not."""
    script = """
    png = bytes.fromhex("89504e470d0a1a0a") + b"..."
    pathlib.Path("chart.png").write_bytes(png)
    pathlib.Path("fake.png").write_text("text")
    pathlib.Path("link.png").symlink_to("chart.png")
    say({"type": "text", "text": "Done."})
    end(result="Done.")
    """
    (tmp_path / "given.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    case = EvalCase("c", workspace=Workspace((CaseFile("given.png", "given.png"),)))
    items, delta = run(agent(tmp_path, script), case)
    reply = items[-1]
    assert isinstance(reply, Message)
    assert [(part.mime_type, part.name) for part in reply.parts] == [("image/png", "chart.png")]
    assert {change.path for change in delta.files} == {"chart.png", "fake.png", "link.png"}


def test_pictures_are_bounded(tmp_path: Path) -> None:
    """A large picture is only named among the files."""
    script = """
    png = bytes.fromhex("89504e470d0a1a0a")
    pathlib.Path("large.png").write_bytes(png + bytes(4_000_000))
    for number in range(8):
        pathlib.Path(f"small-{number}.png").write_bytes(png + bytes(1000))
    say({"type": "text", "text": "Done."})
    end(result="Done.")
    """
    items, delta = run(agent(tmp_path, script))
    assert isinstance(items[-1], Message)
    assert [part.name for part in items[-1].parts] == [f"small-{number}.png" for number in range(6)]
    assert len(delta.files) == 9
