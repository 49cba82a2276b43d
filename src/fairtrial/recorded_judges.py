"""Recorded verdicts beside labels -> RecordedJudge: is a judge right, and does the order of replies matter?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fairtrial.formats.verdict_tables import RecordedVerdict
from fairtrial.records.average import mean
from fairtrial.records.calibration import FEWEST_LABELS, JudgeState
from fairtrial.records.report_card import RecordedJudge
from fairtrial.records.summary import Estimate
from fairtrial.stats import agreement as stats
from fairtrial.stats.interval import WILSON, bounded_interval
from fairtrial.stats.judge_agreement import Pair, estimate_agreement, measure_agreement

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
    fields["kappa"] = _kappa([(own.label, own.verdict) for own in readable], "kappa", reasons)
    if both_orders:
        fields |= _orders(verdicts, reasons)
    kinds = {verdict.label for verdict in verdicts}
    if kinds <= {"pass", "fail"}:
        pairs = [_pair(index, verdict) for index, verdict in enumerate(readable)]
        fields["agreement"] = measure_agreement(pairs, [], [], graded=False)
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


def _pair(index: int, verdict: RecordedVerdict) -> Pair:
    people, judge = verdict.label == "pass", verdict.verdict == "pass"
    return Pair(float(people), float(judge), people, judge, index)


def _accuracy(verdicts: Sequence[RecordedVerdict], *, both_orders: bool) -> Estimate:
    """Return the share of verdicts that are right. An item is a case."""
    items: defaultdict[str, list[bool]] = defaultdict(list)
    for own in verdicts:
        if both_orders:
            items[own.item] += [own.verdict == own.label, own.swapped == own.label]
        elif own.verdict:
            items[own.item].append(own.verdict == own.label)
    return _rate([mean(hits) for hits in items.values()], sum(map(len, items.values())))


def _orders(verdicts: Sequence[RecordedVerdict], reasons: dict[str, str]) -> dict[str, Estimate]:
    """Return the numbers about the two orders in which replies were shown."""
    pairs = [(own.verdict, own.swapped or "") for own in verdicts]
    readable = [pair for pair in pairs if all(pair)]
    numbers = {
        "orders_agree": _rate([float(own == swapped) for own, swapped in pairs], len(pairs)),
        "orders_kappa": _kappa(readable, "orders_kappa", reasons),
    }
    kinds = sorted({verdict.label for verdict in verdicts} - _TIES)
    if len(kinds) != 2 or kinds == ["fail", "pass"]:
        reasons["first_place"] = "needs labels that name the first and the second reply, for example 1 and 2"
        return numbers
    # In the first order the reply of kinds[0] is shown first, in the other order the reply of kinds[1].
    first, second = kinds
    side = {first: 1, second: -1}
    leanings = [(side.get(own, 0) - side.get(swapped, 0)) / 2 for own, swapped in pairs]
    ends = bounded_interval(leanings, low=-1.0, high=1.0)
    numbers["first_place"] = Estimate(mean(leanings)) if ends is None else Estimate(mean(leanings), *ends, WILSON)
    return numbers


def _kappa(pairs: Sequence[tuple[str, str]], name: str, reasons: dict[str, str]) -> Estimate:
    kinds = {kind: n for n, kind in enumerate(sorted({kind for pair in pairs for kind in pair}))}
    items = [(kinds[left], kinds[right], 1.0) for left, right in pairs]
    estimate = estimate_agreement(stats.kappa, items, len(kinds)) if items else Estimate()
    if estimate.value is None:
        reasons[name] = "needs verdicts of more than one kind that could be read"
    return estimate


def _rate(values: Sequence[float], trials: int) -> Estimate:
    if not values:
        return Estimate()
    ends = bounded_interval(values, attempts=trials)
    return Estimate(mean(values)) if ends is None else Estimate(mean(values), *ends, WILSON)
