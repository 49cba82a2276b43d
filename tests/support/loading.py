"""Files and cases for the tests of loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from builders import eval_set, said
from fairtrial.loading import LoadedSet, plan_cases, select_cases
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase, EvalSet

SET = eval_set({"user_content": said("hi")})


def written(folder: Path, name: str, document: Any) -> Path:
    """A file with a JSON document."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def config(**criteria: float) -> dict[str, Any]:
    """A configuration."""
    return {"criteria": criteria}


def todo(*sets: EvalSet, only: tuple[str, ...] = ()) -> list[PlannedCase]:
    """The cases of these sets that are chosen."""
    wanted = [LoadedSet(one, ()) for one in sets]
    return select_cases(plan_cases(wanted), wanted, only)


def cases(name: str, *ids: str) -> EvalSet:
    """An eval set of empty cases."""
    return EvalSet(name, tuple(EvalCase(one) for one in ids))
