"""How is NLTK's Porter stemmer had without the rest of NLTK, whose import takes longer than a small run?"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_PORTER = "nltk.stem.porter"
_PACKAGES = ("nltk", "nltk.stem")


@cache
def stemmer() -> Any:
    """Return NLTK's Porter stemmer in its default mode.

    Where NLTK is not imported yet, its packages are stood in for by empty ones while the stemmer's own two modules
    load, so that nobody else meets a half NLTK.
    """
    spec = importlib.util.find_spec("nltk")
    if "nltk" not in sys.modules and spec is not None and spec.submodule_search_locations:
        try:
            return _alone(next(iter(spec.submodule_search_locations)))
        except ImportError:
            pass  # another NLTK than we know: all of it, then
    return importlib.import_module(_PORTER).PorterStemmer()


def _alone(folder: str) -> Any:
    try:
        for name in _PACKAGES:
            sys.modules[name] = _empty(name, folder + name.removeprefix("nltk").replace(".", "/"))
        return importlib.import_module(_PORTER).PorterStemmer()
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "nltk"]:
            del sys.modules[name]


def _empty(name: str, folder: str) -> ModuleType:
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [folder]
    return module_from_spec(spec)
