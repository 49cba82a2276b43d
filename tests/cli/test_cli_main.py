"""The command line starts light, helps, and fails with a message."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import fairtrial as package
from commands import enter, eval_set, fairtrial, write
from fairtrial.api import EXAMPLES
from fairtrial.cli import COMMANDS, main, name_module
from fairtrial.cli import fairtrial as program

pytestmark = pytest.mark.long

_HEAVY = ("sqlalchemy", "rich", "numpy", "msgspec", "asyncio", "regex", "difflib")
_OF_OTHER_WORK = (
    "valuation",
    "text.redaction.redact",
    "api.datasets.shard_scoring",
    "api.datasets.shared_models",
    "llm.batch_outbox",
)
_LIGHT = """
import json, sys
from fairtrial.cli import main
for arguments in {lines}:
    try:
        main(arguments)
    except SystemExit:
        pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    """The modules that a command line has loaded when it ends."""
    return modules_of_lines([[*arguments]])


def modules_of_lines(lines: list[list[str]]) -> set[str]:
    """The modules that several command lines have loaded in one process."""
    code = _LIGHT.format(lines=lines)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_is_light(arguments: list[str]) -> None:
    """Help loads no command and nothing that they need."""
    loaded = modules(*arguments)
    assert not loaded & set(_HEAVY)
    own = {name for name in loaded if name.startswith("fairtrial.")}
    names = (
        "cli",
        "cli.exit_codes",
        "cli.option_names",
        "errors",
        "system",
        "system.lasting_imports",
        "system.lazy_names",
        "system.process_end",
        "system.unreadable_rows",
        "text",
        "text.languages",
        "version",
    )
    assert own <= {f"fairtrial.{name}" for name in names}


def test_help_of_each_command_is_light() -> None:
    """It loads the options alone: no database, no terminal, no numbers, and no stage."""
    loaded = modules_of_lines([[name, "--help"] for name in COMMANDS])
    assert set(map(name_module, COMMANDS)) <= loaded
    assert not loaded & (set(_HEAVY) - {"msgspec"})
    assert not {module for module in loaded if module.startswith("fairtrial.api.")}


@pytest.mark.parametrize("name", ["run", "score"])
def test_help_of_run_and_score_loads_options_and_the_table_of_reports(name: str) -> None:
    """The options of the two commands are made without a record, and without a reader of configurations."""
    loaded = modules(name, "--help")
    own = {module for module in loaded if module.startswith("fairtrial.")}
    outside = {module for module in own if not module.startswith(("fairtrial.cli.", "fairtrial.system."))}
    names = ["api", "cli", "errors", "reports", "reports.report_table", "system", "text", "text.languages", "version"]
    assert outside == {f"fairtrial.{module}" for module in names}
    assert "msgspec" not in loaded


def test_scoring_an_eval_set_is_light() -> None:
    """It loads neither the value of traces, nor secrets, nor data sets, nor batches of calls."""
    cases, config = (str(EXAMPLES / name) for name in ("shop.evalset.json", "test_config.json"))
    loaded = modules("score", cases, "--against", cases, "--config", config, "--store", "none")
    assert "fairtrial.scoring" in loaded
    assert not loaded & {f"fairtrial.{name}" for name in _OF_OTHER_WORK}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_helps_with_an_example(name: str) -> None:
    """Every command exists, and its help says what it is for with an example and all options explained."""
    done = fairtrial(name, "--help")
    assert done.code == 0
    assert f"  fairtrial {name}" in done.out
    assert done.out.startswith(f"Usage: fairtrial {name} ")
    assert fairtrial(name, "-h").out == done.out


def test_help_lists_commands_and_exit_codes() -> None:
    """`fairtrial --help` names every command and what the exit codes mean."""
    done = fairtrial("--help")
    assert done.code == 0
    assert all(f"\n  {name} " in done.out for name in COMMANDS)
    assert "Exit codes: 0 passed, 1 failed, 3" in done.out


def test_help_fits_one_screen() -> None:
    """The help of the program has at most 50 lines of at most 80 characters, that of a large command at most 60."""
    for limit, arguments in ((50, []), (60, ["run"]), (60, ["score"])):
        lines = fairtrial(*arguments, "--help").out.splitlines()
        assert len(lines) <= limit, arguments
    assert max(map(len, fairtrial("--help").out.splitlines())) <= 80


def test_options_stand_under_headings() -> None:
    """An option stands below its heading. A rare one stands in the help of all options only, with all sentences."""
    usual, whole = fairtrial("score", "--help").out, fairtrial("score", "--help-all").out
    assert re.search(r"\nJudge:\n(  .*\n)*  --judge-model NAME ", usual)
    assert re.search(r"\nLimits:\n(  .*\n)*  --calls-per-minute N ", whole)
    assert "--calls-per-minute" not in usual
    assert "Others are guessed." in whole
    assert "Others are guessed." not in usual


