"""`fairtrial doctor` shows an installation, and refusals about the installation end with it."""

from __future__ import annotations

import ast
import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fairtrial
import fairtrial.api.doctor as examined
from fairtrial import agents, api
from fairtrial.cli import main, shown_errors
from fairtrial.cli.doctor_command import doctor
from fairtrial.error_codes import ERROR_CODES
from fairtrial.errors import StoreError, UsageError


def rows(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of the table in an empty folder, by area and name."""
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    return {(own["area"], own["name"]): own for own in json.loads(done.output)}


@pytest.mark.long
def test_a_package_below_its_floor_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both versions are shown, and the exit code is 1."""
    monkeypatch.setattr(examined, "version", lambda _: "0.1")
    assert rows(monkeypatch, tmp_path)["extra", "parquet"] == {
        "area": "extra",
        "name": "parquet",
        "state": "broken",
        "detail": "pyarrow 0.1 is older than 17",
    }
    assert CliRunner().invoke(doctor, [], standalone_mode=False).return_value == 1


@pytest.mark.long
def test_a_key_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable is enough."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = rows(monkeypatch, tmp_path)
    assert found["key", "anthropic"]["detail"] == "ANTHROPIC_API_KEY is set"
    assert found["key", "openai"]["state"] == "absent"
    assert "very-secret" not in json.dumps(list(found.values()))


@pytest.mark.long
def test_a_store_that_is_no_database_is_broken(tmp_path: Path) -> None:
    """A missing store is not, because the first run makes it, and looking at it does not make it."""
    missing, wrong = tmp_path / "none.db", tmp_path / "wrong.db"
    wrong.write_text("no database" * 100)
    states = {
        path: own.state
        for path in (missing, wrong)
        for own in api.examine_installation(f"sqlite:///{path}")
        if own.area == "store"
    }
    assert states == {missing: "absent", wrong: "broken"}
    assert not missing.exists()


HINT = "`fairtrial doctor` shows packages, keys, the store, programs and plugins.\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--agent", "smolagents:shop:agent"], "2"),
        (["--agent", "harness:broken.json"], "2"),
        (["--agent", "strange:shop"], "2"),
        (["--agent", "doctor_shop:agent", "--store", "sqlite:///wrong.db"], "4"),
        (["--agent", "doctor_shop:agent", "--store", "sqlite:///absent.db", "--resume", "1"], "2"),
    ],
    ids=["package", "program", "plugin", "store", "absent store"],
)
def test_a_refusal_about_the_installation_ends_with_the_command(
    arguments: list[str],
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A package, a program, a plugin or the store is not as it must be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(agents, "_plugins", lambda: {"strange": EntryPoint("strange", "absent_module", agents.PLUGINS)})
    (tmp_path / "one.csv").write_text("input\nhello\n")
    (tmp_path / "doctor_shop.py").write_text("def agent(query: str) -> str:\n    return query\n")
    (tmp_path / "wrong.db").write_text("no database" * 100)
    (tmp_path / "broken.json").write_text('{"command": ["no-such-program"], "log": "claude", "skills": "skills"}')
    with pytest.raises(SystemExit, match=code):
        main(["run", "one.csv", "--store", "none", *arguments])
    assert capsys.readouterr().err.endswith(HINT)


@pytest.mark.parametrize("code", ["missing-key", "missing-package", "no-such-store", "store-failed"])
def test_every_refusal_with_a_code_of_the_installation_ends_with_the_command(code: str) -> None:
    """Whatever its words are, and as the page of errors prints it."""
    error = StoreError("no") if code == "store-failed" else UsageError("no", code=code)
    assert shown_errors.concerns_installation(error)
    entry = ERROR_CODES[code]
    assert not entry.output or entry.output.endswith(HINT.strip())


def test_every_refusal_about_a_version_or_a_key_has_a_code_of_the_installation() -> None:
    """A refusal in the source that names a package to install or a variable to set has one of the codes."""
    source = Path(fairtrial.__file__).parent
    raised = [
        (file.name, node.lineno, ast.unparse(node))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error")
    ]
    about = [own for own in raised if re.search(r"pip install|no key; set", own[2])]
    assert len(about) >= 3
    assert [own[:2] for own in about if not re.search(r"code='(missing-key|missing-package)'", own[2])] == []


def test_a_refusal_about_the_input_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installation has no part in it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["run", "two.csv", "--agent", "shop:agent", "--store", "none"])
    assert "doctor" not in capsys.readouterr().err
