"""How do eval sets and recordings get from files into a Python program, and back?"""

from __future__ import annotations

from pathlib import Path

from fairtrial.api.arguments import Paths, paths_of
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.loading import as_recording, read_file, recordings_of, sources
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet


def load_eval_set(path: str | Path, *, lenient: bool = False) -> EvalSet:
    """Return the eval set in a file of any format that we read; raises FormatError with every problem in it."""
    loaded, _ = read_file(Path(path), lenient=lenient)
    if loaded.eval_set is None:
        raise FormatError(str(path), [f"holds {loaded.kind}, where an eval set is needed"])
    return loaded.eval_set


def save_eval_set(eval_set: EvalSet, path: str | Path) -> None:
    """Write an eval set in ADK's current schema, whatever it was read from; unknown keys are written back."""
    try:
        data = dumps(eval_set)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the eval set {eval_set.id!r} must hold JSON only: {error}") from error
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def load_recordings(paths: Paths, *, lenient: bool = False) -> list[Recording]:
    """Return what files recorded, in order; raises UsageError with every problem in them."""
    found = sources(paths_of(paths, "paths must be a path or several"), lenient=lenient, recorded=True)
    return list(map(as_recording, recordings_of(found)))
