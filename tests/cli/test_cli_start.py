"""`fairtrial demo` and `fairtrial init`: the first minutes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from commands import enter, fairtrial
from fairtrial import api, formats
from fairtrial.cli import fairtrial as program

SAMPLES = Path(formats.__file__).parent / "samples"


@pytest.mark.long
def test_demo_runs_the_example_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case of the example fails, so that there is something to see. The demo itself succeeds."""
    enter(tmp_path, monkeypatch)
    before = sorted(tmp_path.rglob("*"))
    done = fairtrial("demo")
    assert done.code == 0, done.err
    assert "$ fairtrial run examples --agent examples/agent.py:reply --store none" in done.out
    assert "cancel_after_asking  failed" in done.out
    assert "7 valued" in done.out
    assert sorted(tmp_path.rglob("*")) == before


def test_init_writes_files_that_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last line is the next command."""
    enter(tmp_path, monkeypatch)
    done = fairtrial("init", "my evals")
    assert done.code == 0, done.err
    *written, project, last = done.out.splitlines()
    assert project == "wrote fairtrial.toml"
    assert sorted(Path("my evals").iterdir()) == [Path(line.removeprefix("wrote ")) for line in written]
    assert last == "next: fairtrial run"
    assert fairtrial("check", "my evals").code == 0
    run = fairtrial("run")
    assert (run.code, "2 passed" in run.out) == (0, True), run.out


def test_init_leaves_a_project_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last line is the next command with all arguments then."""
    enter(tmp_path, monkeypatch)
    Path("fairtrial.toml").write_text("attempts = 2\n", encoding="utf-8")
    done = fairtrial("init", "my evals")
    assert done.out.splitlines()[-1] == "next: fairtrial run 'my evals' --agent 'my evals/agent.py:reply'"
    assert Path("fairtrial.toml").read_text(encoding="utf-8") == "attempts = 2\n"


def test_init_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a part of its files is written."""
    enter(tmp_path, monkeypatch)
    Path("evals").mkdir()
    Path("evals/test_config.json").write_text("mine", encoding="utf-8")
    done = fairtrial("init")
    assert (done.code, "evals/test_config.json exists, and would be overwritten" in done.err) == (2, True)
    assert [file.name for file in Path("evals").iterdir()] == ["test_config.json"]
    Path("file").touch()
    assert fairtrial("init", "file/evals").code == 2


def test_the_example_is_found_from_anywhere() -> None:
    """It is part of the package."""
    assert {file.name for file in api.EXAMPLES.iterdir()} >= {"agent.py", "shop.evalset.json", "test_config.json"}


@pytest.mark.long
@pytest.mark.parametrize("name", [path.stem for path in sorted(SAMPLES.iterdir()) if path.stem != "gemini-cli"])
def test_an_example_of_a_tool_passes_with_the_command_that_init_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample and the eval set lie in one folder."""
    enter(tmp_path, monkeypatch)
    done = fairtrial("init", "--example", name)
    assert done.code == 0, done.err
    command = done.out.splitlines()[-1].removeprefix("next: fairtrial ")
    ran = fairtrial(*command.split())
    assert (ran.code, f"traces/{name}." in command) == (0, True), ran.out


def test_two_examples_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats of one name are told apart by the end of their file."""
    enter(tmp_path, monkeypatch)
    for name in ("gemini-cli.json", "gemini-cli.jsonl"):
        assert fairtrial("init", "--example", name).code == 0
    again = fairtrial("init", "--example", "gemini-cli.json")
    assert (again.code, "traces/gemini-cli.json exists" in again.err) == (2, True)


def test_the_example_agent_runs_from_its_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of the documentation use these files by these names."""
    enter(tmp_path, monkeypatch)
    done = fairtrial("init", "--example", "shop")
    assert done.code == 0, done.err
    assert "cancel_after_asking  failed" in fairtrial("run", "examples", "--agent", "examples.agent:reply").out


def test_an_unknown_example_names_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written."""
    enter(tmp_path, monkeypatch)
    done = fairtrial("init", "--example", "langfus")
    assert (done.code, "did you mean 'langfuse'?" in done.err) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("program", "place"),
    [("claude", ".claude"), ("codex", ".agents"), ("gemini", ".gemini"), ("opencode", ".agents")],
)
def test_the_skill_is_written_where_a_coding_agent_looks_for_it(
    program: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a skill by the rules that `fairtrial check` knows, and a second call changes nothing."""
    enter(tmp_path, monkeypatch)
    file = Path(place, "skills", "fairtrial", "SKILL.md")
    assert fairtrial("init", "--for", program).out == f"wrote {file}\n"
    assert fairtrial("init", "--for", program).code == 0
    file.write_text("mine", encoding="utf-8")
    done = fairtrial("init", "--for", program)
    assert (done.code, file.read_text(encoding="utf-8")) == (2, "mine")


