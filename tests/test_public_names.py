"""Is what `import assay` offers complete, sorted and light?"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import assay

_SOURCE = ast.parse(Path(assay.__file__).read_text(encoding="utf-8"))


def typed_names() -> dict[str, str]:
    """The names under `if TYPE_CHECKING:`, with their modules."""
    (block,) = (node for node in _SOURCE.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_names_are_sorted() -> None:
    """`__all__` is in order, without doubles."""
    assert assay.__all__ == sorted(set(assay.__all__))


@pytest.mark.parametrize("name", assay.__all__)
def test_each_name_is_what_its_home_says(name: str) -> None:
    """Each public name can be imported, and is the object of its module."""
    assert getattr(assay, name) is getattr(importlib.import_module(assay._HOMES[name]), name)


def test_type_checkers_see_the_same_names() -> None:
    """What type checkers read is what is imported when first used."""
    assert typed_names() == assay._HOMES


def test_dir_tells_the_public_names() -> None:
    """`dir(assay)` lists what there is to use."""
    assert dir(assay) == sorted([*assay.__all__, "__version__"])


def test_unknown_names_are_attribute_errors() -> None:
    """A name that does not exist is said to be missing."""
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        getattr(assay, "evaluat")  # noqa: B009  (the type checker knows too that it is missing)


def test_importing_is_light() -> None:
    """`import assay` loads nothing but itself."""
    code = "import sys, assay; print(*[one for one in sys.modules if one.partition('.')[0] in sys.argv])"
    heavy = ["sqlalchemy", "rich", "nltk", "numpy", "msgspec", "click"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


@pytest.mark.parametrize("name", ["score", "value"])
def test_a_function_is_not_hidden_by_the_submodule_of_its_name(name: str) -> None:
    """`assay.score` and `assay.value` are functions at every use, also after their submodules were used."""
    code = (
        f"import assay, assay.{name}\n"
        "import assay.value.novelty\n"
        f"from assay import {name}\n"
        f"assert callable({name}) and assay.{name} is {name}\n"
        f"assert callable(assay.{name})\n"
        "from assay.value.novelty import VectorCache\n"
        "assert VectorCache is assay.VectorCache\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
