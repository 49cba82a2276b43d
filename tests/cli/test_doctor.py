"""`fairtrial doctor` shows an installation, and refusals about the installation end with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fairtrial.api.doctor as examined
from fairtrial import api
from fairtrial.cli import main
from fairtrial.cli.doctor_command import doctor


def rows(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of the table in an empty folder, by area and name."""
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    return {(own["area"], own["name"]): own for own in json.loads(done.output)}


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


def test_a_key_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable is enough."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = rows(monkeypatch, tmp_path)
    assert found["key", "anthropic"]["detail"] == "ANTHROPIC_API_KEY is set"
    assert found["key", "openai"]["state"] == "absent"
    assert "very-secret" not in json.dumps(list(found.values()))


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


def test_a_refusal_about_a_package_ends_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal about the input does not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("input\nhello\n")
    with pytest.raises(SystemExit, match="2"):
        main(["run", "one.csv", "--agent", "smolagents:shop:agent", "--store", "none"])
    assert capsys.readouterr().err.endswith("`fairtrial doctor` shows packages, keys and the store.\n")
    with pytest.raises(SystemExit, match="2"):
        main(["run", "two.csv", "--agent", "shop:agent", "--store", "none"])
    assert "doctor" not in capsys.readouterr().err
