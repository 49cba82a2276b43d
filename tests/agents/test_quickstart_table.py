"""The table of frameworks and features on the page is that of the tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from quickstarts import FEATURES, QUICKSTARTS, write_table

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "agents.md"


def test_the_page_holds_the_table() -> None:
    """`quickstarts.py` is its source."""
    assert write_table() in PAGE.read_text()


@pytest.mark.parametrize("framework", QUICKSTARTS)
def test_every_right_cell_has_a_test(framework: str) -> None:
    """A test that was renamed or removed takes its cell with it."""
    for feature, place in QUICKSTARTS[framework].items():
        assert feature in FEATURES
        file, _, name = place.removeprefix("!").partition(":")
        functions = {node.name for node in ast.parse((HERE / file).read_text()).body if hasattr(node, "name")}
        assert name in functions
