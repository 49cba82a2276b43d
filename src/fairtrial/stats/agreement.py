"""Inter-rater agreement: kappa, alpha, Matthews and Youden coefficients with intervals.

A table counts pairs of answers: `table[i][j]` is the number, or the total weight, of the items that people put into
category i and the judge into category j. For pass or fail, category 0 is pass and category 1 is fail.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import Literal

from fairtrial.stats.beta import beta_quantile
from fairtrial.stats.interval import LEVEL, Interval, bounded_interval, wilson
from fairtrial.stats.moments import Moments
from fairtrial.stats.student import student_quantile

Table = Sequence[Sequence[float]]
Pair = tuple[int, int, float]
"""The category that people chose, the category that the judge chose, and the weight of the item."""

Statistic = Callable[[Table], "float | None"]
Measurement = Literal["nominal", "ordinal", "interval"]

NORMAL = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""The normal quantile of a 95 % interval."""
_CLOSE_TO_ONE = 1 - 1e-15


def make_table(pairs: Iterable[Pair], categories: int) -> list[list[float]]:
    """Return the table of pairs."""
    table = [[0.0] * categories for _ in range(categories)]
    for people, judge, weight in pairs:
        table[people][judge] += weight
    return table


def share_interval(
    hits: Sequence[tuple[bool, float]], largest_weight: float = 1.0, cases: Sequence[Hashable] | None = None
) -> tuple[float, float, float] | None:
    """Return a weighted share with Wilson's interval, from (hit, weight) of each item. None without items.

    The number of trials is the number of items if the weights are equal. Otherwise it is p (1 - p) / V, with V the
    linearized variance of a ratio (Cochran 1977, "Sampling Techniques", section 2.11). At a share of 0 or 1 this
    variance vanishes. The number is then the total weight / `largest_weight`, the largest weight in the whole sample:
    an item of that weight could have been the first exception.

    Items of one case resemble each other. If `cases` names the case of each item and a case has several items, V is the
    variance with the case as the unit (Cochran, section 6.3), and the quantile is Student's. The number of trials is
    then at least the number of cases and at most the number above. At a share of 0 or 1 it is the number of cases.
    Items of a single case show nothing about other cases, so their interval is 0 to 1.
    """
    worth = _share_trials(hits, largest_weight, cases)
    if worth is None:
        return None
    p, trials, quantile = worth
    return (p, *wilson(p, trials, quantile)) if trials else (p, 0.0, 1.0)


def _share_trials(
    hits: Sequence[tuple[bool, float]], largest_weight: float = 1.0, cases: Sequence[Hashable] | None = None
) -> tuple[float, float, float] | None:
    """Return a weighted share, its number of trials, 0 for a single case, and the quantile of its interval."""
    total = math.fsum(weight for _, weight in hits)
    if not total:
        return None
    p = math.fsum(weight for hit, weight in hits if hit) / total
    residuals = [weight * (hit - p) for hit, weight in hits]
    variance = math.fsum(residual**2 for residual in residuals) / total**2
    trials = p * (1 - p) / variance if variance else total / max(largest_weight, *(weight for _, weight in hits))
    by_case: defaultdict[Hashable, float] = defaultdict(float)
    for case, residual in zip(range(len(hits)) if cases is None else cases, residuals, strict=True):
        by_case[case] += residual
    number = len(by_case)
    if number == len(hits):
        return p, trials, NORMAL
    if number < 2:
        return p, 0.0, NORMAL
    if variance:
        between = number / (number - 1) * math.fsum(residual**2 for residual in by_case.values()) / total**2
        trials = min(trials, max(number, p * (1 - p) / between)) if between else trials
    else:
        trials = min(trials, number)
    return p, trials, student_quantile(0.5 + LEVEL / 2, number - 1)


