"""How does the quality of a fitted value look in a terminal?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.records.value_model import Measured, ValueModel
from fairtrial.text.display import shortened, visible_line

if TYPE_CHECKING:
    from rich.console import Console


def print_fit(console: Console, model: ValueModel) -> None:
    """Print what a model was fitted on, how well it predicts other tasks, and its weights."""
    from fairtrial.reports.rows import Rows

    quality = model.quality
    console.print(
        f"{model.trace_count:,} traces of {model.task_count:,} tasks, of which {model.base_rate:.1%} passed; "
        "cross-validated by task"
    )
    console.print(f"area under the curve        {_measured(quality.auc)}; of fewer steps alone {quality.steps_auc:.3f}")
    console.print(f"expected calibration error  {_measured(quality.calibration_error)}")
    gain = _measured(quality.brier_gain)
    console.print(f"squared error               {quality.brier:.4f}, smaller than the base rate's by {gain}")
    table = Rows(("predicted", "passed", "95 % interval", "traces"))
    for part in quality.reliability:
        interval = "–" if part.low is None or part.high is None else f"{part.low:.3f} to {part.high:.3f}"
        table.add(f"{part.predicted:.3f}", f"{part.passed:.3f}", interval, str(part.count))
    console.print(table)
    weights = Rows(("feature", "weight"))
    for feature in sorted(model.features, key=lambda feature: -abs(feature.weight)):
        weights.add(visible_line(shortened(feature.name, 80)), f"{feature.weight:+.3f}")
    console.print(weights)


def _measured(number: Measured) -> str:
    return f"{number.value:.4f} ({number.low:.4f} to {number.high:.4f})"
