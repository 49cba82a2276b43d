"""A value that is fitted to verdicts: its features, its quality for other tasks, and its refusal."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import fairtrial
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.value_model import ValueModel
from fairtrial.valuation.fitted_value import encode_model, fitted_score, load_model
from fairtrial.valuation.model_fitting import Example, area_under_curve, calibration_error, fit_model
from fairtrial.valuation.trace_features import trace_features
from reasonings import reasoning

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs the extra fit")


def trace(number: int, *, calls: int, errors: int = 0, **changes: Any) -> ReasoningTrace:
    """A trace with some calls, of which the first return errors."""
    steps = [
        {
            "step_id": place,
            "type": "tool_call",
            "tool": {"name": f"tool_{place % 3}"},
            "input": {"q": place},
            "output_summary": "error: no such record" if place < errors else "one record",
        }
        for place in range(calls)
    ]
    built = knowledgepulse.build(reasoning(number, steps=steps, **changes))
    assert isinstance(built, ReasoningTrace)
    return built


def examples(*, seed: int = 1, tasks: int = 40, effect: float = 1.5) -> list[Example]:
    """Traces of tasks, three each. With more errors they pass less often, by `effect`."""
    rng = random.Random(seed)
    found = []
    for task in range(tasks):
        for attempt in range(3):
            errors = rng.randrange(4)
            chance = 1 / (1 + math.exp(effect * (errors - 1.5)))
            one = trace(3 * task + attempt, calls=4 + rng.randrange(4), errors=errors)
            found.append(Example(one, f"task {task}", rng.random() < chance))
    return found


@pytest.fixture(scope="module")
def model() -> ValueModel:
    """A model of 120 traces."""
    return fit_model(examples(), ["run-1"])


def test_a_model_predicts_other_tasks_and_says_how_well(model: ValueModel) -> None:
    """Errors matter in the data, so the model finds them. Its origin names the runs, tasks and traces."""
    weights = {feature.name: feature.weight for feature in model.features}
    assert min(weights, key=lambda name: weights[name]) == "troubles"
    assert 0.7 < model.quality.auc.low < model.quality.auc.value < model.quality.auc.high <= 1.0
    assert model.quality.brier_gain.low > 0
    assert sum(part.count for part in model.quality.reliability) == 120
    assert model.origin.startswith("fitted on 120 traces of 40 tasks of run-1")


def test_predictions_are_calibrated_on_new_tasks(model: ValueModel) -> None:
    """The mean prediction for other traces of the same kind is their share of passes."""
    others = examples(seed=2, tasks=200)
    predicted = np.mean([fitted_score(example.trace, model) for example in others])
    assert predicted == pytest.approx(np.mean([example.passed for example in others]), abs=0.07)


def test_only_numbers_about_the_objective_may_raise_a_score(model: ValueModel) -> None:
    """Everything about the steps has a weight of at most 0."""
    assert all(feature.weight <= 0 or feature.name.startswith("objective_") for feature in model.features)


def test_verdicts_without_a_pattern_are_refused() -> None:
    """If nothing in the traces tells the verdict, no model is made."""
    with pytest.raises(UsageError, match="no model is written, because it is not shown to predict other tasks"):
        fit_model(examples(effect=0.0), ["run-1"])


@pytest.mark.parametrize(
    ("few", "message"),
    [
        (examples(tasks=4), "got 4 tasks"),
        ([example._replace(passed=True) for example in examples(tasks=12)], "got 0 traces that failed"),
    ],
)
def test_too_few_examples_are_refused(few: list[Example], message: str) -> None:
    """The message says how many are needed, and how many there are."""
    with pytest.raises(UsageError, match=message):
        fit_model(few, ["run-1"])


def test_the_score_is_the_documented_formula(model: ValueModel) -> None:
    """A score can be computed by hand from the file."""
    raw = json.loads(encode_model(model))
    actual = trace(0, calls=6, errors=2)
    features = trace_features(actual)
    total = raw["intercept"]
    for feature in raw["features"]:
        number = min(feature["high"], max(feature["low"], features.get(feature["name"], 0.0)))
        total += feature["weight"] * (number - feature["mean"]) / feature["scale"]
    assert fitted_score(actual, model) == pytest.approx(1 / (1 + math.exp(-total)))


def test_features_are_logarithms_of_counts() -> None:
    """Six calls of three tools, two of which fail."""
    features = trace_features(trace(0, calls=6, errors=2))
    counts = {name: round(math.expm1(value)) for name, value in features.items()}
    assert counts == {
        "steps": 6,
        "thoughts": 0,
        "calls": 6,
        "recoveries": 0,
        "tools": 3,
        "most_used_tool": 2,
        "repeated_calls": 0,
        "troubles": 2,
        "words": 2 * 4 + 4 * 2,
        "longest_step": 4,
        "objective_words": 3,
        "objective_lines": 1,
        "calls_of:tool_0": 2,
        "calls_of:tool_1": 2,
        "calls_of:tool_2": 2,
    }


def test_claims_of_the_agent_are_no_features() -> None:
    """Confidence, success, domain and quality change nothing."""
    plain = trace(0, calls=3)
    claims: dict[str, Any] = {"outcome": {"result_summary": "Certainly solved", "confidence": 1.0}}
    claims["metadata"] = reasoning()["metadata"] | {"success": False, "quality_score": 1, "task_domain": "other"}
    assert trace_features(plain) == trace_features(trace(0, calls=3, **claims))


def test_area_under_the_curve_and_calibration_error() -> None:
    """By hand: 3 of 4 pairs are in order; and two bins of two traces miss by 0.3 and 0.1."""
    passed, predictions = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.1, 0.3, 0.4, 0.8])
    assert area_under_curve(passed, predictions) == 0.75
    assert calibration_error(passed, predictions) == pytest.approx((2 * 0.3 + 2 * 0.1) / 4)


def test_a_model_scores_beside_the_rule(model: ValueModel, tmp_path: Path) -> None:
    """`value` gives the same score with a model and without, and the fitted value beside it."""
    path = tmp_path / "model.json"
    path.write_bytes(encode_model(model))
    actual = trace(0, calls=5, errors=1)
    plain = fairtrial.value(actual, embedder="none")
    fitted = fairtrial.value(actual, embedder="none", model=path)
    assert plain.fitted is None
    assert fitted.fitted == fitted_score(actual, load_model(path))
    assert msgspec.structs.replace(fitted, fitted=None) == plain


@pytest.mark.parametrize("change", [{"format": "pickle"}, {"version": 2}, {"intercept": 1e300}, {"features": [1]}])
def test_a_file_that_is_not_a_model_is_refused(change: dict[str, Any], model: ValueModel, tmp_path: Path) -> None:
    """A model comes from a stranger: its numbers and names are checked before they are used."""
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(encode_model(model)) | change))
    with pytest.raises(FormatError, match="not a value model"):
        load_model(path)


def test_scoring_needs_no_library(model: ValueModel, tmp_path: Path) -> None:
    """scikit-learn and numpy are needed for the fit alone."""
    (tmp_path / "model.json").write_bytes(encode_model(model))
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'sklearn', 'scipy']))\n"
        "import json, sys, fairtrial\n"
        "print(fairtrial.value(json.loads(sys.argv[1]), embedder='none', model='model.json').fitted)"
    )
    arguments = [sys.executable, "-c", code, json.dumps(reasoning())]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=tmp_path)
    built = knowledgepulse.build(reasoning())
    assert isinstance(built, ReasoningTrace)
    assert float(run.stdout) == pytest.approx(fitted_score(built, model)), run.stderr
