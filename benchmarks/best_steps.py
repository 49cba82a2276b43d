"""The share of falls that a test sees which knows when a fall comes, how large it is, and how pass rates are spread.

It is the likelihood ratio, with a false alarm in one run of 1,000. If all cases lose a little, no test with that rate
of false alarms sees more of such series (Neyman and Pearson, 1933). If cases break, its cases break independently of
each other and not until a sum is reached, so that it is nearly the best. It needs numpy and scipy.
"""

from __future__ import annotations

from typing import Any

import measuring

SERIES, CASES, BEFORE, POINTS = 40_000, 100, 20, 400
STEADY = (0.3, 0.06)
"""The parameters of the beta distribution of the pass rates of steady cases. Those of flaky cases are uniform."""


def main(peer: str) -> None:  # noqa: ARG001
    import numpy as np

    random = np.random.default_rng(1)
    measuring.heading(f"{SERIES:,} series of {BEFORE} runs of {CASES} cases before a fall")
    for kind in ("steady", "flaky"):
        for size in (0.05, 0.2):
            for breaks in (True, False):
                rates = random.beta(*STEADY, (SERIES, CASES)) if kind == "steady" else random.random((SERIES, CASES))
                mean = rates.mean(1, keepdims=True)
                fallen = _break(np, random, rates, size) if breaks else rates * np.clip(1 - size / mean, 0, 1)
                before = random.binomial(BEFORE, rates)
                shares = []
                for runs in (1, 6):
                    ratios = _ratios(np, kind, size, runs, breaks=breaks)
                    same = ratios[before, random.binomial(runs, rates)].sum(1)
                    changed = ratios[before, random.binomial(runs, fallen)].sum(1)
                    shares.append((changed > np.quantile(same, 1 - runs / 1000)).mean())
                how = f"{size * 100:g} points, {'by cases that break' if breaks else 'of all cases'}"
                measuring.line(f"{kind} cases, {how}", f"{shares[0]:.1%} in the first run, {shares[1]:.1%} within six")


def _break(np: Any, random: Any, rates: Any, size: float) -> Any:
    """Return the rates of series in which cases break, one after the other, until the sum of the rates has fallen."""
    fallen = rates.copy()
    for row in range(SERIES):
        rest = size * CASES
        for case in random.permutation(CASES):
            loss = min(fallen[row, case], rest)
            fallen[row, case] -= loss
            rest -= loss
            if rest <= 0:
                break
    assert np.all(fallen >= 0)
    return fallen


def _ratios(np: Any, kind: str, size: float, runs: int, *, breaks: bool) -> Any:
    """Return the log likelihood ratio of a case by its passes in the runs before, and in the runs after."""
    from scipy.stats import beta

    points = (np.arange(POINTS) + 0.5) / POINTS
    weights = np.diff(beta.cdf(np.linspace(0, 1, POINTS + 1), *STEADY)) if kind == "steady" else np.ones(POINTS)
    weights /= weights.sum()
    lost = size / (0.5 if kind == "flaky" else STEADY[0] / sum(STEADY))
    before, after, rate = np.arange(BEFORE + 1)[:, None, None], np.arange(runs + 1)[None, :, None], points[None, None]
    own = before * np.log(rate) + (BEFORE - before) * np.log1p(-rate)
    same = (weights * np.exp(own + after * np.log(rate) + (runs - after) * np.log1p(-rate))).sum(-1)
    if breaks:
        broken = (weights * np.exp(own)).sum(-1) * (after[..., 0] == 0)
        return np.log(((1 - lost) * same + lost * broken) / same)
    low = rate * (1 - lost)
    return np.log((weights * np.exp(own + after * np.log(low) + (runs - after) * np.log1p(-low))).sum(-1) / same)


if __name__ == "__main__":
    main("")
