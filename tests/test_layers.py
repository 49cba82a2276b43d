"""The layers of the package: unknown fields stay in the formats, and new parts stay closed to front ends."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import fairtrial

_PACKAGE = Path(fairtrial.__file__).parent


@pytest.mark.long
def test_extra_is_read_by_formats_only() -> None:
    """`extra` holds what no field holds, for writing a file back. What has a meaning has a field."""
    sources = [path for path in _PACKAGE.rglob("*.py") if "formats" not in path.relative_to(_PACKAGE).parts]
    reads = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "extra"
    ]
    assert len(sources) > 100
    assert reads == []


FRONT_ENDS = {"cli", "pytest_plugin", "view", "__main__"}
OPEN_TO_FRONT_ENDS = {
    *("api", "records", "errors", "text", "testing", "protocols"),
    *("version", "system"),
}


def test_the_contract_of_front_ends_names_every_other_part() -> None:
    """A new part of the package is closed to front ends, unless somebody opens it."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["name"].startswith("Front ends import api")
    )
    closed = {name.removeprefix("fairtrial.") for name in contract["forbidden_modules"]}
    parts = {path.stem for path in _PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} == closed | FRONT_ENDS | OPEN_TO_FRONT_ENDS
