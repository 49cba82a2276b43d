"""The names that `import fairtrial` offers are complete, sorted and light."""

from __future__ import annotations

import ast
import importlib
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairtrial
from fairtrial.metrics.entries import CATALOG
from fairtrial.system.lazy_names import LazyNames

_STUB = ast.parse(Path(fairtrial.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
_NAMES = LazyNames(fairtrial.__spec__)


def typed_names() -> dict[str, str]:
    """The names that the stub imports, with their modules."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in _STUB.body
        if isinstance(node, ast.ImportFrom) and node.module != "fairtrial.version"
        for alias in node.names
    }


def test_names_are_sorted() -> None:
    """`__all__` is in order, without doubles, and names what the stub imports."""
    assert fairtrial.__all__ == sorted(set(fairtrial.__all__)) == sorted(_NAMES.homes)


def test_each_name_is_in_one_group() -> None:
    """The groups have headings, and the names of one group stand together."""
    named = [name for group in _NAMES.groups.values() for name in group]
    assert sorted(named) == fairtrial.__all__
    assert all(_NAMES.groups)


@pytest.mark.long
def test_help_shows_the_groups_before_the_modules() -> None:
    """The description, which pydoc prints first, has each heading and, below it, each name."""
    text = pydoc.plain(pydoc.render_doc(fairtrial)).partition("PACKAGE CONTENTS")[0]
    words = " ".join(text.split())
    for heading, names in _NAMES.groups.items():
        assert f"{heading} {', '.join(names)}" in words


@pytest.mark.parametrize("criterion", CATALOG)
def test_every_criterion_is_public(criterion: str) -> None:
    """Whatever a configuration can name can be made in Python, too."""
    metric = CATALOG[criterion].metric
    assert getattr(fairtrial, metric.__name__) is metric


@pytest.mark.parametrize("name", fairtrial.__all__)
def test_each_name_is_what_its_home_says(name: str) -> None:
    """Each public name can be imported, and is the object of its module."""
    assert getattr(fairtrial, name) is getattr(importlib.import_module(_NAMES.homes[name]), name)


def test_type_checkers_see_the_same_names() -> None:
    """What type checkers read is what is imported when first used."""
    assert typed_names() == _NAMES.homes


def test_tools_that_read_the_source_see_the_public_names() -> None:
    """Tools such as mkdocstrings do not run the module, so `__all__` of the stub is a list of literals."""
    (value,) = (node.value for node in _STUB.body if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node))
    assert ast.literal_eval(value) == sorted(_NAMES.homes)


@pytest.mark.long
def test_a_star_import_and_help_work() -> None:
    """Every public name can be imported, and pydoc documents the functions."""
    names: dict[str, object] = {}
    exec("from fairtrial import *", names)  # noqa: S102  (only a statement of a module can do it)
    assert set(fairtrial.__all__) <= names.keys()
    # From Python 3.14 on, each parameter of a long signature has a line of its own.
    assert re.search(r"evaluate\(\s*eval_set", pydoc.plain(pydoc.render_doc(fairtrial)))


def test_dir_tells_the_public_names() -> None:
    """`dir(fairtrial)` lists what there is to use."""
    assert dir(fairtrial) == sorted([*fairtrial.__all__, "__version__"])


def test_unknown_names_are_attribute_errors() -> None:
    """A name that does not exist is said to be missing."""
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        getattr(fairtrial, "evaluat")  # noqa: B009  (the type checker knows too that it is missing)


def test_importing_is_light() -> None:
    """`import fairtrial` loads nothing but itself."""
    code = "import sys, fairtrial; print(*[one for one in sys.modules if one.partition('.')[0] in sys.argv])"
    heavy = ["sqlalchemy", "rich", "numpy", "msgspec", "click", "typing", "re", "ast"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def test_no_public_name_is_hidden_by_a_submodule() -> None:
    """Importing a submodule binds its name in the package, so no submodule may have a public name."""
    package = Path(fairtrial.__file__).parent
    assert not {path.stem for path in package.iterdir()} & set(fairtrial.__all__)


def test_pages_and_examples_import_public_names_only() -> None:
    """Readers copy the code, so it imports from `fairtrial` and `fairtrial.testing`, never from a module below."""
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("examples/**/*.py")]
    deep = re.compile(r"^(?:from|import) (fairtrial\.(?!testing\b)\S+)", re.MULTILINE)
    assert {page.name: found for page in pages if (found := deep.findall(page.read_text(encoding="utf-8")))} == {}
