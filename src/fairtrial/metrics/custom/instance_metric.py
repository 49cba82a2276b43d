"""Run metrics that were written for agents-cli. They take one `instance`, a dictionary of the whole case."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.errors import MetricError
from fairtrial.formats.adk.write import content_json
from fairtrial.records.contents import missing_reason
from fairtrial.records.score import Score
from fairtrial.system.importing import FILE_PREFIX

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Trace


def takes_instance(function: Callable[..., Any]) -> bool:
    """Whether a function takes the one argument of agents-cli, as `def evaluate(instance)` does.

    The name counts, because a function of one argument with another name is probably a `(trace, case)` that lacks one.
    """
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return names == ["instance"] or (len(names) == 1 and getattr(function, "__name__", "") == "evaluate")


@dataclass(frozen=True, slots=True)
class InstanceMetric:
    """A function that was written for agents-cli. It returns a number, or `{"score": ..., "explanation": ...}`."""

    function: Callable[..., Any]
    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the metric again in another process. Raises TypeError for a function of a file."""
        if self.function.__module__.startswith(FILE_PREFIX):
            raise TypeError("another process cannot import a function of a file by its name")
        return InstanceMetric, (self.function, self.name)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Call the function with the case and the recorded conversation. A score of null is unscored."""
        if withheld := missing_reason(trace):
            return Score(None, withheld, side="infrastructure")
        result = self.function(make_instance(trace, case))
        if inspect.isawaitable(result):
            result = await result
        explanation = ""
        if isinstance(result, dict) and "score" in result:
            explanation, result = str(result.get("explanation") or ""), result["score"]
        if result is None:
            return Score(None, explanation or "the metric gave no score")
        if not isinstance(result, int | float):
            raise MetricError(f"{self.name} must return a number or {{'score': number}}, got {type(result).__name__}")
        return Score(float(result), explanation)


def make_instance(trace: Trace, case: EvalCase) -> dict[str, Json]:
    """Return the keys that agents-cli gives: the dataset's case, with the conversation and its last reply."""
    from fairtrial.formats.agents_cli.write_dataset import instance_json  # only functions of agents-cli take one

    instance = instance_json(case, trace)
    if trace.invocations:
        last = trace.invocations[-1]
        instance["prompt"] = content_json(last.user, "user")
        instance["response"] = last.final_response and content_json(last.final_response, "model")
    return instance
