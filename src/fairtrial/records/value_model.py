"""What is a fitted model of the value of traces, and how good is it?"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fairtrial.records.record import Record

Finite = Annotated[float, Meta(ge=-1e9, le=1e9)]


class Measured(Record, frozen=True):
    """A number with its 95 % interval over tasks."""

    value: float
    low: float
    high: float


class ReliabilityBin(Record, frozen=True):
    """Traces with similar predictions: their mean prediction, and the share of them that passed, with an interval."""

    predicted: float
    passed: float
    count: int
    low: float | None
    high: float | None


class FitQuality(Record, frozen=True):
    """The quality of predictions for traces of tasks that the model did not see, by cross-validation.

    `auc` is the area under the curve, `calibration_error` the expected calibration error, and `brier` the mean squared
    error. `brier_gain` is the amount by which it is smaller than that of the base rate. `steps_auc` is the area under
    the curve of "fewer steps", for comparison.
    """

    auc: Measured
    calibration_error: Measured
    brier: float
    brier_gain: Measured
    steps_auc: float
    reliability: tuple[ReliabilityBin, ...]


class FittedFeature(Record, frozen=True):
    """A feature of the model: its name, mean, spread and range among the traces of the fit, and its weight."""

    name: str
    mean: Finite
    scale: Annotated[float, Meta(gt=0.0, le=1e9)]
    low: Finite
    high: Finite
    weight: Finite


class ValueModel(Record, frozen=True):
    """A model that predicts whether a trace passes. It is stored as JSON, and computed without any library.

    The score is 1 / (1 + exp(-z)) with z = intercept + the sum of weight * (feature - mean) / scale.
    A feature below `low` counts as `low`, and above `high` as `high`, because the fit saw nothing beyond them.
    """

    intercept: Finite
    features: tuple[FittedFeature, ...]
    runs: tuple[str, ...]
    trace_count: int
    task_count: int
    base_rate: float
    quality: FitQuality
    format: Literal["fairtrial value model"] = "fairtrial value model"
    version: Literal[1] = 1

    @property
    def origin(self) -> str:
        """What the model was fitted on, in a sentence."""
        auc = self.quality.auc
        return (
            f"fitted on {self.trace_count:,} traces of {self.task_count:,} tasks of {', '.join(self.runs)}, of which "
            f"{self.base_rate:.0%} passed; area under the curve for other tasks {auc.value:.3f} "
            f"({auc.low:.3f} to {auc.high:.3f})"
        )
