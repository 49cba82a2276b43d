"""The parts of the architecture that import-linter does not check."""

from __future__ import annotations

import re
from collections import defaultdict
from graphlib import TopologicalSorter
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
