"""Which k traces of a set are worth keeping, by their value, by what they cover, or by both?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from fairtrial.errors import ConfigError, UsageError, lacks_extra, nearest
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.record import Record
from fairtrial.records.trace_selection import By, Per, SelectedTrace, TraceSelection
from fairtrial.text.language import language_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.valuation.facility_location import Placement

    Floats = NDArray[np.float32]

EXAMPLES = 3
"""The number of covered traces that the reasons of a selected trace name."""
_COVERAGE_SHARE = {"value": 0.0, "coverage": 1.0, "both": 0.5}
_BLOCK = 4096
_RANDOM_SELECTIONS = 20
_SEED = 7


class SelectOptions(Record, frozen=True):
    """How many traces are selected, by which goal, and with equal quotas for which groups."""

    budget: int
    by: By = "both"
    per: Per | None = None

    def check(self, *, embedded: bool) -> None:
        """Raise UsageError for options that are unknown or that do not fit together."""
        if self.budget < 1:
            raise UsageError(f"budget: must be at least 1, got {self.budget}")
        for name, choice, kinds in (("by", self.by, By), ("per", self.per, Per)):
            if choice is not None and choice not in get_args(kinds):
                allowed = ", ".join(get_args(kinds))
                raise UsageError(f"{name}: must be one of {allowed}, got {choice!r}{nearest(choice, get_args(kinds))}")
        if self.by != "value" and not embedded:
            raise UsageError(f"by {self.by!r} needs an embedder: coverage is a matter of vectors; got none")


class Candidates(NamedTuple):
    """The traces of a set: their ids, values and groups in order, and a row of unit length for each, if there are."""

    ids: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str]
    vectors: Floats | None
    embedder: str = "none"


def group_of(trace: ReasoningTrace, per: Per | None) -> str:
    """Return the group of a trace: the tool that it uses most, its language, or its domain."""
    if per == "tool":
        uses = Counter(step.tool.name for step in trace.steps if step.tool is not None)
        return min(uses, key=lambda name: (-uses[name], name), default="none")
    if per == "language":
        return language_of(trace.text)
    return trace.metadata.task_domain if per == "domain" else ""


def split_budget(budget: int, sizes: Sequence[int]) -> list[int]:
    """Return a quota for each group of these sizes. The quotas are as equal as the sizes allow.

    For example, 10 traces of groups with 2, 9 and 9 traces are split into 2, 4 and 4.
    """
    quotas = [0] * len(sizes)
    remaining = min(budget, sum(sizes))
    while remaining:
        with_room = [group for group, size in enumerate(sizes) if quotas[group] < size]
        share, surplus = divmod(remaining, len(with_room))
        for place, group in enumerate(with_room):
            quotas[group] += min(sizes[group] - quotas[group], share + (place < surplus))
        remaining = min(budget, sum(sizes)) - sum(quotas)
    return quotas


def select_traces(candidates: Candidates, options: SelectOptions) -> TraceSelection:
    """Return the selection from a set, or the whole set if it is not larger than the budget."""
    options.check(embedded=candidates.vectors is not None)
    try:
        import numpy as np

        from fairtrial.valuation.facility_location import Objective, choose, mean_cosine
    except ImportError as error:
        raise ConfigError(lacks_extra("select", "select")) from error
    names = sorted(set(candidates.groups))
    groups = np.array([names.index(group) for group in candidates.groups], dtype=np.int64)
    quotas = split_budget(options.budget, np.bincount(groups, minlength=len(names)).tolist())
    vectors = candidates.vectors
    baseline = None if vectors is None else mean_cosine(vectors)
    placement = choose(
        np.zeros((len(groups), 1), dtype=np.float32) if vectors is None else vectors,
        Objective(_COVERAGE_SHARE[options.by], np.asarray(candidates.scores, dtype=np.float64)),
        quotas,
        groups,
        baseline or 0.0,
    )
    clusters = None if vectors is None else _Clusters(vectors, placement.places, baseline or 0.0)
    return TraceSelection(
        by=options.by,
        per=options.per,
        count=len(groups),
        clients=placement.client_count,
        embedder=candidates.embedder,
        baseline=baseline,
        objective=placement.objective,
        bound=placement.bound,
        coverage=None if clusters is None else clusters.coverage,
        random_coverage=None if clusters is None else _random_coverage(clusters, len(placement.places)),
        quotas=dict(zip(names, quotas, strict=True)) if options.per else {},
        traces=tuple(_describe(rank, candidates, placement, clusters) for rank in range(len(placement.places))),
    )


def _describe(rank: int, candidates: Candidates, placement: Placement, clusters: _Clusters | None) -> SelectedTrace:
    place = placement.places[rank]
    members: dict[str, Any] = {} if clusters is None else clusters.describe(rank, candidates.ids)
    return SelectedTrace(
        id=candidates.ids[place],
        rank=rank + 1,
        gain=placement.gains[rank],
        score=candidates.scores[place],
        group=candidates.groups[place],
        **members,
    )


class _Clusters:
    """Each trace of a set with the selected trace to which it is most similar. Nothing is sampled here."""

    def __init__(self, vectors: Floats, places: Sequence[int], baseline: float) -> None:
        import numpy as np

        self.vectors, self._places, self._baseline = vectors, places, baseline
        self._nearest = np.zeros(len(vectors), dtype=np.int64)
        self._similarities = np.zeros(len(vectors), dtype=np.float32)
        for low, rows in self._blocks(places):
            self._nearest[low : low + len(rows)] = rows.argmax(axis=1)
            self._similarities[low : low + len(rows)] = rows.max(axis=1)
        # A selected trace belongs to its own cluster, also if it is equal to another selected trace.
        self._nearest[list(places)] = np.arange(len(places))
        self.coverage = float(self._similarities.mean(dtype=np.float64))
        self._order = np.lexsort((-self._similarities, self._nearest))
        self._edges = np.searchsorted(self._nearest[self._order], np.arange(len(places) + 1))

    def coverage_of(self, places: Sequence[int]) -> float:
        """Return the mean similarity of all traces to the most similar trace at these places."""
        total = sum(float(rows.max(axis=1).sum(dtype="float64")) for _, rows in self._blocks(places))
        return total / len(self.vectors)

    def describe(self, rank: int, ids: Sequence[str]) -> dict[str, Any]:
        """Return the size of a cluster, its mean similarity, and the ids of the nearest other members."""
        members = self._order[self._edges[rank] : self._edges[rank + 1]]
        others = [int(place) for place in members[: EXAMPLES + 1] if place != self._places[rank]]
        return {
            "covers": len(members),
            "similarity": float(self._similarities[members].mean()),
            "examples": tuple(ids[place] for place in others[:EXAMPLES]),
        }

    def _blocks(self, places: Sequence[int]) -> Any:
        import numpy as np

        selected = np.ascontiguousarray(self.vectors[list(places)])
        for low in range(0, len(self.vectors), _BLOCK):
            rows = self.vectors[low : low + _BLOCK] @ selected.T
            yield low, np.clip((rows - self._baseline) / (1 - self._baseline), 0.0, 1.0)


def _random_coverage(clusters: _Clusters, size: int) -> float:
    """Return the mean coverage of random selections. For a large set one selection is precise enough."""
    import numpy as np

    count = len(clusters.vectors)
    rng = np.random.default_rng(_SEED)
    times = _RANDOM_SELECTIONS if count * size <= 10**7 else 1
    return float(np.mean([clusters.coverage_of(rng.choice(count, size, replace=False).tolist()) for _ in range(times)]))
