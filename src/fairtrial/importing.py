"""Which Python object does an import path mean?"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from pathlib import Path
from typing import Any

from fairtrial.errors import ConfigError, UsageError, lacks_extra, nearest


def import_path(path: str, pointer: str) -> Any:
    """Return the callable at `package.module.name` or `package.module:name`, as `import_object` does."""
    found = import_object(path, pointer)
    if not callable(found):
        raise ConfigError(f"{pointer}: must be something to call, got {path!r}, a {type(found).__name__}")
    return found


def import_object(path: str, pointer: str) -> Any:
    """Return what is at `package.module.name` or `package.module:name`; the current folder is importable.

    Raises ConfigError where there is none. Importing runs the module: a config's author is trusted with that.
    """
    module_name, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not module_name or not name or "/" in module_name:
        raise ConfigError(f"{pointer}: must be an import path such as 'package.module.function', got {path!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"{pointer}: cannot import {module_name!r}: {raised(error)}{_nearest_module(error, here)}"
        raise ConfigError(problem) from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{pointer}: {module_name!r} has no {name!r}{nearest(name, dir(module))}") from None


def raised(error: BaseException) -> str:
    """Return what somebody's module raised while it was imported, and which line of theirs it was."""
    line = "" if isinstance(error, SyntaxError) else _their_line(error)
    return f"{type(error).__name__}: {error}{line and f' ({line})'}"


def _their_line(error: BaseException) -> str:
    """The innermost line on the way to an error that is not ours, Python's or of an installed package."""
    import sysconfig

    paths = sysconfig.get_paths()
    others = (*(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).parent))
    for one in (error.__cause__, error):
        frames = traceback.extract_tb(one.__traceback__) if one is not None else []
        theirs = [frame for frame in frames if not frame.filename.startswith(("<", *others))]
        if theirs:
            path = theirs[-1].filename.removeprefix(f"{Path.cwd()}/")
            return f"{path}, line {theirs[-1].lineno}"
    return ""


def _nearest_module(error: BaseException, here: str) -> str:
    """Offer the nearest module for one that is not there, among those of its package or of the current folder."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    package, dot, name = error.name.rpartition(".")
    folders = getattr(sys.modules.get(package), "__path__", []) if dot else [here]
    near = nearest(name, (module.name for module in pkgutil.iter_modules(folders)))
    return near.replace("mean '", f"mean '{package}{dot}")


def import_extra(module_name: str, extra: str) -> Any:
    """Return a module of an optional dependency; raises UsageError that names the extra which brings it."""
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"{lacks_extra(module_name, extra)} ({error})") from None
