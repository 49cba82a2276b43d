"""Write the files of a mutation report, the same at its end and from the store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial import api
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.records.mutation import MutationReport

_STDOUT = Path("-")
_FORMATS: dict[str, Callable[[MutationReport], bytes]] = {
    "json": lambda report: api.encode_document(report),  # noqa: PLW0108  (a help imports no report)
    "markdown": lambda report: api.mutation_markdown(report).encode(),
    "html": lambda report: api.mutation_html(report).encode(),
    "junit": lambda report: api.mutation_junit(report),  # noqa: PLW0108
}


def check_formats(names: Mapping[str, object]) -> None:
    """Raise UsageError for a format that mutation testing does not have."""
    unknown = [f"--{name}" for name in names if name not in _FORMATS]
    if unknown:
        options = ", ".join(f"--{name}" for name in _FORMATS)
        raise UsageError(
            f"mutation testing has the reports {options}; got {', '.join(unknown)}", code="options-conflict"
        )


def write_mutation_files(report: MutationReport, paths: Mapping[str, Path]) -> None:
    """Write a report to files, by the names of their formats. The path - is standard output."""
    for name, path in paths.items():
        content = _FORMATS[name](report)
        if path == _STDOUT:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
