"""An entry of the catalog of criteria: the purpose, the needs and the metric of a criterion."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.option import Option, list_options
from fairtrial.judge.judge_options import JudgeOptions
from fairtrial.records.record import Record
from fairtrial.records.score import Range

if TYPE_CHECKING:
    from fairtrial.records.result import Aggregation


class SharedOptions(Record, frozen=True):
    """Options that belong to a criterion and not to its metric."""

    judge_model_options: Annotated[
        JudgeOptions | None, Meta(description="the judge: its models, their settings and the votes")
    ] = None
    backend: Annotated[
        Literal["judge", "vertex"] | None,
        Meta(
            description="`vertex` is Vertex AI's evaluation service (extra `vertex`). By default it is used if "
            "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are set and the extra is installed"
        ),
    ] = None
    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="ADK has this option in every criterion. It is not used here")
    ] = False


JUDGE, BACKEND, _INTERIM = list_options(SharedOptions)
INTERIM = replace(_INTERIM, tolerated=True)
"""ADK may write this option into every criterion."""


def shared_options(own: tuple[Option, ...], *, judged: bool, served: bool) -> tuple[Option, ...]:
    """Return the options of a criterion: the shared options that apply, and those of its metric."""
    return (*([JUDGE] if judged else []), *([BACKEND] if served else []), *own)


def _import_metric(path: str) -> type:
    """Return the metric of a path such as "safety:Safety". A metric is imported only if a run needs it."""
    module, name = path.split(":")
    metric: type = getattr(importlib.import_module(f"fairtrial.metrics.{module}"), name)
    return metric


@dataclass(frozen=True)
class VertexMetric:
    """A criterion at Vertex AI's evaluation service: the service's name of it, and the metric that asks the service."""

    name: str
    metric_path: str

    @property
    def metric(self) -> type:
        """The metric that asks the service."""
        return _import_metric(self.metric_path)


@dataclass(frozen=True)
class CatalogEntry:
    """A criterion: its purpose, its needs, and the metric behind it.

    An `always_computed` criterion is part of every run. Without a threshold in the configuration it only informs.
    `measured_in` is the symbol of its unit of measure, for example s. `aggregation` says which number decides.
    """

    name: str
    summary: str
    when: str
    needs: str
    unit: str
    simulated_user: str
    metric_path: str
    range: Range = field(default_factory=Range)
    lower_is_better: bool = False
    sample: Any = 1.0
    always_computed: bool = False
    vertex: VertexMetric | None = None
    measured_in: str = ""
    aggregation: Aggregation = "parts"

    @property
    def metric(self) -> type:
        """The metric."""
        return _import_metric(self.metric_path)

    @property
    def judged(self) -> bool:
        """Whether the metric asks a judge."""
        return "judge" in {metric_field.name for metric_field in fields(self.metric)}

    @property
    def compares_replies(self) -> bool:
        """Whether it compares each reply with its expectation without a model, so that it may decide before a judge."""
        return self.unit == "invocation" and self.needs in {"reference", "checks"} and not self.judged

    @property
    def range_words(self) -> str:
        """The range, and the better direction. For example: "0..1 up"."""
        high = "" if self.range.high is None else f"{self.range.high:g}"
        return f"{self.range.low:g}..{high} {'down' if self.lower_is_better else 'up'}"

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of the criterion, without its threshold."""
        return shared_options(list_options(self.metric), judged=self.judged, served=self.vertex is not None)

    @property
    def accepted_options(self) -> tuple[Option, ...]:
        """The options, and the option that ADK accepts in every criterion."""
        return self.options if INTERIM.name in {option.name for option in self.options} else (*self.options, INTERIM)
