"""Installed packages can add a kind of agent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import CRITERIA, saying

import fairtrial
from fairtrial import agents
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with two entry points, as pip installs it."""
    info = tmp_path / "toy_agents-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-agents\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fairtrial.agents]\ntoy = toy_agents\nbroken = toy_agents_nowhere\n")
    (tmp_path / "toy_agents.py").write_text(
        "from fairtrial.agents.function import FunctionAgent\n"
        "from fairtrial.errors import UsageError\n"
        "def agent_at(target):\n"
        "    if target == 'toy:':\n        raise UsageError('must name a toy')\n"
        "    return FunctionAgent(lambda conversation: target)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    agents._plugins.cache_clear()
    yield
    agents._plugins.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_package_adds_a_kind_of_target() -> None:
    """The module gets the whole target."""
    run = fairtrial.evaluate(saying("hello"), "toy:a:b", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.trace.invocations[0].reply == "toy:a:b"


@pytest.mark.usefixtures("installed")
def test_a_package_that_cannot_be_imported_is_told() -> None:
    """The message names the entry point and the problem."""
    with pytest.raises(UsageError, match=r"the entry point 'broken' of fairtrial\.agents cannot be loaded: No module"):
        find_agent("broken:a")


def test_without_a_package_the_kind_is_unknown() -> None:
    """The prefix is then a module, which does not exist."""
    with pytest.raises(UsageError):
        find_agent("toy:a:b")
