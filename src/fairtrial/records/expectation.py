"""Which cases did a run hold, and what did they expect? A report needs it long after the eval set has changed."""

from __future__ import annotations

from fairtrial.records.case import EvalCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record


class ExpectedCase(Record, frozen=True):
    """One case of a run. `position` counts the cases of all eval sets from 0; `name` is how reports call the case."""

    position: int
    name: str
    case: EvalCase
    eval_set: str = ""
    digest: str = ""

    @property
    def key(self) -> CaseKey:
        """The identity of the case in any run."""
        return CaseKey(self.eval_set, self.case.id, self.digest)
