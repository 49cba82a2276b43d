"""Every command writes what it did as JSON that the schema describes, or has a reason not to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from commands import enter, fairtrial
from fairtrial import EvalCase, EvalSet, Invocation, Message, Recording, Trace, score
from fairtrial.cli import fairtrial as program
from schema_checks import check_shape

WITHOUT = {
    "view": "a server for a browser",
    "label": "a server for a browser",
    "mcp": "a server whose protocol is JSON",
    "export": "its output is lines of JSON",
    "runs export": "its output is lines of JSON",
    "scenarios": "its output is JSON",
    "demo": "a run for people; `run --json` writes the same",
}
"""Commands without --json, and why."""
AGENT = "def reply(message):\n    return 'Hello'\n"


def commands(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its name, those of groups included."""
    context = click.Context(group)
    for own in group.list_commands(context):
        command = group.get_command(context, own)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name}{own} ")
        else:
            yield f"{name}{own}", command


def done(*args: str) -> Any:
    """What a command did, from its standard output, which holds nothing else."""
    result = fairtrial(*args, "--json", "-")
    assert result.code in (0, 1), result.err
    document = json.loads(result.out)
    check_shape(document, "CommandResult")
    return document


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an agent, a table and recordings."""
    enter(tmp_path, monkeypatch)
    Path("greeter.py").write_text(AGENT, encoding="utf-8")
    Path("cases.csv").write_text("question,expected\nHi,Hello\nHey,Hello\n", encoding="utf-8")


def test_each_command_has_the_option_or_a_reason() -> None:
    """A command that is added needs one of both."""
    lacking = {
        name
        for name, command in commands(program)
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert lacking == set(WITHOUT)


def test_record_counts_conversations() -> None:
    """And names the file that it wrote."""
    assert done("record", "cases.csv", "--agent", "greeter:reply", "-o", "shop.jsonl") == {
        "kind": "done",
        "command": "record",
        "files": ["shop.jsonl"],
        "ids": [],
        "counts": {"recordings": 2, "planned": 2, "broken": 0},
        "notes": [],
    }


def test_convert_names_its_files_and_what_is_lost() -> None:
    """The remarks are those of the terminal."""
    converted = done("convert", "cases.csv", "-o", "cases.evalset.json")
    assert (converted["files"], Path("cases.evalset.json").exists()) == (["cases.evalset.json"], True)


def test_redact_counts_secrets_by_kind() -> None:
    """The secret itself is nowhere in the document."""
    secret = "sk-ant-api03-" + "aB3dE5fG7h" * 8
    Path("log.txt").write_text(f"key {secret} of ann@example.com\n", encoding="utf-8")
    redacted = done("redact", "log.txt", "-o", "clean.txt")
    assert redacted["files"] == ["clean.txt"]
    assert sum(redacted["counts"].values()) == 2
    assert secret not in json.dumps(redacted) + Path("clean.txt").read_text(encoding="utf-8")


def test_redact_refuses_two_things_on_one_stream() -> None:
    """The redacted text goes to standard output unless a file is named."""
    refused = fairtrial("redact", "cases.csv", "--json", "-")
    assert (refused.code, "add --output" in refused.err) == (2, True)


def test_init_names_the_run_and_the_next_command() -> None:
    """A coding agent needs no reading of text."""
    begun = done("init", "--agent", "greeter:reply", "--csv", "cases.csv")
    assert "fairtrial.toml" in begun["files"]
    assert begun["notes"][-1] == "next: fairtrial run --profile ci"
    shown = fairtrial("show", *begun["ids"], "--json", "-")
    assert json.loads(shown.out)["run"]["id"] == begun["ids"][0]


def test_init_for_a_coding_agent_names_the_skill() -> None:
    """The file is the one that the program reads."""
    [file] = done("init", "--for", "claude")["files"]
    assert Path(file).name == "SKILL.md"


def test_runs_are_moved_and_removed_by_their_ids() -> None:
    """Import and rm name the runs."""
    turn = Invocation(Message("Hi"), (), Message("Hello"))
    store = "sqlite:///here.db"
    run = score([Recording("hi", Trace((turn,)))], EvalSet("s", (EvalCase("hi", (turn,)),)), store=store)
    fairtrial("runs", "export", run.info.id, "run.jsonl", "--store", store)
    assert done("runs", "import", "run.jsonl", "--store", "sqlite:///other.db")["ids"] == [run.info.id]
    assert done("runs", "rm", run.info.id, "--store", store)["ids"] == [run.info.id]


def test_the_history_fits_the_schema() -> None:
    """Of the runs, of a case, and of the failures."""
    store = "sqlite:///here.db"
    for _ in range(2):
        fairtrial("run", "cases.csv", "--agent", "greeter:reply", "--store", store)
    newest = json.loads(fairtrial("runs", "--json", "-", "--store", store).out)["runs"][0]["id"]
    for options, shape in (
        ([], "RunHistory"),
        (["--failures"], "ModeHistory"),
        ([newest, "--case", "cases-1"], "CaseHistory"),
    ):
        written = fairtrial("history", *options, "--json", "-", "--store", store)
        assert written.code == 0, written.err
        check_shape(json.loads(written.out), shape)
