"""Arguments with which an interrupted run is resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial import api
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.records.run import RunInfo


def earlier_run(store: str, run_id: str, kind: str) -> RunInfo:
    """Return the stored run that a command continues. Raises UsageError if it is a run of another command."""
    if store == "none":
        raise UsageError("--resume needs the store of the run, got --store none", code="missing-option")
    info = api.reread(store, run_id).info
    if info.kind != kind:
        raise UsageError(
            f"--resume {info.id}: is a run of `fairtrial {info.kind}`; start that command again instead",
            code="unusable-run",
        )
    return info


def read_arguments(earlier: RunInfo, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an earlier run by the same names. Arguments that are given again must be equal."""
    for name, value in arguments.items():
        stored = earlier.config.get(name)
        if value is not None and value != stored:
            problem = f"{name} must be {stored!r} as in the run, got {value!r}"
            raise UsageError(f"--resume {earlier.id}: {problem}", code="cannot-resume")
    return {name: earlier.config.get(name) for name in arguments}