def test_the_help_of_all_options_holds_every_option() -> None:
    """No option of a command is missing there, and every option is listed once."""
    command = program.get_command(click.Context(program), "run")
    assert command is not None
    listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", fairtrial("run", "--help-all").out, re.MULTILINE)
    names = [option.opts[0] for option in command.params if isinstance(option, click.Option)]
    assert sorted(listed) == sorted([*names, "--help", "--help-all"])


def test_version() -> None:
    """`fairtrial --version` prints the version of the package."""
    assert fairtrial("--version").out == f"fairtrial, version {package.__version__}\n"


@pytest.mark.parametrize(("typed", "meant"), [("scor", "score"), ("shwo", "show"), ("critera", "criteria")])
def test_misspelt_commands_get_the_nearest(typed: str, meant: str) -> None:
    """An unknown command is refused with the nearest known one."""
    done = fairtrial(typed)
    assert (done.code, f"did you mean {meant!r}?" in done.err) == (2, True)


def test_nothing_to_do_is_help() -> None:
    """Without a command there is help, and the exit code of wrong usage."""
    done = fairtrial()
    assert (done.code, "Commands:" in done.err + done.out) == (2, True)


def test_hostile_arguments_come_back_as_text() -> None:
    """What is quoted in a message cannot control the terminal."""
    done = fairtrial("show", "x\x1b[31m", "--store", "sqlite://")
    assert done.code == 2
    assert "\x1b" not in done.err


@pytest.mark.parametrize("option", ["--json", "--config"])
def test_a_name_that_no_file_can_have_is_a_message(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system does not even look for is said shortly, without a traceback."""
    enter(tmp_path, monkeypatch)
    write("trips.evalset.json", eval_set("a"))
    done = fairtrial("run", ".", "--agent", "commands:obedient", option, "a" * 5000)
    assert (done.code, "aaa…: File name too long" in done.err, len(done.err) < 300) == (2, True, True)


@pytest.mark.parametrize(("name", "command"), [("eval", "run"), ("diff", "compare"), ("scroe", "score")])
def test_a_command_of_another_tool_is_answered_with_ours(name: str, command: str) -> None:
    """Users of ADK type `eval`."""
    done = fairtrial(name)
    assert done.code == 2
    assert f"did you mean '{command}'?" in done.err


def test_a_path_of_an_agent_is_answered_with_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of the file are offered, as they are written for --agent."""
    enter(tmp_path, monkeypatch)
    write("t.evalset.json", eval_set("a"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "agent.py").write_text("async def answer(trace): ...\ndef _hidden(): ...\n", encoding="utf-8")
    done = fairtrial("run", "t.evalset.json", "--agent", "shop/agent.py")
    assert done.code == 2
    assert "got 'shop/agent.py'; did you mean 'shop.agent:answer'?" in done.err


def test_the_package_is_a_command() -> None:
    """`python -m fairtrial` works where no script is installed."""
    done = subprocess.run([sys.executable, "-m", "fairtrial", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"fairtrial, version {package.__version__}"


def test_a_reader_who_left_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `fairtrial check … | head`. The code is the one of a program that SIGPIPE ended."""
    enter(tmp_path, monkeypatch)
    for number in range(300):
        write(f"{number}.evalset.json", eval_set("a"))
    read, wrote = os.pipe()
    os.close(read)
    command = [sys.executable, "-X", "dev", "-m", "fairtrial", "check", "."]
    done = subprocess.run(command, stdout=wrote, stderr=subprocess.PIPE, text=True, check=False)
    os.close(wrote)
    assert (done.returncode, done.stderr) == (141, "")


def completed(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that a shell offers after a beginning of a command line."""
    monkeypatch.setenv("_FAIRTRIAL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit) as ended:
        main([])
    monkeypatch.delenv("_FAIRTRIAL_COMPLETE")
    assert ended.value.code == 0
    return [line.partition(",")[2] for line in capsys.readouterr().out.split()]


def test_a_shell_completes_commands_runs_and_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs and cases come from the store, of the options if they name one. Without a store, nothing is offered."""
    enter(tmp_path, monkeypatch)
    write("e.evalset.json", eval_set("alpha", "beta"))
    assert completed("fairtrial show 20", monkeypatch, capsys) == []
    fairtrial("run", "e.evalset.json", "--agent", "commands:obedient", "--store", "sqlite:///mine.db")
    fairtrial("run", "e.evalset.json", "--agent", "commands:obedient")
    (run,) = fairtrial("runs", "--quiet").out.split()
    (other,) = fairtrial("runs", "--quiet", "--store", "sqlite:///mine.db").out.split()
    assert completed("fairtrial sh", monkeypatch, capsys) == ["show"]
    assert completed("fairtrial show 20", monkeypatch, capsys) == [run]
    assert completed("fairtrial show --store sqlite:///mine.db 20", monkeypatch, capsys) == [other]
    assert completed(f"fairtrial show {run} be", monkeypatch, capsys) == ["beta"]
