"""Import Python objects by import path."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
import traceback
from pathlib import Path
from typing import Any

from fairtrial.errors import ConfigError, UsageError, lacks_extra, list_packages, nearest

_SITES = ("site-packages", "dist-packages")
FILE_PREFIX = "fairtrial_file_"
"""The beginning of the names of modules that were imported from a file. Another process cannot import them by name."""


def import_path(path: str, pointer: str) -> Any:
    """Return the callable at `package.module.name` or `package.module:name`, as `import_object` does."""
    target = import_object(path, pointer)
    if not callable(target):
        raise ConfigError(f"{pointer}: must be callable, got {path!r}, a {type(target).__name__}", code="cannot-import")
    return target


def import_object(path: str, pointer: str) -> Any:
    """Return the object at `package.module.name`, `package.module:name` or `folder/file.py:name`.

    The current folder is importable, and its folder `src` if it has one. A file of a package is imported as a module of
    its package, so that its relative imports work.

    Raises ConfigError if there is no such object. Importing runs the module, so the author of a configuration is
    trusted.
    """
    module_name, _, name = path.rpartition(":") if ":" in path else path.rpartition(".")
    if module_name.endswith(".py"):
        return _object_of_file(Path(module_name), name, pointer)
    if not module_name or not name or "/" in module_name:
        raise ConfigError(
            f"{pointer}: must be an import path such as 'package.module.function', got {path!r}", code="cannot-import"
        )
    here = str(Path.cwd())
    _make_importable(Path.cwd())
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"{pointer}: cannot import {module_name!r}: {import_failure(error)}{_nearest_module(error, here)}"
        raise ConfigError(problem, code="cannot-import") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(
            f"{pointer}: {module_name!r} has no {name!r}{nearest(name, dir(module))}", code="cannot-import"
        ) from None


def _make_importable(folder: Path) -> None:
    """Put a folder on the path of imports, and its folder `src` behind it."""
    for place in (folder / "src", folder):
        if str(place) not in sys.path and place.is_dir():
            sys.path.insert(0, str(place))


def _object_of_file(file: Path, name: str, pointer: str) -> Any:
    """Return an object of a Python file. Its folder is importable for the file, as for a script."""
    if not file.is_file():
        raise ConfigError(f"{pointer}: {file}: no such file", code="cannot-import")
    if (file.resolve().parent / "__init__.py").is_file():
        return _object_of_package(file.resolve(), name, pointer)
    # Two folders may hold files of the same name, so that the module is named by its whole path.
    module_name = f"{FILE_PREFIX}{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # the suffix is .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ConfigError(f"{pointer}: cannot import {file}: {import_failure(error)}", code="cannot-import") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(
            f"{pointer}: {file} has no {name!r}{nearest(name, dir(module))}", code="cannot-import"
        ) from None


def _object_of_package(file: Path, name: str, pointer: str) -> Any:
    """Return an object of a file in a package."""
    root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    _make_importable(root)
    parts = file.relative_to(root).with_suffix("").parts
    return import_object(f"{'.'.join(parts)}:{name}", pointer)


def import_failure(error: BaseException) -> str:
    """Return the error that a user's module raised when it was imported, with the line of the user's code."""
    line = "" if isinstance(error, SyntaxError) else user_line(error)
    return f"{type(error).__name__}: {error}{line and f' ({line})'}"


def user_line(error: BaseException) -> str:
    """Return the innermost line of the traceback outside this package, Python and installed packages."""
    for link in (error.__cause__, error):
        frames = traceback.extract_tb(link.__traceback__) if link is not None else []
        user_frames = [frame for frame in frames if not is_library(frame.filename)]
        if user_frames:
            path = user_frames[-1].filename.removeprefix(f"{Path.cwd()}/")
            return f"{path}, line {user_frames[-1].lineno}"
    return ""


def is_library(filename: str) -> bool:
    """Return whether a file of a traceback belongs to this package, to Python or to an installed package."""
    is_installed = any(name in Path(filename).parts for name in _SITES)
    return is_installed or filename.startswith(("<", *_library_folders()))


@functools.cache
def _library_folders() -> tuple[str, ...]:
    import sysconfig

    paths = sysconfig.get_paths()
    package = Path(__file__).parent.parent  # its adapters call the user's code, and are none of it
    return (*(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(package))


def _nearest_module(error: BaseException, here: str) -> str:
    """Return a hint at the nearest existing module, from the same package or from the current folder."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    package, dot, name = error.name.rpartition(".")
    folders = getattr(sys.modules.get(package), "__path__", []) if dot else [here]
    near = nearest(name, (module.name for module in pkgutil.iter_modules(folders)))
    return near.replace("mean '", f"mean '{package}{dot}")


def import_extra(module_name: str, extra: str) -> Any:
    """Return a module of an optional dependency. Raises UsageError that names the extra to install."""
    check_versions(extra)
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"{lacks_extra(module_name, extra)} ({error})", code="missing-package") from None


@functools.cache
def check_versions(extra: str) -> None:
    """Raise UsageError if an installed package is older than an extra wants. The metadata of fairtrial says so."""
    from importlib.metadata import PackageNotFoundError, version

    for requirement in list_packages(extra):
        name, floor = read_floor(requirement)
        if not floor:
            continue
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if is_older(installed, floor):
            raise UsageError(
                f"needs {name} >= {floor}, found {installed}: pip install '{requirement}'", code="missing-package"
            )


def read_floor(requirement: str) -> tuple[str, str]:
    """Return the name of a package and its oldest version, which is empty if every version will do."""
    pin = re.match(r"([\w.-]+)(?:\[[^]]*\])?(?:>=([\d.]+))?", requirement)
    return (pin[1], pin[2] or "") if pin is not None else (requirement, "")


def is_older(installed: str, floor: str) -> bool:
    """Whether a version is older than another."""
    return _numbers(installed) < _numbers(floor)


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version without zeros at the end, for example [1, 39, 1]."""
    release = re.match(r"[\d.]*", version.partition("!")[2] or version)
    numbers = [int(part) for part in release[0].split(".") if part] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
