"""Files and requests that are packed."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}
"""What packs data, by the name of the packing in HTTP."""
