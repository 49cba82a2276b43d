"""Read arrays from a NumPy file, and memory-map the largest of them."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAPPED_SIZE = 2**26
"""An array with at least this many bytes is memory-mapped. Smaller arrays are read, which also checks their sums."""
_LOCAL_HEADER = 30


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that `numpy.savez` wrote, without unpickling. Large arrays are memory-mapped.

    Raises what numpy and zipfile raise for a damaged file, for example ValueError.
    """
    import numpy as np

    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        large = {
            name: _map_member(path, raw, info)
            for info in file.zip.infolist()
            if info.file_size >= MAPPED_SIZE and (name := info.filename.removesuffix(".npy")) in file.files
        }
        return {name: large[name] if name in large else file[name] for name in file.files}


def _map_member(path: Path, raw: BinaryIO, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array of a file without reading it. It stands in the file as it is, because nothing is compressed."""
    import numpy as np

    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.filename} is compressed")
    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise ValueError(f"{member.filename} is not where the file says")
    start = member.header_offset + _LOCAL_HEADER + sum(struct.unpack("<HH", header[-4:]))
    raw.seek(start)
    version = np.lib.format.read_magic(raw)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read_header(raw)
    offset = raw.tell()
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if dtype.hasobject or offset - start + size != member.file_size:
        raise ValueError(f"{member.filename} does not have the size that it says")
    return np.memmap(path, dtype, "r", offset, shape, "F" if is_fortran else "C")
