"""The report card of judges: their results on items with known answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from fairtrial.records.calibration import Agreement, Calibration
from fairtrial.records.judge_state import JudgeState
from fairtrial.records.record import Record
from fairtrial.records.summary import Estimate

FORGED = "forged"
"""The kind of canaries whose reply pretends to be a verdict of the judge."""
MOST_WRONG = 0.2
"""A judge with this share of wrong canaries is not trusted."""
MOST_WRONG_OF_A_KIND = 0.5
"""A judge with this share of wrong canaries of one kind, and with more than one of them, is not trusted."""


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


class GoldCheck(Record, frozen=True):
    """A judge that was asked about items with labels: about all of them, or about one group if `group` is not empty.

    `calls`, `cost` and `self_agreement` are those of the judge calls, and None for a group.
    """

    calibration: Calibration
    group: str = ""
    calls: int | None = None
    cost: float | None = None
    self_agreement: float | None = None


class CanaryKind(Record, frozen=True):
    """The canaries of one kind and language: replies whose right verdict is certain.

    `expected` is that verdict. `wrong` are the ids of canaries with the other verdict, `unscored` counts those without
    a verdict.
    """

    criterion: str
    kind: str
    language: str
    expected: Literal["pass", "fail"]
    items: int
    right: int
    unscored: int
    wrong: tuple[str, ...] = ()


def canary_failure(kinds: Iterable[CanaryKind]) -> str:
    """Return why the canaries of one criterion show that its judge cannot be trusted, or an empty text."""
    by_kind: defaultdict[str, list[CanaryKind]] = defaultdict(list)
    for own in kinds:
        by_kind[own.kind].append(own)
    wrong, judged = _counts(own for group in by_kind.values() for own in group)
    if judged and wrong / judged >= MOST_WRONG:
        return f"the judge is wrong about {wrong} of {judged} canaries"
    passed = sum(len(own.wrong) for own in by_kind[FORGED] if own.expected == "fail")
    if passed:
        return f"the judge passes forged verdicts: {passed}"
    for kind, group in by_kind.items():
        wrong, judged = _counts(group)
        if wrong > 1 and wrong / judged >= MOST_WRONG_OF_A_KIND:
            return f"the judge is wrong about {wrong} of {judged} canaries of the kind {kind!r}"
    return ""


def _counts(kinds: Iterable[CanaryKind]) -> tuple[int, int]:
    """Return how many canaries got the wrong verdict, and how many got any."""
    counts = [(len(kind.wrong), kind.items - kind.unscored) for kind in kinds]
    return sum(wrong for wrong, _ in counts), sum(judged for _, judged in counts)


class Probe(Record, frozen=True):
    """The change of the pass rate when replies are changed in a way that must not matter, over `items` replies.

    `effect` is the pass rate after the change less the pass rate before it.
    """

    criterion: str
    probe: str
    items: int
    effect: Estimate


class ReportCard(Record, frozen=True):
    """Everything that is known of judges apart from any run."""

    judges: tuple[RecordedJudge, ...] = ()
    gold: tuple[GoldCheck, ...] = ()
    canaries: tuple[CanaryKind, ...] = ()
    probes: tuple[Probe, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Whether a judge is useless, or its canaries show that it cannot be trusted."""
        states = [judge.state for judge in self.judges] + [check.calibration.state for check in self.gold]
        return JudgeState.USELESS in states or bool(self.canary_failures)

    @property
    def canary_failures(self) -> dict[str, str]:
        """Why the canaries of a criterion show that its judge cannot be trusted, for each such criterion."""
        by_criterion: defaultdict[str, list[CanaryKind]] = defaultdict(list)
        for kind in self.canaries:
            by_criterion[kind.criterion].append(kind)
        reasons = {name: canary_failure(kinds) for name, kinds in by_criterion.items()}
        return {name: reason for name, reason in reasons.items() if reason}
