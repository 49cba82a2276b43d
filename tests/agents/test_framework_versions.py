"""Frameworks that are too old are refused before anything runs, and an own error is never the agent's."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import cast

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from shop import saying

import fairtrial
from commands import enter, eval_set, write
from commands import fairtrial as command
from fairtrial.agents import KINDS
from fairtrial.errors import UsageError, list_packages
from fairtrial.system import importing
from fairtrial.text.display import shorten

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
OF_KINDS = {
    module.EXTRA
    for module in (importlib.import_module(f"fairtrial.agents.{kind.module}") for kind in KINDS.values())
    if hasattr(module, "EXTRA")
}


def installed(folder: Path, name: str, version: str) -> None:
    """Write the metadata of a package, as an installer does."""
    own = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    own.mkdir()
    (own / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_every_framework_has_an_extra_with_a_lowest_version() -> None:
    """The metadata of fairtrial says the same as its project file."""
    assert {extra for extra in EXTRAS if extra.startswith("agents-")} == OF_KINDS
    for extra in OF_KINDS:
        wanted = [Requirement(line) for line in EXTRAS[extra]]
        known = [Requirement(line) for line in list_packages(extra)]
        assert wanted == known
        assert all(str(requirement.specifier).startswith(">=") for requirement in wanted)


@pytest.mark.parametrize("extra", sorted(OF_KINDS))
def test_a_framework_that_is_too_old_is_refused(extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with 2, and names the version that it needs and the one that is there."""
    requirement = Requirement(EXTRAS[extra][-1])
    floor = str(requirement.specifier).removeprefix(">=")
    major, *_ = Version(floor).release
    old = f"{major - 1}.99.9" if major else "0.0.1"
    installed(tmp_path, requirement.name, old)
    importing.check_versions.cache_clear()
    enter(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    write("one.evalset.json", eval_set("good"))
    kind = next(
        name
        for name, own in KINDS.items()
        if getattr(importlib.import_module(f"fairtrial.agents.{own.module}"), "EXTRA", "") == extra
    )
    done = command("run", "one.evalset.json", "--agent", f"{kind}:shop:agent")
    importing.check_versions.cache_clear()
    assert (done.code, done.out) == (2, "")
    assert f"needs {requirement.name} >= {floor}, found {old}" in done.err


def test_the_refusal_names_a_target_without_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework is known only when the module is imported, and the line is the same as with a prefix."""
    pytest.importorskip("pydantic_ai")
    installed(tmp_path, "pydantic-ai-slim", "1.99.9")
    (tmp_path / "old_shop.py").write_text("from pydantic_ai import Agent\n\nagent = Agent()\n")
    importing.check_versions.cache_clear()
    enter(tmp_path, monkeypatch)
    write("one.evalset.json", eval_set("good"))
    monkeypatch.syspath_prepend(tmp_path)
    done = command("run", "one.evalset.json", "--agent", "old_shop:agent")
    importing.check_versions.cache_clear()
    assert done.code == 2
    assert "fairtrial: --agent old_shop:agent: needs pydantic-ai-slim >= 2.60, found 1.99.9" in done.err


@pytest.mark.parametrize(("found", "is_old"), [("2.9.9", True), ("2.12", False), ("2.12.0rc1", False), ("3", False)])
def test_versions_are_compared_as_numbers(
    found: str, is_old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.9 is older than 2.12."""
    installed(tmp_path, "google-adk", found)
    monkeypatch.syspath_prepend(tmp_path)
    importing.check_versions.cache_clear()
    problem = ""
    try:
        importing.check_versions("agents-adk")
    except UsageError as error:
        problem = str(error)
    importing.check_versions.cache_clear()
    assert bool(problem) == is_old


def test_an_error_of_ours_is_never_the_agents() -> None:
    """The message says that it is a defect of fairtrial, with the line. A function of ours stands for an adapter."""
    run = fairtrial.evaluate(saying("hello"), lambda _: shorten(cast("str", None), 3), {"response_match_score": 0.5})
    failure = run.cases[0].failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert "TypeError" in failure.cause
    assert re.search(r"a defect of fairtrial, .*: text/display.py, line \d+\)", failure.cause)
