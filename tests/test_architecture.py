"""The parts of the architecture that import-linter does not check."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import fairtrial

PACKAGE = Path(fairtrial.__file__).parent
ROOT = Path(__file__).parents[1]
OLD_NAME = re.compile(rb"(?<!agent)as" rb"say", re.IGNORECASE)  # AgentAssay is another project


def test_no_two_modules_have_the_same_name() -> None:
    """A module is named by its file alone, for example in a traceback, so every name stands for one module."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if path.stem != "__init__":
            places[path.stem].append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.long
def test_nothing_keeps_the_old_name() -> None:
    """The old name would be confused with another package on the index, so that there is no alias of it either."""
    folders = [ROOT / name for name in ("src", "tests", "docs", "examples", "benchmarks", "ui/src", ".ci")]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    files += [file for file in ROOT.iterdir() if file.is_file()]
    names = {str(file.relative_to(ROOT)): file for file in files}
    assert len(names) > 1000
    assert [name for name, file in names.items() if OLD_NAME.search(name.encode() + file.read_bytes())] == []


def test_no_module_of_the_page_imports_itself() -> None:
    """Also not through others, and not for a type alone. import-linter reads only Python."""
    files = [file for file in (ROOT / "ui" / "src").iterdir() if file.suffix in (".ts", ".tsx")]
    assert len(files) > 30
    imports = {file.stem: re.findall(r'from "\./(\w+)"', file.read_text(encoding="utf-8")) for file in files}
    assert set(TopologicalSorter(imports).static_order()) == set(imports)


def _imported(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    return names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def test_each_bench_finds_the_modules_of_this_project() -> None:
    """A bench adds folders of the tests to its path. A moved module or folder would stop it at its first line."""
    support = {path.stem for path in (ROOT / "tests" / "support").glob("*.py")}
    lacking = []
    for file in sorted((ROOT / "benchmarks").rglob("*.py")):
        text, modules = file.read_text(encoding="utf-8"), _imported(file)
        lacking += [(file.name, name) for name in modules if name.startswith("fairtrial") and not find_spec(name)]
        if {name.split(".")[0] for name in modules} & support and '"tests" / "support"' not in text:
            lacking.append((file.name, "tests/support"))
    assert lacking == []


LONGEST_CHAIN = 20
"""The largest number of modules of which each imports the next while it loads."""


@cache
def _modules() -> dict[str, ast.Module]:
    """Return the modules of the package by their names, those without a class up to their first function.

    Ruff allows no import below it (E402), and most of the time goes into the bodies of functions.
    """
    trees = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if not file.is_relative_to(PACKAGE / "examples"):
            text = file.read_text(encoding="utf-8")
            name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            trees[name] = ast.parse(text if "\nclass " in text else re.split(r"(?m)^(?:async )?def |^@", text)[0])
    return trees


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _loading_imports(node: ast.AST) -> Iterator[str]:
    """Yield what a module imports while it loads: neither in a function nor for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "relative imports are not followed"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.stmt | ast.excepthandler) and not (
            _is_for_types(child) or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            yield from _loading_imports(child)


@pytest.mark.long
def test_no_chain_of_imports_has_more_than_20_modules() -> None:
    """Whoever reads a module reads what it builds on. An import that only annotations need is no link of a chain."""
    graph = {
        name: {target if target in _modules() else target.rpartition(".")[0] for target in _loading_imports(tree)}
        for name, tree in _modules().items()
    }
    assert sum(targets != set() for targets in graph.values()) > 500
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        if name in graph:
            longest = max((chains[target] for target in graph[name] if target in chains), key=len, default=[])
            chains[name] = [name, *longest]
    assert [chain for chain in chains.values() if len(chain) > LONGEST_CHAIN] == []


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Return what `from` imports of a tree bring, by the name that it has there."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


def _records(classes: dict[str, tuple[ast.ClassDef, list[str]]]) -> set[str]:
    """Return the names of the classes below `msgspec.Struct`."""
    records = {"msgspec.Struct"}
    while more := {name for name, (_, bases) in classes.items() if records.intersection(bases)} - records:
        records |= more
    return records


@pytest.mark.long
def test_types_that_are_read_at_run_time_are_imported_at_run_time() -> None:
    """Annotations of records are read by msgspec, and those of criteria by the reader of options.

    Ruff wants such an import under TYPE_CHECKING if `runtime-evaluated-base-classes` in pyproject.toml lacks the base.
    """
    classes: dict[str, tuple[ast.ClassDef, list[str]]] = {}
    for name, tree in _modules().items():
        names = _imported_names(tree)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                bases = map(ast.unparse, node.bases)
                classes[f"{name}.{node.name}"] = (
                    node,
                    [base if "." in base else names.get(base, f"{name}.{base}") for base in bases],
                )
    records = _records(classes)
    assert len(records) > 400
    lacking = []
    for name, (node, _) in classes.items():
        used = set().union(*(_names_in(field.annotation) for field in node.body if isinstance(field, ast.AnnAssign)))
        if name in records or "Annotated" in used:
            module = _modules()[name.rpartition(".")[0]]
            for_types = set().union(*(_imported_names(block) for block in module.body if _is_for_types(block)))
            lacking += [f"{name}: {lack}" for lack in sorted(used & for_types)]
    assert lacking == []
