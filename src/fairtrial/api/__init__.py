"""Everything that a front end may use: the stages composed, and the options that they take.

`api` is the only package that knows two stages. `__init__.pyi` says where each name is. It is imported when it is first
used, so that a command loads only the modules that it needs.
"""

from __future__ import annotations

from fairtrial.system.lazy_names import LazyNames

_NAMES = LazyNames(__spec__)
__all__ = sorted(_NAMES.homes)  # noqa: PLE0605  (`__init__.pyi` lists the names for tools that read the source)
__getattr__ = _NAMES.load


def __dir__() -> list[str]:
    return __all__
