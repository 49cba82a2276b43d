"""The record of selected traces, with the reason for each."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record

By = Literal["verdict", "coverage", "value"]
Per = Literal["tool", "language", "domain"]


class SelectedTrace(Record, frozen=True):
    """One selected trace with the reasons for its selection.

    `gain` is the amount that it added to the objective when it was selected. `covers` counts the traces whose most
    similar selected trace it is, itself included, `similarity` is their mean similarity to it, and `examples` names the
    nearest of them. `score` is its value, and `passed` is its verdict. Without vectors, what it
    covers is not known.
    """

    id: str
    rank: int
    gain: float
    score: float
    passed: bool
    group: str
    covers: int | None = None
    similarity: float | None = None
    examples: tuple[str, ...] = ()

    @property
    def coverage(self) -> str:
        """The number of covered traces and some of their ids, or nothing without vectors."""
        if self.covers is None:
            return ""
        examples = f", for example {', '.join(self.examples)}" if self.examples else ""
        return f"{self.covers:,} {'trace' if self.covers == 1 else 'traces'}{examples}"

    @property
    def reason(self) -> str:
        """The reason in a sentence."""
        covers = f", covers {self.coverage}" if self.coverage else ""
        return f"{'passed' if self.passed else 'failed'}, value {self.score:.3f}{covers}"


class TraceSelection(Record, frozen=True):
    """The traces that were selected from a set of `count`, and how good the selection is.

    Of the set, `failed` traces did not pass and `repeated` traces repeat an earlier trace, so that they could not be
    selected. `failed` is None if the verdict does not count.
    `objective` is the number that was maximised, and no other selection of the same size has more than `bound`. If
    `clients` is less than `count`, a sample of so many traces stood for all of them, and the bound holds with a
    confidence of 99 %. `coverage` is the mean similarity of all traces to their most similar selected trace, from 0,
    as similar as two arbitrary traces of the set, to 1. `random_coverage` is the mean coverage of random selections of
    the same size.
    """

    by: By
    per: Per | None
    count: int
    failed: int | None
    repeated: int
    clients: int
    embedder: str
    baseline: float | None
    objective: float
    bound: float
    coverage: float | None
    random_coverage: float | None
    quotas: dict[str, int]
    traces: tuple[SelectedTrace, ...]

    @property
    def least_share(self) -> float:
        """The share of the best possible objective that the selection reaches at least."""
        return 1.0 if self.bound <= 0 else min(1.0, self.objective / self.bound)
