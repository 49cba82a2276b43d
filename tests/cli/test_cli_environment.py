"""The precedence of `.env` files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairtrial import UsageError
from fairtrial.cli.options.dotenv_files import read_environment


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and an environment that is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", {**os.environ})
    os.environ.pop("FAIRTRIAL_KEY", None)


def put(folder: str, text: str) -> None:
    """Write a `.env` file."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / ".env").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("agent", ["shop.agent:reply", "adk:shop", "pydantic-ai:shop.agent:reply"])
def test_the_agents_folder_wins_over_the_configs(agent: str) -> None:
    """The first file that sets a variable decides."""
    put("shop", "FAIRTRIAL_KEY=agent")
    put("evals", "FAIRTRIAL_KEY=config")
    read_environment(agent=agent, config="evals/test_config.json")
    assert os.environ["FAIRTRIAL_KEY"] == "agent"


def test_beside_the_config_is_looked_second() -> None:
    """What the agent's folder does not say, the config's does."""
    put("evals", "FAIRTRIAL_KEY=config")
    read_environment(agent="shop.agent:reply", config="evals/test_config.json")
    assert os.environ["FAIRTRIAL_KEY"] == "config"


def test_without_config_it_is_beside_the_eval_set() -> None:
    """An eval set may be a file or a folder."""
    put("evals", "FAIRTRIAL_KEY=set")
    read_environment(paths=["evals"])
    assert os.environ["FAIRTRIAL_KEY"] == "set"


def test_the_environment_wins_over_both() -> None:
    """What is set already stays."""
    os.environ["FAIRTRIAL_KEY"] = "mine"
    put("evals", "FAIRTRIAL_KEY=set")
    read_environment(paths=["evals/a.evalset.json"])
    assert os.environ["FAIRTRIAL_KEY"] == "mine"


def test_an_agent_on_the_network_has_no_folder() -> None:
    """A URL is no path."""
    put("http", "FAIRTRIAL_KEY=wrong")
    read_environment(agent="http://127.0.0.1:1/v1")
    assert "FAIRTRIAL_KEY" not in os.environ


def test_a_file_that_is_no_text_is_named() -> None:
    """Bytes that are no UTF-8 are a UsageError."""
    Path(".env").write_bytes(b"FAIRTRIAL_KEY=\xff")
    with pytest.raises(UsageError, match=r"\.env: cannot be read"):
        read_environment(paths=["."])
