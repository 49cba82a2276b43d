"""Which Python object does an import path mean?"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, UsageError, nearest


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
    if not module_name or not name:
        raise ConfigError(f"{pointer}: must be an import path such as 'package.module.function', got {path!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{pointer}: cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{pointer}: {module_name!r} has no {name!r}{nearest(name, dir(module))}") from None


def import_extra(module_name: str, extra: str) -> Any:
    """Return a module of an optional dependency; raises UsageError that names the extra which brings it."""
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"needs the extra {extra!r}: pip install 'agent-assay[{extra}]' ({error})") from None
