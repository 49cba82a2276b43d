"""How is a model of the value fitted to traces with verdicts, and does it predict other tasks?

A logistic regression with a ridge penalty is calibrated by Platt's method on predictions for unseen tasks (Platt 1999).
The cross-validation never has a task in the fit and in the check at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.errors import UsageError
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.value_model import FitQuality, FittedFeature, Measured, ReliabilityBin, ValueModel
from fairtrial.stats.clustered import mean_of_rates
from fairtrial.valuation.trace_features import is_free, trace_features

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 10
"""The fewest tasks, and the fewest traces that passed and that failed."""
FOLDS = 5
PENALTY = 0.03
"""The inverse strength of the ridge penalty, as `C` of scikit-learn. On 200 dialogues of tau-bench, values from 0.01 to
0.1 predict other tasks equally well, and larger values predict them worse."""
_LEAST_SHARE = 0.05
"""A tool that fewer traces use has no feature of its own."""
_RESAMPLES = 500
_MOST_BINS = 10
_SEED = 20260102


class Example(NamedTuple):
    """A trace, the task that it worked on, and whether it passed."""

    trace: ReasoningTrace
    task: str
    passed: bool


class _Data(NamedTuple):
    names: list[str]
    rows: Floats
    passed: NDArray[np.int64]
    tasks: NDArray[np.int64]

    def part(self, places: NDArray[np.int64]) -> _Data:
        return _Data(self.names, self.rows[places], self.passed[places], self.tasks[places])


class _Fit(NamedTuple):
    """Weights of the raw features, so that a prediction is one product."""

    weights: Floats
    intercept: float

    def logits(self, rows: Floats) -> Floats:
        result: Floats = rows @ self.weights + self.intercept
        return result


def fit_model(examples: Sequence[Example], runs: Sequence[str]) -> ValueModel:
    """Return a model of examples. Raises UsageError if there are too few, or if it does not beat the base rate."""
    import numpy as np

    _check(examples)
    data = _data(examples)
    predictions, base = _predict_unseen(data)
    quality = _quality(data, predictions, base)
    if quality.brier_gain.low <= 0:
        gain, auc = quality.brier_gain, quality.auc
        raise UsageError(
            "no model is written, because it is not shown to predict other tasks better than the base rate: its "
            f"squared error is smaller by {gain.value:.4f} ({gain.low:.4f} to {gain.high:.4f}), and the whole interval "
            f"must be above 0; area under the curve {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}). Give more runs."
        )
    fit = _calibrated_fit(data)
    means, scales = data.rows.mean(axis=0), _scales(data.rows)
    return ValueModel(
        intercept=float(fit.intercept + means @ fit.weights),
        features=tuple(
            FittedFeature(
                name=name,
                mean=float(means[place]),
                scale=float(scales[place]),
                low=float(data.rows[:, place].min()),
                high=float(data.rows[:, place].max()),
                weight=float(fit.weights[place] * scales[place]),
            )
            for place, name in enumerate(data.names)
            if fit.weights[place]
        ),
        runs=tuple(runs),
        trace_count=len(examples),
        task_count=len(np.unique(data.tasks)),
        base_rate=float(data.passed.mean()),
        quality=quality,
    )


def _check(examples: Sequence[Example]) -> None:
    passed = sum(example.passed for example in examples)
    counts = {
        "tasks": len({example.task for example in examples}),
        "traces that passed": passed,
        "traces that failed": len(examples) - passed,
    }
    few = [f"{count} {noun}" for noun, count in counts.items() if count < FEWEST]
    if few:
        raise UsageError(
            f"a fit needs at least {FEWEST} tasks, and {FEWEST} traces of each verdict, got {', '.join(few)}"
        )


def _data(examples: Sequence[Example]) -> _Data:
    import numpy as np

    features = [trace_features(example.trace) for example in examples]
    names = [
        name
        for name in sorted(set().union(*features))
        if sum(row.get(name, 0.0) > 0 for row in features) >= _LEAST_SHARE * len(features)
    ]
    tasks = {task: number for number, task in enumerate(sorted({example.task for example in examples}))}
    return _Data(
        names,
        np.array([[row.get(name, 0.0) for name in names] for row in features], dtype=np.float64),
        np.array([example.passed for example in examples], dtype=np.int64),
        np.array([tasks[example.task] for example in examples], dtype=np.int64),
    )


def _predict_unseen(data: _Data) -> tuple[Floats, Floats]:
    """Return the prediction for each trace by a model without its task, and the base rate without its task."""
    import numpy as np

    predictions, base = np.empty(len(data.passed)), np.empty(len(data.passed))
    for training, testing in _folds(data):
        fit = _calibrated_fit(data.part(training))
        predictions[testing] = 1 / (1 + np.exp(-np.clip(fit.logits(data.rows[testing]), -30, 30)))
        base[testing] = data.passed[training].mean()
    return predictions, base


def _folds(data: _Data) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import StratifiedGroupKFold

    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=_SEED)
    return list(folds.split(data.rows, data.passed, data.tasks))


def _calibrated_fit(data: _Data) -> _Fit:
    """Return a fit whose predictions for unseen tasks are calibrated. A slope below 0 becomes 0: the base rate."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    logits = np.empty(len(data.passed))
    for training, testing in _folds(data):
        logits[testing] = _signed_fit(data.part(training)).logits(data.rows[testing])
    platt = LogisticRegression(C=1.0).fit(logits[:, None], data.passed)
    slope, offset = max(0.0, float(platt.coef_[0, 0])), float(platt.intercept_[0])
    fit = _signed_fit(data)
    return _Fit(fit.weights * slope, fit.intercept * slope + offset)


