"""Files and requests that are packed."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from fairtrial.system.zstandard import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}
"""What packs data, by the name of the packing in HTTP."""
