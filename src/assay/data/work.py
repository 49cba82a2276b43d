"""What there is to do: one case, and the criteria that its file or its user asks for."""

from __future__ import annotations

from assay.data.case import EvalCase
from assay.data.noun import Noun
from assay.data.outcome import Criterion


class Work(Noun, frozen=True):
    """One case at its place in the input. `id` is the case's, made unique where two eval sets share one."""

    position: int
    id: str
    case: EvalCase
    criteria: tuple[Criterion, ...]
    eval_set_id: str = ""
