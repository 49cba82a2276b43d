"""Options of plans, given by their names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fairtrial.api import ReadOptions, RunOptions


def with_records(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a plan, with the options of reading and of the run in their records."""
    names = {record: [field.name for field in fields(record)] for record in (ReadOptions, RunOptions)}
    rest = {name: value for name, value in given.items() if all(name not in found for found in names.values())}
    reading, run = (record(**{name: given[name] for name in found if name in given}) for record, found in names.items())
    return {**rest, "reading": reading, "run": run}
