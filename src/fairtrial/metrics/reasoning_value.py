"""The criterion `trace_value_v1`: KnowledgePulse's value score of a trace's reasoning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.errors import CaseError, UsageError
from fairtrial.records.contents import CONTENTS, withheld_reason
from fairtrial.records.score import Score
from fairtrial.valuation.embed import Reservations
from fairtrial.valuation.from_trace import from_trace
from fairtrial.valuation.trace_value import (
    ScoringContext,
    TraceValue,
    add_novelty,
    content_digest,
    score_structure,
)
from fairtrial.valuation.whole_trace import embed_traces, trace_embedder, trace_limits

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.reasoning import ReasoningTrace
    from fairtrial.records.trace import Trace
    from fairtrial.records.value_row import Nearest
    from fairtrial.valuation.novelty import VectorCache
    from fairtrial.valuation.segmented_index import SegmentedIndex


@dataclass(frozen=True, slots=True)
class ReasoningValue:
    """`trace_value_v1`: the value of the whole trace, by the default weights.

    The score is unscored if confidence or success is neither in the trace nor in the options. Novelty is measured
    against `index`, and is 0.5 without it. Other cases of the run do not count, because their order is arbitrary.
    """

    confidence: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="the agent's confidence, if a trace has none")
    ] = None
    success: Annotated[bool | None, Meta(description="whether the goal was reached, if a trace does not say so")] = None
    index: Annotated[
        str | None, Meta(description="the path of a novelty index that `fairtrial value --index` saved")
    ] = None

    def __post_init__(self) -> None:
        check_options(self)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Return the value of the trace. Its dimensions stand in the reason, because the value is not their mean."""
        try:
            reasoning = from_trace(trace, confidence=self.confidence, success=self.success, name=case.id)
            nearest, embedder_name, limits = self._nearest(reasoning)
        except CaseError as error:
            is_withheld = bool(withheld_reason(trace.invocations, CONTENTS))
            return Score(None, str(error), side="infrastructure" if is_withheld else None)
        except UsageError as error:  # the index, or the embedder that made it, cannot be used
            return Score(None, str(error), side="infrastructure")
        return _score(
            add_novelty(
                score_structure(reasoning),
                nearest,
                ScoringContext(mode="corpus" if self.index else "none", embedder=embedder_name),
                limits,
            )
        )

    def _nearest(self, trace: ReasoningTrace) -> tuple[Nearest | None, str, Reservations]:
        if self.index is None:
            return None, "none", Reservations()
        path = Path(self.index)
        changed_at = path.stat().st_mtime_ns if path.exists() else 0
        index, embedder_name = _index(self.index, changed_at)
        embed = trace_embedder(embedder_name)
        if embed is None:
            raise UsageError(f"{self.index}: does not say which embedder made its vectors")
        vectors = embed_traces([trace], embed)
        nearest = index.search(vectors, ids=[trace.id], digests=[content_digest(trace)])[0]
        return nearest, embedder_name, trace_limits([trace], embed)[0]


@lru_cache(maxsize=4)
def _index(
    path: str,
    changed_at: int,  # noqa: ARG001  # a changed file is read again
) -> tuple[VectorCache | SegmentedIndex, str]:
    from fairtrial.valuation.novelty import VectorCache
    from fairtrial.valuation.opened_index import open_saved

    return open_saved(Path(path)), VectorCache.read_embedder(path)


def _score(value: TraceValue) -> Score:
    dimensions = (
        f"complexity {value.complexity:.3f}, novelty {value.novelty:.3f}, tool diversity {value.tool_diversity:.3f}, "
        f"outcome confidence {value.outcome_confidence:.3f}"
    )
    reasons = [dimensions, *value.overrides, *value.warnings]
    if value.nearest is not None:
        reasons.append(f"nearest {value.nearest.id} ({value.nearest.cosine:.3f})")
    return Score(value.score, "; ".join(reasons))
