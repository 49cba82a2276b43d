"""Names of a package that are imported when they are first used. Its `__init__.pyi` says where they are."""

from __future__ import annotations

import importlib
import os
from importlib.machinery import ModuleSpec

_WIDTH = 100


class LazyNames:
    """The names of a package, read from its stub: lines as `from module import name as name`, below headings.

    A comment is the heading of the lines below it. Lines above the first heading belong to the heading "". No module
    is imported that Python has not imported at its start, so that the package stays as light as an empty one.
    """

    def __init__(self, package: ModuleSpec) -> None:
        """Read the stub beside the package's file. The package's loader reads it, so that a package in a zip works."""
        stub = os.path.join(os.path.dirname(str(package.origin)), "__init__.pyi")  # noqa: PTH118, PTH120  (light)
        self.package = package.name
        self.homes: dict[str, str] = {}
        """The module of each name."""
        self.groups: dict[str, list[str]] = {}
        """The names below each heading."""
        heading = ""
        for line in package.loader.get_data(stub).decode().splitlines():  # type: ignore[union-attr]
            if line.startswith("# ") and not line.startswith("# ruff: "):
                heading = line.removeprefix("# ")
            elif line.startswith("from "):
                _, module, _, name, *_ = line.split()
                if not name.startswith("__"):
                    self.homes[name] = module
                    self.groups.setdefault(heading, []).append(name)

    def load(self, name: str) -> object:
        """Import a name from its module."""
        if name not in self.homes:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self.homes[name]), name)

    def describe(self) -> str:
        """Return the names below their headings, in lines of at most 100 characters."""
        return "\n".join(line for heading, names in self.groups.items() for line in ["", heading, *_wrap(names)])


def _wrap(names: list[str]) -> list[str]:
    lines = [f"    {names[0]}"]
    for name in names[1:]:
        lines[-1] += ","
        if len(lines[-1]) + len(name) + 1 < _WIDTH:
            lines[-1] += f" {name}"
        else:
            lines.append(f"    {name}")
    return lines
