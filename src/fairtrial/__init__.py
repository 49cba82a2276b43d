"""Evaluates AI agents, and says how sure you can be of the result.

Five stages, each taking what the one before it gives:

1. load       files -> eval sets, criteria, recordings
2. record     eval set x agent -> recordings (skipped if traces are already recorded)
3. score      recordings x criteria -> case results
4. aggregate  case results -> summary
5. report     summary -> terminal, JSON, JUnit, HTML, Markdown, Parquet, ADK

`evaluate` runs all of them on an agent, `score` on what was recorded elsewhere.
"""

from __future__ import annotations

from fairtrial.system.lazy_names import LazyNames
from fairtrial.version import __version__ as __version__

_NAMES = LazyNames(__spec__)
__all__ = sorted(_NAMES.homes)  # noqa: PLE0605  (`__init__.pyi` lists the names for tools that read the source)
__doc__ = f"{__doc__ or ''}{_NAMES.describe()}"  # Python leaves it out with -OO
__getattr__ = _NAMES.load


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
