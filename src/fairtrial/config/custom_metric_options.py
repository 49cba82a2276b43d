"""The options of an entry in `custom_metrics`: the function of a user's own metric, and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from fairtrial.config.reader import OptionRecord, Problem
from fairtrial.records.score import Range


class CodeConfig(OptionRecord, frozen=True):
    """The function that is the metric."""

    name: Annotated[
        str,
        Meta(
            description="the import path of a function `(trace, case)`, or of ADK's four arguments",
            examples=["package.module.function"],
        ),
    ]


class Interval(OptionRecord, frozen=True):
    """The values of a metric, from the lowest to the highest."""

    min_value: Annotated[float | None, Meta(description="the lowest value. Null is unbounded")] = None
    open_at_min: Annotated[bool, Meta(description="whether every value is above `min_value`")] = False
    max_value: Annotated[float | None, Meta(description="the highest value. Null is unbounded")] = None
    open_at_max: Annotated[bool, Meta(description="whether every value is below `max_value`")] = False

    def conflicts(self) -> Iterator[Problem]:
        """Yield that the interval is empty."""
        low, high = self.min_value, self.max_value
        if low is not None and high is not None and low > high:
            yield "", f"min_value must be at most max_value, got {low:g} and {high:g}"


class MetricValueInfo(OptionRecord, frozen=True):
    """The values of a metric."""

    interval: Annotated[Interval | None, Meta(description="the values of the metric. Default: 0 to 1")] = None


class MetricInfo(OptionRecord, frozen=True):
    """ADK's information about a metric. Only the interval of its values is used."""

    metric_name: Annotated[str, Meta(description="ADK's name of the metric. Not used")] = ""
    description: Annotated[str | None, Meta(description="what the metric measures. Not used")] = None
    metric_value_info: Annotated[MetricValueInfo | None, Meta(description="the values of the metric")] = None
    requires_threshold: Annotated[bool, Meta(description="ADK's hint for user interfaces. Not used")] = True


class FunctionFileOptions(OptionRecord, frozen=True):
    """A metric of agents-cli that is a function `evaluate(instance)` in a file."""

    custom_function_file: Annotated[str, Meta(description="the path of a file with a function `evaluate(instance)`")]


class InlineFunctionOptions(OptionRecord, frozen=True):
    """A metric of agents-cli that is code in the configuration."""

    custom_function: Annotated[
        str, Meta(description="Python code with a function `evaluate(instance)`. It runs only with `--allow-code`")
    ]


class CustomMetricOptions(OptionRecord, frozen=True):
    """One entry of `custom_metrics`."""

    code_config: Annotated[CodeConfig, Meta(description="the function that is the metric")]
    metric_info: Annotated[MetricInfo | None, Meta(description="ADK's information about the metric")] = None
    description: Annotated[str, Meta(description="what the metric measures. Not used")] = ""

    @property
    def range(self) -> Range:
        """The values of the metric. They are 0 to 1 if the file does not give an interval."""
        info = self.metric_info and self.metric_info.metric_value_info
        interval = info and info.interval
        if not interval or interval == Interval():
            return Range()
        return Range(interval.min_value, interval.max_value, interval.open_at_min, interval.open_at_max)
