"""The files of a scored data set's folder, for comparisons between two runs."""

from __future__ import annotations

from io import BytesIO
from typing import Any

RUN_COLUMNS = ("run", "run_started")
"""The columns that name the run, and differ between two runs over the same data."""


def without_run(content: bytes) -> Any:
    """Return the rows of a Parquet file without the columns that name the run. Other content stays as it is."""
    import pyarrow.parquet as pq

    if not content.startswith(b"PAR1"):
        return content
    table = pq.read_table(BytesIO(content))
    return table.drop_columns([name for name in RUN_COLUMNS if name in table.column_names]).to_pylist()
