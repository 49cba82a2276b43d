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
ELSEWHERE = {
    "receive": "a server; it writes a CommandResult when it ends",
    "pull": "asks a platform; it writes a CommandResult",
    "push": "asks a platform; it writes a CommandResult",
    "watch": "asks a source of traffic again and again; tests/cli/test_cli_watch.py",
    "bisect": "walks through commits of git; tests/cli/test_cli_bisect.py",
    "judge align": "calls a model; tests/cli/test_cli_judge_labels.py",
    "judge calibrate": "needs votes of a model and labels of people; tests/cli/test_cli_judge_labels.py",
    "judge check": "calls a model; tests/cli/test_cli_judge_check.py",
    "judge choose": "needs recorded calls of models; tests/cli/test_cli_judge_choice.py",
    "judge sample": "needs votes of a model; it writes a CommandResult",
    "attack": "runs for every kind of attack; tests/cli/test_cli_attack.py",
}
"""Commands whose JSON other tests read, and why this walk leaves them out."""
WALK = {
    "init": ("new --json -", "CommandResult"),
    "run": ("cases.csv --agent greeter:reply --store none --json -", "ReportView"),
    "score": ("traces.jsonl --against cases.csv --store none --json -", "ReportView"),
    "check": ("cases.csv --json -", "CheckedFiles"),
    "show": ("{new} --json -", "ReportView"),
    "gate": ("{new} --at-least 0.5 --json -", "GateDecision"),
    "convert": ("cases.csv -o cases.evalset.json --json -", "CommandResult"),
    "expect": ("traces.jsonl -o cases.evalset.json --json -", "WrittenEvalSet"),
    "record": ("cases.csv --agent greeter:reply -o again.jsonl --json -", "CommandResult"),
    "value": ("{examples}/traces.jsonl --json", "ValueRow"),
    "select": ("{examples}/traces.jsonl --budget 1 --json", "TraceSelection"),
    "redact": ("cases.csv -o clean.csv --json -", "CommandResult"),
    "labels": ("{new} --json -", "ListedLabels"),
    "compare": ("{old} {new} --json -", "Comparison"),
    "plan": ("{new} --detect 0.3 --json -", "SizePlan"),
    "history": ("--json -", "RunHistory"),
    "flaky": ("{new} --json -", "Flakiness"),
    "failures": ("{new} --json -", "Failures"),
    "mutate": ("cases.csv --json -", "MutationReport"),
    "doctor": ("--json", "ExaminedPart"),
    "criteria": ("--json -", "ListedCriteria"),
    "runs import": ("run.jsonl --store sqlite:///other.db --json -", "CommandResult"),
    "runs rm": ("{old} --json -", "CommandResult"),
}
"""The arguments of each other command, and the shape of its document, or of each row."""
EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = {"value", "doctor"}
"""Commands that write a list or lines."""
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


def test_the_walk_leaves_no_command_out() -> None:
    """A command is walked, read elsewhere, or has no JSON."""
    names = [*WALK, *ELSEWHERE, *WITHOUT]
    assert sorted(names) == sorted({name for name, _ in commands(program)})
    named = {path for why in ELSEWHERE.values() for path in why.split() if path.startswith("tests/")}
    assert [path for path in named if "json" not in (Path(__file__).parents[2] / path).read_text("utf-8")] == []


@pytest.mark.parametrize("name", WALK)
def test_the_json_of_a_command_fits_the_schema(name: str) -> None:
    """Each command writes its document, and nothing else, to standard output."""
    store = "sqlite:///.fairtrial/fairtrial.db"
    Path(".fairtrial").mkdir()
    turn = Invocation(Message("Hi"), (), Message("Hello"))
    recordings = [Recording(name, Trace((turn,))) for name in ("hi", "hey")]
    cases = EvalSet("s", tuple(EvalCase(name, (turn,)) for name in ("hi", "hey")))
    ids = {key: score(recordings, cases, store=store).info.id for key in ("old", "new")}
    assert fairtrial("runs", "export", ids["old"], "run.jsonl").code == 0
    fairtrial("record", "cases.csv", "--agent", "greeter:reply", "-o", "traces.jsonl")
    arguments, shape = WALK[name]
    done = fairtrial(*name.split(), *arguments.format(examples=EXAMPLES, **ids).split())
    assert done.code in (0, 1, 3), done.err
    rows = [json.loads(line) for line in done.out.splitlines()] if name == "value" else json.loads(done.out)
    documents = rows if name in ROWS else [rows]
    assert documents
    for document in documents:
        check_shape(document, shape)


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


@pytest.mark.long
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
