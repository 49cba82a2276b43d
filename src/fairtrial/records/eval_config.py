"""The content of a configuration file, before any metric is built from it."""

from __future__ import annotations

from fairtrial.records.record import Extra, Json, Record
from fairtrial.records.score import Range


class CriterionSpec(Record, frozen=True):
    """One entry of `criteria`: a number, or an object (`is_object`) whose threshold may be absent.

    `pointer` is its place in the file, and `pointers` are those of its options, as they are spelt there.
    """

    name: str
    threshold: Json = None
    options: dict[str, Json] = {}
    pointer: str = ""
    is_object: bool = False
    pointers: dict[str, str] = {}

    def place(self, option: str) -> str:
        """Return the JSON pointer of an option."""
        return self.pointers.get(option, f"{self.pointer}/{option}")


class CustomMetricSpec(Record, frozen=True):
    """One entry of `custom_metrics`: the import path of a function, and the range of its values."""

    name: str
    path: str
    range: Range = Range()
    description: str = ""
    pointer: str = ""


class EvalConfig(Record, frozen=True):
    """The criteria of a run, the users' own metrics, and the options of simulated users and tools."""

    criteria: tuple[CriterionSpec, ...]
    custom_metrics: tuple[CustomMetricSpec, ...] = ()
    user_simulator: dict[str, Json] | None = None
    environment: dict[str, Json] | None = None
    extra: Extra = None
