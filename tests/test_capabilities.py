"""The stages ask objects for declared capabilities, and not for their classes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import fairtrial
from fairtrial import protocols
from fairtrial.llm import model_pool
from fairtrial.records import attempt, case, result, trace

SOURCE = Path(inspect.getfile(fairtrial)).parent
STAGES = [
    # The loop marks tasks of asyncio with the work that they belong to.
    *(file for file in sorted(SOURCE.glob("*.py")) if file.stem != "event_loop"),
    SOURCE / "metrics" / "fault.py",
    SOURCE / "simulate" / "observed_environment.py",
    *(file for name in ("api", "loading", "reports") for file in sorted((SOURCE / name).glob("*.py"))),
]
READERS = [
    *STAGES,
    SOURCE / "metrics" / "exams" / "canaries.py",
    # What a library of graphs returns has attributes that we do not declare.
    *(file for file in sorted((SOURCE / "valuation").glob("*.py")) if file.stem != "approximate_search"),
]
FAMILIES = tuple(f"fairtrial.{family}" for family in ("metrics", "simulate", "judge", "agents", "valuation"))


def imported(tree: ast.AST) -> dict[str, str]:
    """The module that each imported name is from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def calls(tree: ast.AST, function: str) -> Iterator[ast.Call]:
    """The calls of a built-in function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def concrete_checks(source: str) -> list[str]:
    """The classes of a family that `isinstance` is asked about."""
    tree = ast.parse(source)
    modules = imported(tree)
    classes = [
        name.id for call in calls(tree, "isinstance") for name in ast.walk(call.args[1]) if isinstance(name, ast.Name)
    ]
    return [name for name in classes if modules.get(name, "").startswith(FAMILIES)]


def declared() -> set[str]:
    """The attributes that protocols and records declare."""
    names: set[str] = set()
    for module in (protocols, model_pool, attempt, case, result, trace):
        for value in vars(module).values():
            if isinstance(value, type) and (getattr(value, "_is_protocol", False) or issubclass(value, msgspec.Struct)):
                names |= set(vars(value)) | set(inspect.get_annotations(value))
    return names


def undeclared_reads(source: str) -> list[str]:
    """The attributes that `getattr` or `hasattr` read by a literal name, and that nothing declares.

    Attributes of the language itself, such as `__qualname__`, need no declaration.
    """
    tree = ast.parse(source)
    literals = [call.args[1] for function in ("getattr", "hasattr") for call in calls(tree, function)]
    names = [name.value for name in literals if isinstance(name, ast.Constant)]
    return [str(name) for name in names if name not in declared() and not str(name).startswith("__")]


@pytest.mark.parametrize("file", STAGES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_stages_know_no_class_of_a_family(file: Path) -> None:
    """A metric, a simulator, a judge or an agent of a user has the same standing as ours."""
    assert concrete_checks(file.read_text(encoding="utf-8")) == []


@pytest.mark.long
@pytest.mark.parametrize("file", READERS, ids=lambda file: str(file.relative_to(SOURCE)))
def test_stages_read_only_attributes_that_are_declared(file: Path) -> None:
    """Whoever writes a class can see in a protocol which of its attributes are read."""
    assert undeclared_reads(file.read_text(encoding="utf-8")) == []


def test_the_checks_find_what_they_look_for() -> None:
    """A class of a family, alone or in a union; an attribute that no protocol has."""
    source = """
from fairtrial.metrics.response import ResponseMatch
from fairtrial.protocols import ReportsUsage
if isinstance(metric, ResponseMatch | int) and isinstance(user, ReportsUsage):
    getattr(user, "model_usage", None), getattr(user, "mood", None), getattr(user, "__doc__")
"""
    assert (concrete_checks(source), undeclared_reads(source)) == (["ResponseMatch"], ["mood"])
