"""The record of a judge's calibration: its agreement with people, and the corrected numbers of the run."""

from __future__ import annotations

from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.record import Record
from fairtrial.records.summary import Estimate

FEWEST_LABELS = 20
FEWEST_OF_EACH = 5
"""With fewer labels, or with fewer that people pass or that people fail, a judge cannot be called good or bad."""


class AgreementTable(Record, frozen=True):
    """The number of labelled outcomes by the answer of people and of the judge. Weights are not in it."""

    people_pass_judge_pass: int = 0
    people_pass_judge_fail: int = 0
    people_fail_judge_pass: int = 0
    people_fail_judge_fail: int = 0

    @property
    def people_pass(self) -> int:
        """The number of outcomes that people pass."""
        return self.people_pass_judge_pass + self.people_pass_judge_fail

    @property
    def people_fail(self) -> int:
        """The number of outcomes that people fail."""
        return self.people_fail_judge_pass + self.people_fail_judge_fail


class Agreement(Record, frozen=True):
    """The agreement of a judge with people. A number that does not exist has its reason in `reasons`, by its name.

    `accuracy`, `sensitivity`, `specificity`, `youden`, `kappa` and `mcc` are about pass or fail. `quadratic_kappa` and
    `spearman` are about graded values. `judge_alpha` is Krippendorff's alpha of the judge and people: of verdicts, or
    of graded values. `people_alpha` is the alpha among people, which no judge can exceed for long. `votes_alpha` is
    the alpha among the votes of the judge.
    """

    table: AgreementTable | None = None
    accuracy: Estimate = Estimate()
    sensitivity: Estimate = Estimate()
    specificity: Estimate = Estimate()
    youden: Estimate = Estimate()
    kappa: Estimate = Estimate()
    mcc: Estimate = Estimate()
    quadratic_kappa: Estimate = Estimate()
    judge_alpha: Estimate = Estimate()
    spearman: float | None = None
    people_alpha: float | None = None
    votes_alpha: float | None = None
    reasons: dict[str, str] = {}


class LabelledDecisions(Record, frozen=True):
    """The labelled outcomes that a criterion decided before the judge was asked.

    People give `errors` of them another verdict. `error` is their share, the mean over cases. It has no value if the
    labelled outcomes were not drawn with equal chances.
    """

    criterion: str
    labels: int = 0
    errors: int = 0
    error: Estimate = Estimate()


class Calibration(Record, frozen=True):
    """A judge beside people, on one criterion of one run.

    `labels` counts the labelled outcomes that are compared. `ties` are outcomes on which people are split, `unsure`
    outcomes on which nobody could tell, `unscored` labelled outcomes without a value of the judge. `judged` and
    `corrected` are the pass rate, or the mean if the criterion is `graded`: as the judge says, and as people would say.
    `flattery` is by how much the judge's values exceed people's. `worth` is the factor by which the judge multiplies
    the labels. `error` is the standard error of `corrected`, with `freedom` degrees of freedom. `assumed_from` is the
    run whose labels correct this run, if it has no labels of its own. `decisions` are the labelled outcomes that were
    decided without the judge, or None if there are none.
    """

    criterion: str
    judge: str
    state: JudgeState
    graded: bool = False
    labels: int = 0
    labelers: int = 0
    ties: int = 0
    unsure: int = 0
    unscored: int = 0
    agreement: Agreement = Agreement()
    judged: Estimate = Estimate()
    corrected: Estimate = Estimate()
    flattery: Estimate = Estimate()
    worth: float | None = None
    assumed_from: str | None = None
    error: float | None = None
    freedom: int | None = None
    decisions: LabelledDecisions | None = None
