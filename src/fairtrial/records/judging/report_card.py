"""The report card of judges: their results on items with known answers."""

from __future__ import annotations

from fairtrial.records.judging.calibration import Agreement, Calibration
from fairtrial.records.judging.judge_check import CheckResult, RuleRates
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.record import Record
from fairtrial.records.refusal import Refusal
from fairtrial.records.summary import Estimate


class RecordedJudge(Record, frozen=True):
    """One judge on recorded items with labels, or on one group of the items.

    `unreadable` counts the items with a verdict that could not be read.
    If the verdicts of both orders are recorded, `accuracy` is over both, and an item is a case with two attempts. A
    verdict that could not be read is then wrong. With one order it is left out. `orders_agree` is the share of items
    with the same verdict in both orders, and `orders_kappa` its kappa. `first_place` is the share of verdicts for the
    reply that was shown first, less the share of the others. `kappa` compares the first order with the labels.
    `agreement` has more numbers if the labels are pass and fail. A number that does not exist has its reason in
    `reasons`, by its name.
    """

    judge: str
    group: str
    state: JudgeState
    items: int
    unreadable: int = 0
    accuracy: Estimate = Estimate()
    kappa: Estimate = Estimate()
    orders_agree: Estimate = Estimate()
    orders_kappa: Estimate = Estimate()
    first_place: Estimate = Estimate()
    agreement: Agreement | None = None
    reasons: dict[str, str] = {}


class PanelCheck(Record, frozen=True):
    """The recorded judges of a group as one panel, over the `items` that all of them judged.

    `majority`, `weighted` and `best` are the shares of items that are decided rightly: by most votes, by votes with
    weights from labels, and by the judge with the largest weight. `gain` is the share of the weighted votes less that
    of the majority. Each half of the items is decided with the labels of the other half. `weights` are log odds, from
    all labels.
    """

    group: str
    items: int
    weights: dict[str, float]
    majority: Estimate
    weighted: Estimate
    best: Estimate
    gain: Estimate


class GoldCheck(Record, frozen=True):
    """A judge that was asked about items with labels: about all of them, or about one group if `group` is not empty.

    `calls`, `cost` and `self_agreement` are those of the judge calls, and None for a group. `misses` are the items that
    the judge decides otherwise than their labels, or that have no answer that could be read. They stand beside all
    items, not beside their group again.
    """

    calibration: Calibration
    group: str = ""
    calls: int | None = None
    cost: float | None = None
    self_agreement: float | None = None
    misses: tuple[CheckResult, ...] = ()


class Probe(Record, frozen=True):
    """The change of the pass rate when replies are changed in a way that must not matter, over `items` replies.

    `effect` is the pass rate after the change less the pass rate before it.
    """

    criterion: str
    probe: str
    items: int
    effect: Estimate


class ReportCard(Record, frozen=True):
    """Everything that is known of judges apart from any run. What was not measured is empty.

    `results` are the answers to the questions with known answers, and `rates` how often they are right.
    `question_count` is the number of these questions, also of those that a budget left out. `unanswered` counts the
    questions, items and probes without an answer that could be read. `refusals` are the reasons to
    refuse each model, or the judge of each criterion that was named. It is not shown that a judge without a reason is
    good: the rates have the intervals. `templates` are the versions of the prompts that were not the usual ones.
    """

    judges: tuple[RecordedJudge, ...] = ()
    gold: tuple[GoldCheck, ...] = ()
    probes: tuple[Probe, ...] = ()
    refusals: dict[str, tuple[Refusal, ...]] = {}
    panels: tuple[PanelCheck, ...] = ()
    question_count: int = 0
    unanswered: int = 0
    rates: tuple[RuleRates, ...] = ()
    results: tuple[CheckResult, ...] = ()
    templates: dict[str, str] = {}

    @property
    def is_bad(self) -> bool:
        """Whether a judge is refused, or not shown to be better than guessing."""
        states = [judge.state for judge in self.judges] + [check.calibration.state for check in self.gold]
        return JudgeState.USELESS in states or any(self.refusals.values())

    def is_below(self, share: float) -> bool:
        """Whether a judge is right about less than a share of its readable answers, gold items or recorded items."""
        for model in {result.model for result in self.results}:
            readable = [result.is_right for result in self.results if result.model == model and result.outcome]
            if readable and sum(readable) < share * len(readable):
                return True
        measured = [judge.accuracy for judge in self.judges]
        measured += [check.calibration.agreement.accuracy for check in self.gold if not check.group]
        return any(accuracy.value is not None and accuracy.value < share for accuracy in measured)