def test_every_command_in_the_skill_exists() -> None:
    """Each command, and each option beside it, stands in the help."""
    text = (Path(formats.__file__).parents[1] / "starter" / "skill" / "SKILL.md").read_text(encoding="utf-8")
    lines = re.findall(r"`fairtrial ([a-z][^`]*)`", text)
    assert len(lines) > 10
    for line in lines:
        name, *words = line.split()
        shown = fairtrial(name, "--help-all")
        page = (shown if shown.code == 0 else fairtrial(name, "--help")).out
        assert "Usage: fairtrial" in page, line
        assert [word for word in words if word.startswith("--") and word not in page] == [], line


SHOP = """\
from fairtrial import ToolCall, ToolResult

def reply(conversation):
    item = conversation.invocations[-1].query.split()[-1].strip("?")
    yield ToolCall("get_price", {"item": item})
    yield ToolResult("get_price", {"price": 12})
    yield f"Item {item} costs 12 euros."
"""


@pytest.mark.long
def test_every_command_of_the_skill_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the table, in a folder with an agent, a table and a recording. None of them needs a model."""
    enter(tmp_path, monkeypatch)
    text = (Path(formats.__file__).parents[1] / "starter" / "skill" / "SKILL.md").read_text(encoding="utf-8")
    Path("shop").mkdir()
    Path("shop/__init__.py").touch()
    Path("shop/agent.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)  # other tests have a module of this name
    Path("questions.csv").write_text("question\nWhat does A-1 cost?\nWhat does B-2 cost?\n", encoding="utf-8")
    fairtrial("record", "questions.csv", "--agent", "shop.agent:reply", "-o", "traces.jsonl")
    lines = [line for line in text.splitlines() if line.startswith("| ") and "`fairtrial " in line]
    commands: list[str] = []
    for code in (code for line in lines for code in re.findall("`([^`]+)`", line)):
        # Behind a command stand other options for it.
        commands.append(f"{' '.join(commands[-1].split()[:3])} {code}" if code.startswith("-") else code)
    commands += re.findall("`(fairtrial run [^`]+ --until-decided [^`]+)`", text)
    assert len(commands) > 14
    for command in commands:
        runs = fairtrial("runs", "--quiet").out.split()
        names = {"RUN": (runs or [""])[0], "BASE": (runs or [""])[-1]}
        names |= {"FILE": "questions.csv", "CASE": "questions-1", "NAME": "facts_match_v1"}
        done = fairtrial(*(names.get(word, word) for word in command.split()[1:]))
        assert done.code in (0, 1, 3), (command, done.err)
        if "--csv" in command:
            Path("evals/questions.evalset.json").rename("evals/shop.evalset.json")
            Path("fairtrial.toml").unlink()
            Path(".github/workflows/fairtrial.yml").unlink()
        for name in ("shop.agent", "shop"):
            sys.modules.pop(name, None)


def test_the_skill_says_how_each_command_prints_json() -> None:
    """A command with `--json -` takes a file, and `--json` of the others takes nothing."""
    text = (Path(formats.__file__).parents[1] / "starter" / "skill" / "SKILL.md").read_text(encoding="utf-8")
    listed = re.search(r"as JSON where a command has it: ([\w, ]+)\. For ([\w ]+), `--json` stands alone", text)
    assert listed is not None
    flags = dict.fromkeys(listed[1].split(", "), False) | dict.fromkeys(listed[2].split(" and "), True)
    assert len(flags) == 14
    for name, is_flag in flags.items():
        command = program.get_command(click.Context(program), name)
        assert command is not None
        (option,) = [own for own in command.params if "--json" in own.opts]
        assert getattr(option, "is_flag", False) == is_flag, name


def test_the_skill_says_what_ten_passes_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least rate is the one that a run of ten perfect cases has."""
    enter(tmp_path, monkeypatch)
    Path("greeter.py").write_text("def reply(message):\n    return 'Hello'\n", encoding="utf-8")
    Path("cases.csv").write_text("question,expected\n" + "".join(f"Hi {n},Hello\n" for n in range(10)), "utf-8")
    ran = fairtrial("run", "cases.csv", "--agent", "greeter:reply", "--store", "none", "--json", "-")
    rates = [row["pass_rate"] for row in ran.json["run"]["criteria"] if row.get("pass_rate")]
    low, high = next((rate["low"], rate["high"]) for rate in rates if rate.get("low") is not None)
    text = (Path(formats.__file__).parents[1] / "starter" / "skill" / "SKILL.md").read_text(encoding="utf-8")
    assert high == 1
    assert f"With 10 cases that all pass, the true rate may be {low * 100:.0f} %." in text
