"""Run a user's own metric, with our two arguments or with ADK's four."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.errors import ConfigError, MetricError, lacks_extra
from fairtrial.formats.adk.write import invocation_json, scenario_json
from fairtrial.metrics.custom.instance_metric import takes_instance
from fairtrial.metrics.signature import signature
from fairtrial.records.contents import missing_reason
from fairtrial.records.score import Score, invocation_key
from fairtrial.system.importing import import_path
from fairtrial.text.display import describe_error

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.result import Criterion
    from fairtrial.records.trace import Invocation, Trace


def import_metric(path: str, pointer: str) -> tuple[Callable[..., Any], bool]:
    """Return the metric at an import path, and whether it takes ADK's four arguments in place of `(trace, case)`.

    Raises ConfigError if it cannot be imported, takes another number of arguments, or needs google-adk. The
    function of agents-cli, which takes one `instance`, is also allowed.
    """
    function = import_path(path, pointer)
    if inspect.isclass(function):
        function = _instance(function, pointer)
    if takes_instance(function) or not _takes_four(function, pointer):
        return function, False
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.adk") is None:
        raise ConfigError(
            f"{pointer}: {lacks_extra('a metric of four arguments', 'adk')}, or write it as (trace, case)"
        )
    return function, True


def _instance(metric_class: Callable[[], Any], pointer: str) -> Any:
    try:
        return metric_class()
    except Exception as error:
        raise ConfigError(f"{pointer}: cannot be made without arguments: {describe_error(error)}") from error


def _takes_four(function: Callable[..., Any], pointer: str) -> bool:
    """Return whether a metric takes ADK's four arguments. Raises ConfigError if it takes neither four nor two."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = _signature(function)
    positional = (
        [parameter for parameter in signature.parameters.values() if parameter.kind in kinds] if signature else []
    )
    if len(positional) == 4:
        return True
    check_takes_two(
        function,
        pointer,
        or_else=", or ADK's 4 (eval_metric, actual_invocations, expected_invocations, conversation_scenario)",
    )
    return False


def check_takes_two(metric: Any, place: str, *, or_else: str = "") -> None:
    """Raise ConfigError if a metric cannot be called with a trace and a case, as far as its signature is known."""
    if not callable(metric) or inspect.isclass(metric):
        raise ConfigError(f"{place}: must be something to call with (trace, case), got {metric!r:.80}")
    signature = _signature(metric)
    try:
        if signature is not None:
            signature.bind(None, None)
    except TypeError:
        raise ConfigError(f"{place}: must take 2 arguments (trace, case){or_else}, got {signature}") from None


def decision_threshold(criterion: Criterion) -> float:
    """Return the threshold of a criterion whose metric returns a bool: the better of its two values."""
    return 0.0 if criterion.lower_is_better else 1.0


def declares_bool(metric: Any) -> bool:
    """Whether a metric says by its annotation that it returns a bool."""
    signature = _signature(metric)
    return signature is not None and signature.return_annotation in (bool, "bool")


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def with_threshold(criterion: Criterion, threshold: float) -> Criterion:
    """Return a criterion with another threshold. A metric that was written for google-adk receives the threshold."""
    if isinstance(criterion.metric, PeerMetric):
        metric = dataclasses.replace(criterion.metric, threshold=threshold)
        criterion = replace(criterion, metric=metric, signature=signature(metric))
    return replace(criterion, threshold=threshold)


@dataclass(frozen=True, slots=True)
class PeerMetric:
    """A function that was written for google-adk. It receives google-adk's own objects."""

    function: Callable[..., Any]
    name: str
    threshold: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Translate the arguments, call the function, and take `overall_score`. A score of null is unscored."""
        if withheld := missing_reason(trace):
            return Score(None, withheld, side="infrastructure")
        from google.adk.evaluation.conversation_scenarios import ConversationScenario
        from google.adk.evaluation.eval_case import Invocation as PeerInvocation
        from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric

        def peers(invocations: tuple[Invocation, ...] | None) -> list[Any] | None:
            if invocations is None:
                return None
            # google-adk refuses a key that it does not know.
            plain = (replace(invocation, checks=()) for invocation in invocations)
            return [PeerInvocation.model_validate(invocation_json(invocation)) for invocation in plain]

        threshold = float(self.threshold or 0.0)
        criterion = BaseCriterion.model_validate({**self.options, "threshold": threshold})
        metric = EvalMetric(metric_name=self.name, criterion=criterion)
        scenario = case.scenario and ConversationScenario.model_validate(scenario_json(case.scenario))
        result = self.function(metric, peers(trace.invocations), peers(case.conversation), scenario)
        if inspect.isawaitable(result):
            result = await result
        value = getattr(result, "overall_score", None)
        parts = getattr(result, "per_invocation_results", None)
        if parts is None:
            raise MetricError(f"{self.name} must return an EvaluationResult, got {type(result).__name__}")
        return Score(
            None if value is None else float(value),
            "" if value is not None else "the metric gave no overall_score",
            parts=tuple(Score(part.score, key=invocation_key(index)) for index, part in enumerate(parts)),
        )
