"""Names of a package are read from its stub, and imported when they are first used."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from fairtrial.system.lazy_names import LazyNames

_PACKAGE = """from fairtrial.system.lazy_names import LazyNames
_NAMES = LazyNames(__spec__)
__getattr__ = _NAMES.load
"""
_STUB = """# ruff: isort: skip_file
from version import __version__ as __version__

# Numbers
from math import pi as pi
from math import tau as tau

# Words
from string import digits as digits
"""


def write_package(name: str, folder: Path) -> None:
    """A zip file with one package, as zipapp makes it."""
    with zipfile.ZipFile(folder / "packed.zip", "w") as packed:
        packed.writestr(f"{name}/__init__.py", _PACKAGE)
        packed.writestr(f"{name}/__init__.pyi", _STUB)


def test_a_package_in_a_zip_file_has_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader of the package reads the stub, which is no file there."""
    write_package("lazily_packed", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    package = importlib.import_module("lazily_packed")
    monkeypatch.delitem(sys.modules, "lazily_packed")
    assert (package.pi, package.digits) == (3.141592653589793, "0123456789")
    with pytest.raises(AttributeError, match="module 'lazily_packed' has no attribute 'e'"):
        _ = package.e
    names: LazyNames = package._NAMES
    assert names.groups == {"Numbers": ["pi", "tau"], "Words": ["digits"]}
    assert names.describe() == "\nNumbers\n    pi, tau\n\nWords\n    digits"
