"""Every error carries a code that the page of errors explains, and programs can read it."""

from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fairtrial as library
from commands import fairtrial
from fairtrial import errors
from fairtrial.cli.options.judge_flags import make_judges
from fairtrial.error_codes import ERROR_CODES, WITHIN_CASES
from fairtrial.reports.plots import plot_attempts
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.segmented_index import read_head

SOURCE = Path(library.__file__).parent
_WITHOUT_EXAMPLE = {
    "busy": "needs a second process",
    "changed-meanwhile": "needs two readers of a page",
    "file-system": "needs a full disk, or a folder without permission",
    "missing-entry": "needs a cassette",
    "not-passed": "is raised in Python only",
    "not-supported": "needs a service or a framework",
    "request-refused": "needs a service",
    "too-large": "needs a large file",
    "unusable-run": "needs a run of another kind",
}


def _written_codes() -> Iterator[tuple[str, str]]:
    """Each code that the source writes, with its place: `code="..."` of a raise, and `code = "..."` of a class."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values: list[ast.expr] = []
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                values = [keyword.value for keyword in node.exc.keywords if keyword.arg == "code"]
            elif isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                assignments = [part for part in node.body if isinstance(part, ast.Assign)]
                values = [part.value for part in assignments if ast.unparse(part.targets[0]) == "code"]
            for value in values:
                if isinstance(value, ast.Constant):
                    yield str(value.value), f"{path.name}:{value.lineno}"


@pytest.mark.long
def test_every_code_of_the_source_has_an_entry() -> None:
    """A code without an entry would lead nowhere."""
    written = list(_written_codes())
    assert len(written) > 300
    assert [f"{place}: {code}" for code, place in written if code not in ERROR_CODES and code != "error"] == []


@pytest.mark.long
def test_every_entry_is_a_code_of_the_source() -> None:
    """An entry that nothing raises would mislead."""
    written = {code for code, _ in _written_codes()} | {"file-system"}
    assert sorted(set(ERROR_CODES) - written) == []


def test_every_error_class_has_a_code() -> None:
    """Only the base of all errors is raised by no code of its own."""
    classes = [
        thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, errors.FairtrialError)
    ]
    assert len(classes) > 10
    assert [own.__name__ for own in classes if own.code not in ERROR_CODES] == ["FairtrialError"]


@pytest.mark.parametrize("code", [code for code in ERROR_CODES if code not in WITHIN_CASES | set(_WITHOUT_EXAMPLE)])
def test_an_entry_shows_a_command_that_ends_with_its_code(code: str) -> None:
    """The tests of the documentation run the command, and compare what it prints."""
    entry = ERROR_CODES[code]
    assert entry.example.splitlines()[-1].startswith(("fairtrial ", "env -u GROQ_API_KEY fairtrial "))
    assert f" [{code}]" in entry.output


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: plot_attempts([]), "too-little-data"),
        (lambda: VectorCache.load("nowhere.index"), "no-such-file"),
        (lambda: read_head(Path("nowhere.index")), "no-such-file"),
        (lambda: make_judges({"judge_model": "openai/gpt-5"}, {}), "cannot-resume"),
    ],
)
def test_a_code_has_the_meaning_of_its_entry(call: Callable[[], object], code: str) -> None:
    """A plot needs data, an index is a file, and a run is resumed with its own options."""
    with pytest.raises(errors.UsageError) as caught:
        call()
    assert caught.value.code == code


def test_a_code_survives_another_process() -> None:
    """Workers pickle their errors."""
    error = pickle.loads(pickle.dumps(errors.UsageError("no", code="busy")))  # noqa: S301
    assert (str(error), error.code) == ("no", "busy")


def test_json_on_stdout_holds_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads the JSON of a command finds the reason there."""
    monkeypatch.chdir(tmp_path)
    done = fairtrial("compare", "a", "b", "--json", "-")
    assert done.code == 2
    assert json.loads(done.out)["error"]["code"] == "no-such-store"
    assert done.err.splitlines()[0].endswith("[no-such-store]")


def test_a_flag_for_json_does_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor --json` and its like take no file."""
    monkeypatch.chdir(tmp_path)
    assert json.loads(fairtrial("value", "missing.jsonl", "--json").out)["error"]["code"] == "no-such-file"


def test_without_json_stdout_stays_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets no error as its data."""
    monkeypatch.chdir(tmp_path)
    assert fairtrial("compare", "a", "b", "--json", "result.json").out == ""


def test_a_code_is_the_same_in_every_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the words are translated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRTRIAL_LANG", "ko")
    assert fairtrial("run", "missing.json", "--agent", "a:b").err.rstrip().endswith("[no-such-file]")
