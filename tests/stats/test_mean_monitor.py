"""A monitor raises an alarm when a mean leaves its reference, and hardly ever without a change."""

from __future__ import annotations

import random
import statistics

import pytest

from fairtrial.stats.mean_monitor import MeanMonitor


def watch(rng: random.Random, rates: list[float], **options: float) -> MeanMonitor:
    """A monitor after passes and failures of these rates."""
    monitor = MeanMonitor(reference=int(options.get("reference", 300)), false_every=options.get("false_every", 1e5))
    for rate in rates:
        monitor.add(float(rng.random() < rate))
    return monitor


def test_nothing_is_said_before_the_reference_is_full() -> None:
    """All values belong to it."""
    monitor = watch(random.Random(1), [0.5] * 299)
    assert monitor.interval is None
    assert monitor.alarm is None


def test_the_interval_of_the_reference_holds_its_mean() -> None:
    """With 99.9 %."""
    monitor = watch(random.Random(2), [0.9] * 300)
    assert monitor.interval is not None
    low, high = monitor.interval
    assert 0.75 < low < 0.9 < high < 1


@pytest.mark.parametrize(("before", "after", "is_rise"), [(0.9, 0.5, False), (0.3, 0.8, True)])
def test_a_change_is_seen_and_dated(before: float, after: float, is_rise: bool) -> None:
    """It begins at value 801."""
    monitor = watch(random.Random(3), [before] * 800 + [after] * 200)
    assert monitor.alarm is not None
    assert monitor.alarm.is_rise == is_rise
    assert 790 <= monitor.alarm.start <= 830
    assert monitor.alarm.start < monitor.alarm.number <= 950


def test_values_that_never_vary_raise_no_alarm() -> None:
    """Neither at 0 nor at 1."""
    assert watch(random.Random(4), [1.0] * 2000).alarm is None
    assert watch(random.Random(4), [0.0] * 2000).alarm is None


def test_values_that_are_missing_where_the_agent_fails_raise_no_alarm() -> None:
    """After the reference, all values that are there are passes."""
    rng = random.Random(5)
    monitor = watch(rng, [0.6] * 300)
    for _ in range(1500):
        monitor.add(1.0 if rng.random() < 0.6 else None)
    assert monitor.recent == 1
    assert monitor.missing == pytest.approx(600, abs=60)
    assert monitor.alarm is None


def test_a_rise_is_seen_although_few_values_are_missing() -> None:
    """It only takes longer."""
    rng = random.Random(6)
    monitor = watch(rng, [0.3] * 300)
    for number in range(600):
        monitor.add(None if number % 10 == 0 else float(rng.random() < 0.9))
    assert monitor.alarm is not None
    assert monitor.alarm.is_rise


def test_a_reference_without_values_has_no_mean() -> None:
    """Everything is possible."""
    monitor = MeanMonitor(reference=50)
    for _ in range(100):
        monitor.add(None)
    assert (monitor.mean, monitor.interval, monitor.recent) == (None, (0.0, 1.0), None)


def sample(rng: random.Random, number: int, hard: float) -> MeanMonitor:
    """A monitor of traffic of which half is hard. Easy conversations are sampled with 0.2, and hard ones with 1."""
    monitor = MeanMonitor()
    for _ in range(number):
        is_hard = rng.random() < 0.5
        probability = 1.0 if is_hard else 0.2
        if rng.random() < probability:
            monitor.add(float(rng.random() < (hard if is_hard else 0.95)), 1 / probability)
    return monitor


@pytest.mark.long
def test_sampling_probabilities_weigh_the_values() -> None:
    """The mean of the traffic is 0.7; that of the sample is 0.53."""
    means = [sample(random.Random(seed), 1500, 0.45).mean for seed in range(20)]
    assert statistics.fmean(mean for mean in means if mean is not None) == pytest.approx(0.7, abs=0.03)


@pytest.mark.long
def test_false_alarms_are_at_least_as_rare_as_stated() -> None:
    """At least 2,000 values pass on average. A monitor without an alarm in 6,000 counts as 6,000."""
    lengths = []
    for seed in range(60):
        monitor = watch(random.Random(seed), [0.8] * 6100, reference=100, false_every=2000)
        lengths.append(monitor.alarm.number - 100 if monitor.alarm else 6000)
    assert statistics.fmean(lengths) >= 2000


@pytest.mark.long
def test_false_alarms_of_sampled_values_are_rare() -> None:
    """The weights leave the statement as it is."""
    assert sum(sample(random.Random(seed), 6000, 0.45).alarm is not None for seed in range(20)) == 0
