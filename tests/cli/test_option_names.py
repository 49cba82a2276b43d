"""Messages of the library name arguments, and the command line translates them into its options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import commands
import fairtrial
from fairtrial import cli
from fairtrial.api import DatasetOptions
from fairtrial.cli.option_names import OPTION_NAMES, name_option
from fairtrial.errors import UsageError, spell, spelling

pytestmark = pytest.mark.long

_PACKAGE = Path(fairtrial.__file__).parent
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_COMMAND = re.compile(r"`[^`]*fairtrial [^`]*`|fairtrial \w+ .*|(?:git|pip install|codex exec) .*")
_FRONT_ENDS = ("cli", "pytest_plugin", "view", "starter", "examples")
_OTHERS = {
    "agents/harness/": "options of other programs",
    "api/bisection/": "options of git, and of the commands that it runs",
    "api/judges/item_exams.py": "names options of the only command that calls it",
    "error_codes.py": "explains commands",
    "loading/repository.py": "options of git",
    "api/stored_runs.py": "makes commands",
    "api/run_slices.py": "names a command",
    "api/starters/": "writes project files and workflows",
    "config/custom_metric_options.py": "describes an option of configurations, which the reference shows",
    "metrics/catalog.py": "names both spellings",
    "text/languages.py": "reads the option of each command before the command is known",
    "text/redaction/secret_commands.py": "a pattern of commands",
    "valuation/weights.py": "options of pip",
    "reports/": "reports of the command line",
    "formats/": "readers, which several helpers change",
}
"""Modules of the library whose texts may have options, and why."""


def library() -> Iterator[tuple[str, ast.Module]]:
    """The modules that are no front end, with their trees."""
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if name.split("/")[0] not in _FRONT_ENDS:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def options(command: click.Command) -> Iterator[str]:
    """Every option of a command and of its subcommands."""
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found)


def spelt_names() -> set[str]:
    """The arguments that the library spells."""
    return {
        str(node.args[0].value)
        for _, tree in library()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "spell"
        and isinstance(node.args[0], ast.Constant)
    }


def test_each_argument_that_a_message_names_is_an_option() -> None:
    """A message of the command line never names an option that does not exist."""
    names = spelt_names()
    assert len(names) > 60
    assert {name_option(name) for name in names} <= set(options(cli.fairtrial))


def test_each_row_of_the_table_is_needed() -> None:
    """An argument stands in the table if a message names it and its option has another name."""
    assert set(OPTION_NAMES) <= spelt_names()
    assert all(option != f"--{name}" for name, option in OPTION_NAMES.items())


def test_no_message_of_the_library_names_an_option() -> None:
    """Whoever calls Python knows no option, so that a message spells the argument."""
    found = set()
    for name, tree in library():
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described
        ]
        if any(_OPTION.search(_COMMAND.sub("", text)) for text in texts) and not name.startswith((*_OTHERS,)):
            found.add(name)
    assert not found


def test_python_gets_the_name_of_the_argument() -> None:
    """An error in Python names what was handed in."""
    with pytest.raises(UsageError, match=r"^max_refused: must be a share"):
        DatasetOptions(max_refused=1.5).check()


def test_the_command_line_gets_the_name_of_the_option(tmp_path: Path) -> None:
    """The same error names the option there."""
    arguments = ("score", "chats.jsonl", "--config", "c.json", "--out", tmp_path / "out", "--max-refused", "1.5")
    done = commands.fairtrial(*arguments)
    assert done.code == 2
    assert done.err.startswith("fairtrial: --max-refused: must be a share")
    assert spell("max_refused") == "max_refused"


def test_spellings_end_with_their_block() -> None:
    """A block inside another one counts, and the outer one counts after it."""
    with spelling(str.upper):
        with spelling(name_option):
            assert spell("eval_set") == "--against"
        assert spell("eval_set") == "EVAL_SET"
    assert spell("eval_set") == "eval_set"
