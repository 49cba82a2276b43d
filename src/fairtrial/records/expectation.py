"""The cases of a run. Reports need them even if the file of the eval set has changed since."""

from __future__ import annotations

from fairtrial.records.case import EvalCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record


class ExpectedCase(Record, frozen=True):
    """One case of a run. `position` counts the cases of all eval sets from 0. Reports call the case `name`."""

    position: int
    name: str
    case: EvalCase
    eval_set: str = ""
    digest: str = ""

    @property
    def key(self) -> CaseKey:
        """The identity of the case in any run."""
        return CaseKey(self.eval_set, self.case.id, self.digest)