def _signed_fit(data: _Data) -> _Fit:
    """Return a ridge regression in which only free features have positive weights.

    Features with a wrong sign are left out, until none is left.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    means, scales = data.rows.mean(axis=0), _scales(data.rows)
    rows = (data.rows - means) / scales
    bounded = np.array([not is_free(name) for name in data.names])
    active = np.ones(len(data.names), dtype=bool)
    weights = np.zeros(len(data.names))
    intercept = 0.0
    while active.any():
        regression = LogisticRegression(C=PENALTY, max_iter=1000).fit(rows[:, active], data.passed)
        weights[:] = 0.0
        weights[active] = regression.coef_[0]
        intercept = float(regression.intercept_[0])
        wrong = bounded & (weights > 0)
        if not wrong.any():
            break
        active &= ~wrong
        weights[wrong] = 0.0
    weights = weights / scales
    return _Fit(weights, intercept - float(means @ weights))


def _scales(rows: Floats) -> Floats:
    import numpy as np

    deviations: Floats = rows.std(axis=0)
    return np.where(deviations > 0, deviations, 1.0)


def _quality(data: _Data, predictions: Floats, base: Floats) -> FitQuality:
    import numpy as np

    passed = data.passed.astype(np.float64)
    gains = (base - passed) ** 2 - (predictions - passed) ** 2
    members = [np.flatnonzero(data.tasks == task) for task in np.unique(data.tasks)]
    rng = np.random.default_rng(_SEED)
    samples = [
        np.concatenate([members[task] for task in rng.integers(len(members), size=len(members))])
        for _ in range(_RESAMPLES)
    ]
    samples = [sample for sample in samples if 0 < passed[sample].sum() < len(sample)]

    def measured(value: float, resampled: list[float]) -> Measured:
        low, high = np.quantile(resampled, [0.025, 0.975])
        return Measured(value, float(low), float(high))

    steps = -data.rows[:, data.names.index("steps")]
    return FitQuality(
        auc=measured(
            area_under_curve(passed, predictions),
            [area_under_curve(passed[sample], predictions[sample]) for sample in samples],
        ),
        calibration_error=measured(
            calibration_error(passed, predictions),
            [calibration_error(passed[sample], predictions[sample]) for sample in samples],
        ),
        brier=float(((predictions - passed) ** 2).mean()),
        brier_gain=measured(float(gains.mean()), [float(gains[sample].mean()) for sample in samples]),
        steps_auc=area_under_curve(passed, steps),
        reliability=_reliability(data, predictions),
    )


def area_under_curve(passed: Floats, predictions: Floats) -> float:
    """Return the area under the curve: how often a trace that passed is predicted above one that failed."""
    import numpy as np

    # The rank of a prediction is the mean place of all predictions that are equal to it (Mann and Whitney 1947).
    ordered = np.sort(predictions)
    low, high = np.searchsorted(ordered, predictions), np.searchsorted(ordered, predictions, side="right")
    positives = passed.sum()
    ranks = (low + high + 1)[passed > 0].sum() / 2
    return float((ranks - positives * (positives + 1) / 2) / (positives * (len(passed) - positives)))


def calibration_error(passed: Floats, predictions: Floats) -> float:
    """Return the expected calibration error over bins of equal size (Naeini et al. 2015)."""
    return float(
        sum(len(places) * abs(predictions[places].mean() - passed[places].mean()) for places in _bins(predictions))
        / len(passed)
    )


def _bins(predictions: Floats) -> list[NDArray[np.int64]]:
    """Return the places of the traces of each bin, by rising prediction."""
    import numpy as np

    count = min(_MOST_BINS, max(2, len(predictions) // 20))
    return [places for places in np.array_split(np.argsort(predictions, kind="stable"), count) if len(places)]


def _reliability(data: _Data, predictions: Floats) -> tuple[ReliabilityBin, ...]:
    bins = []
    for places in _bins(predictions):
        counts: dict[int, tuple[int, int]] = {}
        for place in places:
            successes, trials = counts.get(int(data.tasks[place]), (0, 0))
            counts[int(data.tasks[place])] = (successes + int(data.passed[place]), trials + 1)
        rate = mean_of_rates([{"passed": count} for count in counts.values()])
        interval = rate[1] if rate else None
        bins.append(
            ReliabilityBin(
                predicted=float(predictions[places].mean()),
                passed=float(data.passed[places].mean()),
                count=len(places),
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
            )
        )
    return tuple(bins)
