"""Selects the k traces of a set that are worth keeping, by their verdict, their coverage or their value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from fairtrial.errors import ConfigError, UsageError, lacks_extra, nearest
from fairtrial.records.record import Record
from fairtrial.records.trace_selection import By, Per, SelectedTrace, TraceSelection
from fairtrial.text.language import detect_language
from fairtrial.valuation.near_duplicates import DedupOptions, DuplicateFinder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.records.reasoning import ReasoningTrace
    from fairtrial.valuation.facility_location import Placement

    Floats = NDArray[np.float32]

EXAMPLES = 3
"""The number of covered traces that the reasons of a selected trace name."""
_BLOCK = 4096
_RANDOM_SELECTIONS = 20
_SEED = 7


class SelectOptions(Record, frozen=True):
    """How many traces are selected, by which goal, and with equal quotas for which groups."""

    budget: int
    by: By = "verdict"
    per: Per | None = None

    def check(self, *, embedded: bool) -> None:
        """Raise UsageError for options that are unknown or that do not fit together."""
        if find_spec("numpy") is None:
            raise ConfigError(lacks_extra("select", "select"))
        if self.budget < 1:
            raise UsageError(f"budget: must be at least 1, got {self.budget}")
        for name, choice, kinds in (("by", self.by, By), ("per", self.per, Per)):
            if choice is not None and choice not in get_args(kinds):
                allowed = ", ".join(get_args(kinds))
                raise UsageError(
                    f"{name}: must be one of {allowed}, got {choice!r}{nearest(choice, get_args(kinds))}",
                    code="unknown-name",
                )
        if self.by != "value" and not embedded:
            raise UsageError(
                f"by {self.by!r} needs an embedder: coverage is a matter of vectors; got none", code="missing-option"
            )


class Candidates(NamedTuple):
    """The traces of a set: their ids, values and groups in order, and a row of unit length for each, if there are.

    The places in `repeated` cannot be selected. By the verdict, those in `failed` cannot, either. Their traces still
    count as a part of the set to cover.
    """

    ids: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str]
    vectors: Floats | None
    embedder: str = "none"
    failed: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()

    def find_open(self, by: By) -> list[int]:
        """Return the places of the traces that can be selected."""
        closed = self.failed | self.repeated if by == "verdict" else self.repeated
        return [place for place in range(len(self.ids)) if place not in closed]


class EligibilityCheck:
    """Finds the traces of a set that failed, and those that repeat an earlier trace that can be selected."""

    def __init__(self, by: By) -> None:
        self._by = by
        self._finder = DuplicateFinder(DedupOptions())
        self._count = 0
        self.failed: set[int] = set()
        self.repeated: set[int] = set()

    def add(self, traces: Sequence[ReasoningTrace]) -> None:
        """Check the next traces of the set. By verdict, a failed trace does not make a later trace a repetition."""
        for place, trace in enumerate(traces, self._count):
            if not trace.metadata.success:
                self.failed.add(place)
                if self._by == "verdict":
                    continue
            if self._finder.find([trace])[0] is not None:
                self.repeated.add(place)
        self._count += len(traces)


def choose_group(trace: ReasoningTrace, per: Per | None) -> str:
    """Return the group of a trace: the tool that it uses most, its language, or its domain."""
    if per == "tool":
        uses = Counter(step.tool.name for step in trace.steps if step.tool is not None)
        return min(uses, key=lambda name: (-uses[name], name), default="none")
    if per == "language":
        return detect_language(trace.text)
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
    import numpy as np

    from fairtrial.valuation.facility_location import Objective, choose, mean_cosine

    places = candidates.find_open(options.by)
    if not places:
        raise UsageError(
            "nothing to select by verdict: no trace passed; select by coverage to allow failed traces",
            code="too-little-data",
        )
    names = sorted({candidates.groups[place] for place in places})
    numbers = {name: number for number, name in enumerate(names)}
    # The group after the last holds the traces that cannot be selected. Its quota is 0.
    groups = np.full(len(candidates.ids), len(names), dtype=np.int64)
    groups[places] = [numbers[candidates.groups[place]] for place in places]
    quotas = [*split_budget(options.budget, np.bincount(groups[places], minlength=len(names)).tolist()), 0]
    vectors = candidates.vectors
    baseline = None if vectors is None else mean_cosine(vectors)
    placement = choose(
        np.zeros((len(groups), 1), dtype=np.float32) if vectors is None else vectors,
        Objective(float(options.by != "value"), np.asarray(candidates.scores, dtype=np.float64)),
        quotas,
        groups,
        baseline or 0.0,
    )
    clusters = None if vectors is None else _Clusters(vectors, placement.places, baseline or 0.0)
    return TraceSelection(
        by=options.by,
        per=options.per,
        count=len(groups),
        failed=len(candidates.failed) if options.by == "verdict" else None,
        repeated=len(candidates.repeated),
        clients=placement.client_count,
        embedder=candidates.embedder,
        baseline=baseline,
        objective=placement.objective,
        bound=placement.bound,
        coverage=None if clusters is None else clusters.coverage,
        random_coverage=None if clusters is None else _random_coverage(clusters, places, len(placement.places)),
        quotas=dict(zip(names, quotas[:-1], strict=True)) if options.per else {},
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
        passed=place not in candidates.failed,
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

    def measure_coverage(self, places: Sequence[int]) -> float:
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


def _random_coverage(clusters: _Clusters, places: Sequence[int], size: int) -> float:
    """Return the mean coverage of random selections of these places. For a large set, one is precise enough."""
    import numpy as np

    count = len(clusters.vectors)
    rng = np.random.default_rng(_SEED)
    times = _RANDOM_SELECTIONS if count * size <= 10**7 else 1
    selections = (rng.choice(places, size, replace=False).tolist() for _ in range(times))
    return float(np.mean([clusters.measure_coverage(selection) for selection in selections]))
