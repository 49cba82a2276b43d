"""How much is the reasoning of a trace worth to others? KnowledgePulse's value score as a criterion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.errors import CaseError, UsageError
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace
from fairtrial.records.value_row import Nearest
from fairtrial.valuation.embed import embedder
from fairtrial.valuation.from_trace import from_trace
from fairtrial.valuation.trace_value import ScoringContext, TraceValue, add_novelty, score_structure

if TYPE_CHECKING:
    from fairtrial.valuation.novelty import VectorCache


@dataclass(frozen=True, slots=True)
class ReasoningValue:
    """`trace_value_v1`: the value of the whole trace, by the default weights.

    Unscored where confidence or success is neither in the trace nor given. Novelty is measured against `index` alone,
    else 0.5: never against the other cases, whose order is an accident.
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
        """Value the trace; its parts stand in the reason, because the value is no mean of them."""
        try:
            reasoning = from_trace(trace, confidence=self.confidence, success=self.success, name=case.id)
            nearest, by = self._nearest(reasoning.text)
        except CaseError as error:
            return Score(None, str(error))
        except UsageError as error:  # of the index, or of the embedder that made it
            return Score(None, str(error), side="infrastructure")
        return _score(
            add_novelty(
                score_structure(reasoning),
                nearest,
                ScoringContext(mode="corpus" if self.index else "none", embedder=by),
            )
        )

    def _nearest(self, text: str) -> tuple[Nearest | None, str]:
        if self.index is None:
            return None, "none"
        path = Path(self.index)
        changed = path.stat().st_mtime_ns if path.exists() else 0
        index, by = _index(self.index, changed)
        made = embedder(by)
        if made is None:
            raise UsageError(f"{self.index}: does not say which embedder made its vectors")
        return index.search(made([text]))[0], by


@lru_cache(maxsize=4)
def _index(path: str, changed: int) -> tuple[VectorCache, str]:  # noqa: ARG001  # read again when the file has changed
    from fairtrial.valuation.novelty import VectorCache

    return VectorCache.load(path), VectorCache.made_by(path)


def _score(found: TraceValue) -> Score:
    parts = (
        f"complexity {found.complexity:.3f}, novelty {found.novelty:.3f}, tool diversity {found.tool_diversity:.3f}, "
        f"outcome confidence {found.outcome_confidence:.3f}"
    )
    said = [parts, *found.overrides, *found.warnings]
    if found.nearest is not None:
        said.append(f"nearest {found.nearest.id} ({found.nearest.cosine:.3f})")
    return Score(found.score, "; ".join(said))