def youden(
    sensitivity: tuple[float, float, float], specificity: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return sensitivity + specificity - 1 with its interval, from both shares with their intervals.

    A judge that guesses has 0, a perfect judge 1. The interval is made by MOVER (Donner and Zou 2012, "Closed-form
    confidence intervals for functions of the normal mean and standard deviation", Stat. Methods Med. Res. 21).
    """
    (se, se_low, se_high), (sp, sp_low, sp_high) = sensitivity, specificity
    value = se + sp - 1
    return value, value - math.hypot(se - se_low, sp - sp_low), value + math.hypot(se_high - se, sp_high - sp)


def kappa(table: Table) -> float | None:
    """Return Cohen's kappa (1960), or None if both sides put every item into the same category."""
    return _kappa(table, lambda i, j: float(i != j))


def quadratic_kappa(table: Table) -> float | None:
    """Return the kappa with quadratic weights (Cohen 1968): a miss by two categories counts four times."""
    return _kappa(table, lambda i, j: float((i - j) ** 2))


def _kappa(table: Table, distance: Callable[[int, int], float]) -> float | None:
    rows, columns = _margins(table)
    total = math.fsum(rows)
    cells = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    expected = math.fsum(distance(i, j) * rows[i] * columns[j] for i, j in cells)
    if not expected:
        return None
    return 1 - total * math.fsum(distance(i, j) * table[i][j] for i, j in cells) / expected


def alpha(table: Table, values: Sequence[float] = ()) -> float | None:
    """Return Krippendorff's alpha (2011) of the two sides of a table, or None if all answers are equal.

    With `values`, the values of the categories, the distance of two answers is the square of their difference.
    Otherwise all categories are equally far apart.
    """
    totals = [row + column for row, column in zip(*_margins(table), strict=True)]
    number = math.fsum(totals)
    cells = [(i, j) for i in range(len(totals)) for j in range(len(totals)) if i != j]

    def distance(i: int, j: int) -> float:
        return (values[i] - values[j]) ** 2 if values else 1.0

    expected = math.fsum(distance(i, j) * totals[i] * totals[j] for i, j in cells)
    if not expected:
        return None
    return 1 - (number - 1) * 2 * math.fsum(distance(i, j) * table[i][j] for i, j in cells) / expected


def matthews(table: Table) -> float | None:
    """Return Matthews' correlation (1975) of a table of pass and fail, or None if a margin is 0."""
    rows, columns = _margins(table)
    product = math.prod((*rows, *columns))
    if not product:
        return None
    return (table[0][0] * table[1][1] - table[0][1] * table[1][0]) / math.sqrt(product)


def _margins(table: Table) -> tuple[list[float], list[float]]:
    return [math.fsum(row) for row in table], [math.fsum(column) for column in zip(*table, strict=True)]


def has_empty_margin(table: Table) -> bool:
    """Return whether people or the judge used a category that the other side did not, or left one out."""
    return 0 in (margin for margins in _margins(table) for margin in margins)


def agreement_interval(
    statistic: Statistic, pairs: Sequence[Pair], categories: int, cases: Sequence[Hashable] | None = None
) -> Interval | None:
    """Return the interval of kappa, alpha or Matthews' correlation, or None if the statistic does not exist.

    Kappa and alpha of categories without distances have the exact limits of the share of disagreements, by the share
    that is expected by chance. The other statistics leave out one case at a time on the scale of atanh, with Student's
    quantile (Quenouille 1956, "Notes on bias in estimation", Biometrika 43). If pairs hardly ever disagree, that is
    too narrow, so the interval also holds what the limits of the disagreements allow. Pairs of one case resemble each
    other. If `cases` names the case of each pair, the case is therefore the unit, and there is no interval below two.
    """
    value = statistic(make_table(pairs, categories))
    units = _units(pairs, cases)
    if value is None or units.total() < 2:
        return None
    if statistic in (kappa, alpha):
        return _by_disagreements(statistic, value, pairs, categories, cases)
    if statistic is matthews:
        ends = [_leave_each_out(statistic, units, categories, 1 / categories), _matthews_by_disagreements(pairs, cases)]
    else:
        # Added cells would lie as far apart as no answers do, and pull the interval off the statistic.
        ends = [_leave_each_out(statistic, units, categories, 0.0), _by_distances(statistic, value, units, categories)]
    lows, highs = zip(*(each for each in ends if each is not None), strict=True)
    return min(value, *lows), max(value, *highs)


def _leave_each_out(statistic: Statistic, units: Counter[tuple[Pair, ...]], categories: int, added: float) -> Interval:
    """Return the interval by leaving out each unit, after `added` was added to each cell."""
    number = units.total()
    table = [[cell + added for cell in row] for row in make_table(_weigh_pairs(units), categories)]
    centre = _stretch_statistic(statistic, table)
    reduced: list[tuple[float, int]] = []
    for unit, count in units.items():
        for people, judge, weight in unit:
            table[people][judge] -= weight
        reduced.append((_stretch_statistic(statistic, table), count))
        for people, judge, weight in unit:
            table[people][judge] += weight
    mean = math.fsum(value * count for value, count in reduced) / number
    squares = math.fsum(count * (value - mean) ** 2 for value, count in reduced)
    half = student_quantile(0.5 + LEVEL / 2, number - 1) * math.sqrt(squares * (number - 1) / number)
    return math.tanh(centre - half), math.tanh(centre + half)


def _by_distances(
    statistic: Statistic, value: float, units: Counter[tuple[Pair, ...]], categories: int
) -> Interval | None:
    """Return the interval from that of the mean squared distance of grades, by the distance expected by chance."""
    table, small = make_table(_weigh_pairs(units), categories), 1e-6
    total = math.fsum(map(math.fsum, table))
    distances = Moments.from_counts((_measure_distance(unit), count) for unit, count in units.items())
    observed = math.fsum(table[i][j] * (i - j) ** 2 for i in range(categories) for j in range(categories)) / total
    if not observed:
        table[0][1] += small
        observed, value = small / total, statistic(table) or 0.0
    ends = bounded_interval(distances, low=0.0, high=max(1.0, distances.high))
    expected = observed / (1 - value)
    return None if ends is None else (max(-1.0, 1 - ends[1] / expected), min(1.0, 1 - ends[0] / expected))


def _measure_distance(unit: Sequence[Pair]) -> float:
    weights = math.fsum(weight for *_, weight in unit)
    return math.fsum(weight * (people - judge) ** 2 for people, judge, weight in unit) / weights


def _matthews_by_disagreements(pairs: Sequence[Pair], cases: Sequence[Hashable] | None) -> Interval | None:
    """Return Matthews' correlation of tables whose share of disagreements is at its exact limits."""
    weighted = _relative(pairs)
    limits = _disagreement_limits(weighted, cases)
    if limits is None:
        return None
    table = [[cell + 1 / 4 for cell in row] for row in make_table(weighted, 2)]
    alike, unlike = table[0][0] + table[1][1], table[0][1] + table[1][0]

    def at(share: float) -> float:
        same, other = (1 - share) / alike, share / unlike
        return matthews([[cell * (same if i == j else other) for j, cell in enumerate(row)]
                         for i, row in enumerate(table)]) or 0.0  # fmt: skip

    return at(limits[1]), at(limits[0])


def _by_disagreements(
    statistic: Statistic, value: float, pairs: Sequence[Pair], categories: int, cases: Sequence[Hashable] | None
) -> Interval | None:
    weighted = _relative(pairs)
    limits = _disagreement_limits(weighted, cases)
    if limits is None:
        return None
    # The added cells keep the share that is expected by chance from vanishing.
    table = [[cell + 1 / categories for cell in row] for row in make_table(weighted, categories)]
    observed = 1 - math.fsum(table[i][i] for i in range(categories)) / math.fsum(map(math.fsum, table))
    expected = observed / (1 - (statistic(table) or 0.0))
    return max(-1.0, min(value, 1 - limits[1] / expected)), max(value, min(1.0, 1 - limits[0] / expected))


def _disagreement_limits(weighted: Sequence[Pair], cases: Sequence[Hashable] | None) -> Interval | None:
    """Return the exact limits of the share of pairs that disagree, None for pairs of a single case."""
    worth = _share_trials([(people != judge, weight) for people, judge, weight in weighted], 1.0, cases)
    if worth is None or not worth[1]:
        return None
    share, trials, quantile = worth
    trials *= (NORMAL / quantile) ** 2
    error = (1 - LEVEL) / 2
    return (
        beta_quantile(error, trials * share, trials * (1 - share) + 1),
        beta_quantile(1 - error, trials * share + 1, trials * (1 - share)),
    )


def _relative(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs with weights relative to their mean, so that added cells weigh as much as without weights."""
    mean_weight = math.fsum(weight for *_, weight in pairs) / max(1, len(pairs))
    return [(people, judge, weight / mean_weight) for people, judge, weight in pairs]


def _units(pairs: Sequence[Pair], cases: Sequence[Hashable] | None) -> Counter[tuple[Pair, ...]]:
    """Return how often each set of pairs occurs that is left out together."""
    by_case: dict[Hashable, list[Pair]] = {}
    for case, pair in zip(range(len(pairs)) if cases is None else cases, _relative(pairs), strict=True):
        by_case.setdefault(case, []).append(pair)
    return Counter(tuple(sorted(unit)) for unit in by_case.values())


def _weigh_pairs(units: Counter[tuple[Pair, ...]]) -> Iterable[Pair]:
    return ((people, judge, weight * count) for unit, count in units.items() for people, judge, weight in unit)


def _stretch_statistic(statistic: Statistic, table: Table) -> float:
    return _atanh(statistic(table) or 0.0)


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation (1904), ties by mean rank, or None if a side does not vary."""
    ranks_left, ranks_right = _ranks(left), _ranks(right)
    middle = (len(left) + 1) / 2
    covariance = math.fsum((a - middle) * (b - middle) for a, b in zip(ranks_left, ranks_right, strict=True))
    spread = math.fsum((a - middle) ** 2 for a in ranks_left) * math.fsum((b - middle) ** 2 for b in ranks_right)
    return covariance / math.sqrt(spread) if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    counts = Counter(values)
    ranks: dict[float, float] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return [ranks[value] for value in values]


def krippendorff(items: Iterable[Sequence[float]], measurement: Measurement = "nominal") -> float | None:
    """Return Krippendorff's alpha (2011) over items, each with the answers of its raters, missing answers left out.

    1 is perfect agreement, 0 is the agreement of chance. An item with fewer than two answers does not count. None if no
    item counts, or if all answers are equal: nothing then shows that the raters can tell items apart.
    """
    pairable = [Counter(answers) for answers in items if len(answers) > 1]
    totals: Counter[float] = sum(pairable, Counter())
    number = totals.total()
    values = sorted(totals)
    distance = _distance(measurement, values, totals)
    expected = math.fsum(totals[a] * totals[b] * distance(a, b) for a in values for b in values)
    if not expected:
        return None
    observed = math.fsum(
        counts[a] * counts[b] * distance(a, b) / (counts.total() - 1)
        for counts in pairable
        for a in counts
        for b in counts
    )
    return 1 - (number - 1) * observed / expected


def krippendorff_interval(
    cases: Sequence[Sequence[Sequence[float]]], measurement: Measurement = "nominal"
) -> Interval | None:
    """Return the interval of alpha over cases, each with the answers on its items. None if it does not exist.

    Items of a case resemble each other, so that whole cases are left out, one at a time, on the scale of atanh, with
    Student's quantile (Quenouille 1956). Perfect agreement has no interval, because no case differs from another.
    """
    patterns = Counter(tuple(sorted(tuple(sorted(answers)) for answers in items)) for items in cases)
    number = patterns.total()
    alpha = krippendorff((answers for items in patterns.elements() for answers in items), measurement)
    if alpha is None or number < 2:
        return None
    reduced: list[tuple[float, int]] = []
    for pattern, count in patterns.items():
        others = patterns - Counter([pattern])
        value = krippendorff((answers for items in others.elements() for answers in items), measurement)
        if value is None:  # without this case the raters cannot be told apart from guessing
            return None
        reduced.append((_atanh(value), count))
    mean = math.fsum(value * count for value, count in reduced) / number
    squares = math.fsum(count * (value - mean) ** 2 for value, count in reduced)
    if not squares:
        return None
    half = student_quantile(0.5 + LEVEL / 2, number - 1) * math.sqrt(squares * (number - 1) / number)
    return math.tanh(_atanh(alpha) - half), math.tanh(_atanh(alpha) + half)


def _atanh(value: float) -> float:
    return math.atanh(max(-_CLOSE_TO_ONE, min(_CLOSE_TO_ONE, value)))


def _distance(
    measurement: Measurement, values: Sequence[float], totals: Counter[float]
) -> Callable[[float, float], float]:
    if measurement == "nominal":
        return lambda a, b: float(a != b)
    if measurement == "interval":
        return lambda a, b: (a - b) ** 2
    # Two grades are as far apart as there are answers between them, with half of the answers of both grades.
    position: dict[float, float] = {}
    below = 0
    for value in values:
        position[value] = below + totals[value] / 2
        below += totals[value]
    return lambda a, b: (position[a] - position[b]) ** 2
