"""The interval of a mean of rates is as wide as its clusters demand."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fairtrial.stats.clustered import mean_of_rates, share


def test_one_trial_a_cluster_is_wilson_with_t() -> None:
    """Without clustering, it is Wilson's interval of 6 of 10 with t of 9 degrees of freedom, 2.262157."""
    estimate = mean_of_rates([{"a": (int(i < 6), 1)} for i in range(10)])
    assert estimate is not None
    value, ends = estimate
    z2 = 2.262157**2
    middle, half = (0.6 + z2 / 20) / (1 + z2 / 10), 2.262157 * (0.024 + z2 / 400) ** 0.5 / (1 + z2 / 10)
    assert value == 0.6
    assert ends == pytest.approx((middle - half, middle + half), abs=1e-6)


def test_each_rate_has_equal_weight() -> None:
    """One of 1 and none of 99 have the mean 0.5."""
    estimate = mean_of_rates([{"a": (1, 1), "b": (0, 99)}])
    assert estimate == (0.5, None)


def test_no_trials_give_no_rate() -> None:
    """A mean needs at least one trial."""
    assert mean_of_rates([]) is None
    assert mean_of_rates([{"a": (0, 0)}]) is None


def test_equal_trials_of_a_cluster_count_once() -> None:
    """Ten copies of each trial in a cluster do not make the interval narrower."""
    single = mean_of_rates([{"a": (int(i < 6), 1)} for i in range(10)])
    copied = mean_of_rates([{"a": (10 * int(i < 6), 10)} for i in range(10)])
    assert single is not None
    assert copied is not None
    assert copied[1] == pytest.approx(single[1])


def test_the_interval_holds_the_truth_in_most_samples() -> None:
    """Of 400 samples of 12 clusters with a rate of their own, at least 93 % of the intervals hold the mean rate."""
    draw = random.Random(1)
    hits = 0
    for _ in range(400):
        clusters = []
        for _ in range(12):
            share = draw.betavariate(2, 2)
            clusters.append({"a": (sum(draw.random() < share for _ in range(4)), 4)})
        estimate = mean_of_rates(clusters)
        assert estimate is not None
        assert estimate[1] is not None
        hits += estimate[1][0] <= 0.5 <= estimate[1][1]
    assert hits >= 0.93 * 400


def test_a_share_of_counted_clusters_is_the_mean_of_one_rate() -> None:
    """Equal clusters that are counted give the same share and interval as clusters that are listed."""
    pairs = [(1, 2)] * 5 + [(0, 1)] * 7 + [(4, 4)] * 2 + [(0, 0)]
    listed, counted = mean_of_rates([{"": pair} for pair in pairs]), share(Counter(pairs))
    assert listed is not None
    assert counted is not None
    assert counted[0] == pytest.approx(listed[0])
    assert counted[1] == pytest.approx(listed[1])
    assert share({(1, 3): 1}) == (1 / 3, None)
    assert share({(0, 0): 4}) is None
