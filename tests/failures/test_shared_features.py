"""Properties that failures share and passes do not: real ones are found, and random ones are not claimed."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from fairtrial.analysis.failures.shared_features import majority, shared_features
from fairtrial.records.failure_mode import Signature
from fairtrial.stats.several import benjamini_hochberg, fisher

SIGNATURES = [Signature("missing", tool=f"tool_{number}") for number in range(4)]


def tags(rng: random.Random) -> frozenset[str]:
    """Twenty tags with shares from 5 % to 62 %, drawn independently of everything."""
    return frozenset(f"tag {number}" for number in range(20) if rng.random() < 0.05 + 0.03 * number)


@pytest.mark.long
def test_random_tags_are_rarely_claimed() -> None:
    """Of 200 runs whose tags are random, at most 10 % claim that failures share one."""
    claims = 0
    for seed in range(200):
        rng = random.Random(seed)
        modes = [(own,) for own in SIGNATURES]
        cases: list[Mapping[int, frozenset[str]]] = [
            {place: tags(rng) for place in range(start, start + size)}
            for start, size in ((0, 30), (30, 20), (50, 10), (60, 5))
        ]
        passes = {place: tags(rng) for place in range(65, 150)}
        found, tried = shared_features(list(zip(modes, cases, strict=True)), passes)
        assert tried > 60
        claims += any(found)
    assert claims / 200 <= 0.1


def test_a_real_difference_is_found_with_both_rates() -> None:
    """A tag of 18 of 20 failed cases and of 8 of 80 passed ones is claimed, with rates, difference and interval."""
    own = {place: frozenset(["language: ko"] if place < 18 else []) for place in range(20)}
    passes = {place: frozenset(["language: ko"] if place < 108 else []) for place in range(100, 180)}
    ((shared,),), tried = shared_features([(SIGNATURES[:1], own)], passes)
    assert tried == 1
    assert (shared.feature, shared.failures, shared.passes) == ("language: ko", 0.9, 0.1)
    assert shared.difference == pytest.approx(0.8)
    assert 0.5 < shared.low < 0.8 < shared.high <= 1
    assert shared.q < 1e-6


def test_the_tool_of_the_mode_is_no_finding() -> None:
    """Failures that call a tool by definition do not "share" that they call it."""
    signature = Signature("unexpected", tool="refund")
    own = {place: frozenset(["calls refund"]) for place in range(20)}
    passes = {place: frozenset[str]() for place in range(100, 180)}
    assert shared_features([([signature], own)], passes) == ([()], 0)


def test_cases_with_both_kinds_of_attempts_count_as_failures_only() -> None:
    """A case that also passed is not among the passes of its own mode."""
    own = {place: frozenset(["a"]) for place in range(10)}
    assert shared_features([(SIGNATURES[:1], own)], dict(own)) == ([()], 0)


def test_a_case_has_what_half_of_its_attempts_have() -> None:
    """Of two attempts one suffices, and of three two are needed."""
    a, none = frozenset("a"), frozenset[str]()
    assert majority([a, none]) == a
    assert majority([a, none, none]) == none


def test_fisher_by_hand() -> None:
    """Fisher's tea: 3 of 4 against 1 of 4 has p = (1 + 16 + 16 + 1) / 70; equal margins make both tails alike."""
    assert fisher(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert fisher(4, 4, 0, 4) == pytest.approx(2 / 70)
    assert fisher(0, 5, 0, 9) == 1


@pytest.mark.long
def test_large_counts_are_close_to_the_exact_test() -> None:
    """Beyond 4,000 units the chi-square test stands in, with nearly the same p value."""
    exact, approximate = fisher(1010, 2000, 950, 2000), fisher(1011, 2001, 951, 2001)
    assert approximate == pytest.approx(exact, rel=0.05)


def test_benjamini_hochberg_by_hand() -> None:
    """Of p = 0.01, 0.02, 0.04 and 0.5 the q values are 4/1, 4/2, 4/3 and 4/4 times p, and never decrease."""
    assert benjamini_hochberg([0.5, 0.04, 0.01, 0.02]) == pytest.approx([0.5, 0.16 / 3, 0.04, 0.04])
