"""The parts of the architecture that import-linter does not check."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

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
