"""Do the parts of the package keep to their places?"""

from __future__ import annotations

import ast
from pathlib import Path

import fairtrial

_PACKAGE = Path(fairtrial.__file__).parent


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
