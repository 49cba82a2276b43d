"""How can NLTK's Porter stemmer be imported without the rest of NLTK, which takes longer than a small run?"""

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

    If NLTK is not imported yet, empty packages take its place while the two modules of the stemmer load. They are
    removed afterwards, so that other code still imports the whole NLTK.
    """
    spec = importlib.util.find_spec("nltk")
    if "nltk" not in sys.modules and spec is not None and spec.submodule_search_locations:
        try:
            return _alone(next(iter(spec.submodule_search_locations)))
        except ImportError:
            pass  # This version of NLTK is laid out differently: import all of it.
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
