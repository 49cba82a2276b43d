"""Weigh the judges of a panel by labels, and compare the weighted vote with the majority."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from fairtrial.records.judging.report_card import PanelCheck
from fairtrial.records.summary import Estimate
from fairtrial.stats.agreement import share_interval
from fairtrial.stats.difference import paired_difference

if TYPE_CHECKING:
    from fairtrial.formats.verdict_tables import RecordedVerdict

FEWEST_JUDGES = 3
FEWEST_ITEMS = 20
"""A panel needs so many judges, and so many items that each of them judged."""

Votes = Mapping[str, str]
"""The verdicts on one item, by their judges. An empty verdict could not be read."""


def measure_panels(verdicts: Iterable[RecordedVerdict]) -> Iterator[PanelCheck]:
    """Yield a check of the panel of all judges of each group, if there are enough judges and items.

    Each half of the items is decided with weights from the labels of the other half, so that no label helps to decide
    its own item. If a judge has two verdicts on an item, there is no panel.
    """
    groups: defaultdict[str, list[RecordedVerdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.group].append(verdict)
    for group, own in groups.items():
        judges = tuple(dict.fromkeys(verdict.judge for verdict in own))
        votes: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for verdict in own:
            votes[verdict.item][verdict.judge] = verdict.verdict
        labels = {verdict.item: verdict.label for verdict in own}
        shared = [item for item, cast in votes.items() if len(cast) == len(judges)]
        is_unique = sum(map(len, votes.values())) == len(own)
        if is_unique and len(judges) >= FEWEST_JUDGES and len(shared) >= FEWEST_ITEMS:
            yield _measure(group, shared, votes, labels)


def _measure(group: str, items: list[str], votes: Mapping[str, Votes], labels: Mapping[str, str]) -> PanelCheck:
    hits: defaultdict[str, list[bool]] = defaultdict(list)
    for place in (0, 1):
        weights = weigh_judges(items[1 - place :: 2], votes, labels)
        best = max(weights, key=weights.__getitem__)
        for item in items[place::2]:
            label, cast = labels[item], votes[item]
            hits["majority"].append(decide(cast, dict.fromkeys(cast, 1.0)) == label)
            hits["weighted"].append(decide(cast, weights) == label)
            hits["best"].append(cast[best] == label)
    differences = [float(own) - float(other) for own, other in zip(hits["weighted"], hits["majority"], strict=True)]
    difference = paired_difference(differences)
    gain = Estimate() if difference is None else Estimate(difference.value, *difference.interval(), difference.method)
    shares = {name: _share(own) for name, own in hits.items()}
    return PanelCheck(group, len(items), weigh_judges(items, votes, labels), gain=gain, **shares)


def weigh_judges(items: Collection[str], votes: Mapping[str, Votes], labels: Mapping[str, str]) -> dict[str, float]:
    """Return the weight of each judge: log(p (k - 1) / (1 - p)), with p its share of right verdicts of k kinds.

    It is the best weight for judges whose errors are independent (Nitzan and Paroush 1982, doi 10.2307/2526438). One
    right and one wrong verdict are added to those of each judge, so that no weight is infinite.
    """
    kinds = max(2, len(set(labels.values())))
    right, read = Counter[str](), Counter[str]()
    names = dict.fromkeys(judge for item in items for judge in votes[item])
    for item in items:
        for judge, verdict in votes[item].items():
            read[judge] += bool(verdict)
            right[judge] += verdict == labels[item]
    shares = {judge: (right[judge] + 1) / (read[judge] + 2) for judge in names}
    return {judge: math.log(share * (kinds - 1) / (1 - share)) for judge, share in shares.items()}


def decide(cast: Votes, weights: Mapping[str, float]) -> str:
    """Return the verdict with the largest sum of weights, or an empty text for a tie."""
    sums: defaultdict[str, float] = defaultdict(float)
    for judge, verdict in cast.items():
        if verdict:
            sums[verdict] += weights[judge]
    ranked = sorted(sums, key=sums.__getitem__, reverse=True)
    is_tie = len(ranked) > 1 and math.isclose(sums[ranked[0]], sums[ranked[1]])
    return "" if is_tie or not ranked else ranked[0]


def _share(hits: Collection[bool]) -> Estimate:
    share, low, high = share_interval([(hit, 1.0) for hit in hits]) or (0.0, 0.0, 1.0)
    return Estimate(share, low, high, "wilson")
