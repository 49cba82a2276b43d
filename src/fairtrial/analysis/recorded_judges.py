"""Measure recorded judges against labels: accuracy, and position bias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.records.average import mean
from fairtrial.records.judging.calibration import FEWEST_LABELS
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.judging.report_card import RecordedJudge
from fairtrial.records.summary import Estimate
from fairtrial.stats import agreement as stats
from fairtrial.stats.interval import bounded_interval, bounded_method
from fairtrial.stats.judge_agreement import Pair, estimate_agreement, measure_agreement

if TYPE_CHECKING:
    from fairtrial.formats.verdict_tables import RecordedVerdict

_TIES = frozenset({"0", "tie", "both", "neither"})
"""Verdicts for neither of two replies."""


def measure_judges(verdicts: Iterable[RecordedVerdict]) -> list[RecordedJudge]:
    """Return each judge on each group of its items, in the order in which they first occur."""
    groups: defaultdict[tuple[str, str], list[RecordedVerdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.judge, verdict.group].append(verdict)
    return [_measure(judge, group, own) for (judge, group), own in groups.items()]


def _measure(judge: str, group: str, verdicts: Sequence[RecordedVerdict]) -> RecordedJudge:
    reasons: dict[str, str] = {}
    swapped = [verdict for verdict in verdicts if verdict.swapped is not None]
    both_orders = len(swapped) == len(verdicts)
    readable = [verdict for verdict in verdicts if verdict.verdict]
    fields: dict[str, Any] = {"accuracy": _accuracy(verdicts, both_orders=both_orders)}
    fields["kappa"] = _kappa([(own.label, own.verdict) for own in readable], readable, "kappa", reasons)
    if both_orders:
        fields |= _orders(verdicts, reasons)
    kinds = {verdict.label for verdict in verdicts}
    if kinds <= {"pass", "fail"}:
        fields["agreement"] = measure_agreement(list(map(_pair, readable)), [], [], graded=False)
    return RecordedJudge(
        judge,
        group,
        _state(len({verdict.item for verdict in verdicts}), fields["kappa"]),
        len({verdict.item for verdict in verdicts}),
        sum("" in (own.verdict, own.swapped) for own in verdicts),
        **fields,
        reasons=reasons,
    )


def _state(items: int, kappa: Estimate) -> JudgeState:
    """Return the state of a judge. Kappa takes the place of Youden's J, because there may be more than two verdicts."""
    if items < FEWEST_LABELS:
        return JudgeState.TOO_FEW
    return JudgeState.GOOD if kappa.low is not None and kappa.low > 0 else JudgeState.USELESS


def _pair(verdict: RecordedVerdict) -> Pair:
    """Return a verdict beside its label. An item is a case."""
    people, judge = verdict.label == "pass", verdict.verdict == "pass"
    return Pair(float(people), float(judge), people, judge, verdict.item)


def _accuracy(verdicts: Sequence[RecordedVerdict], *, both_orders: bool) -> Estimate:
    """Return the share of verdicts that are right. An item is a case."""
    hits = [(own.item, float(own.verdict == own.label)) for own in verdicts if own.verdict or both_orders]
    if both_orders:
        hits += [(own.item, float(own.swapped == own.label)) for own in verdicts]
    return _rate(_by_item(hits), len(hits))


def _by_item(values: Iterable[tuple[str, float]]) -> list[float]:
    """Return the mean of the values of each item."""
    items: defaultdict[str, list[float]] = defaultdict(list)
    for item, value in values:
        items[item].append(value)
    return [mean(own) for own in items.values()]


def _orders(verdicts: Sequence[RecordedVerdict], reasons: dict[str, str]) -> dict[str, Estimate]:
    """Return the numbers about the two orders in which replies were shown."""
    readable = [own for own in verdicts if own.verdict and own.swapped]
    agreeing = _by_item((own.item, float(own.verdict == own.swapped)) for own in verdicts)
    numbers = {
        "orders_agree": _rate(agreeing, len(verdicts)),
        "orders_kappa": _kappa(
            [(own.verdict, own.swapped or "") for own in readable], readable, "orders_kappa", reasons
        ),
    }
    kinds = sorted({verdict.label for verdict in verdicts} - _TIES)
    if len(kinds) != 2 or kinds == ["fail", "pass"]:
        reasons["first_place"] = "needs labels that name the first and the second reply, for example 1 and 2"
        return numbers
    # In the first order the reply of kinds[0] is shown first, in the other order the reply of kinds[1].
    first, second = kinds
    side = {first: 1, second: -1}
    leanings = _by_item((own.item, (side.get(own.verdict, 0) - side.get(own.swapped or "", 0)) / 2) for own in verdicts)
    ends = bounded_interval(leanings, low=-1.0, high=1.0)
    method = bounded_method(leanings, low=-1.0, high=1.0)
    numbers["first_place"] = Estimate(mean(leanings)) if ends is None else Estimate(mean(leanings), *ends, method)
    return numbers


def _kappa(
    pairs: Sequence[tuple[str, str]], verdicts: Sequence[RecordedVerdict], name: str, reasons: dict[str, str]
) -> Estimate:
    """Return the kappa of pairs of kinds of verdicts, one pair of each verdict. An item is a case."""
    kinds = {kind: n for n, kind in enumerate(sorted({kind for pair in pairs for kind in pair}))}
    items = [(kinds[left], kinds[right], 1.0) for left, right in pairs]
    cases = [verdict.item for verdict in verdicts]
    estimate = estimate_agreement(stats.kappa, items, len(kinds), cases) if items else Estimate()
    if estimate.value is None:
        reasons[name] = "needs verdicts of more than one kind that could be read"
    return estimate


def _rate(values: Sequence[float], trials: int) -> Estimate:
    if not values:
        return Estimate()
    ends = bounded_interval(values, attempts=trials)
    method = bounded_method(values, attempts=trials)
    return Estimate(mean(values)) if ends is None else Estimate(mean(values), *ends, method)
