"""What is the fitted value of a trace, and where does its model come from?"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import msgspec

from fairtrial.errors import FormatError, UsageError
from fairtrial.records.decoding import json_decoder
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.value_model import ValueModel
from fairtrial.valuation.trace_features import trace_features


def fitted_score(trace: ReasoningTrace, model: ValueModel) -> float:
    """Return the probability that a trace passes, 0..1, by a fitted model."""
    features = trace_features(trace)
    total = model.intercept
    for feature in model.features:
        number = min(feature.high, max(feature.low, features.get(feature.name, 0.0)))
        total += feature.weight * (number - feature.mean) / feature.scale
    # Two forms of the same number, so that no exponential overflows.
    return 1 / (1 + math.exp(-total)) if total >= 0 else math.exp(total) / (1 + math.exp(total))


def load_model(path: str | Path) -> ValueModel:
    """Return the model in a file. Raises UsageError if there is none, and FormatError if it is not a model."""
    place = Path(path)
    try:
        return _decode(place.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def encode_model(model: ValueModel) -> bytes:
    """Return a model as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n"


@lru_cache(maxsize=4)
def _decode(data: bytes, place: str) -> ValueModel:
    try:
        return json_decoder(ValueModel).decode(data)
    except msgspec.MsgspecError as error:
        raise FormatError(place, [f"not a value model that `fairtrial value fit` wrote: {error}"]) from error
