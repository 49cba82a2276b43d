"""The record of a choice among judges, and of its test on labels that had no part in the choice."""

from __future__ import annotations

from fairtrial.records.record import Json, Record
from fairtrial.records.run_comparison import RowVerdict
from fairtrial.records.summary import Estimate


class JudgeOnLabels(Record, frozen=True):
    """A judge on labelled outcomes.

    `loss` is the mean cost of its wrong verdicts for an outcome, in the units of the costs that the user stated.
    `unread` counts the outcomes without a verdict of the judge. They count as wrong in every number, except in `kappa`.
    `cost` is in US dollars for an outcome, and None if it is not known. `seconds` are the sum over the calls of an
    outcome. `on_frontier` says that no other judge is both cheaper and better on these labels.
    """

    name: str
    labels: int
    loss: float
    accuracy: Estimate = Estimate()
    sensitivity: Estimate = Estimate()
    specificity: Estimate = Estimate()
    kappa: Estimate = Estimate()
    unread: int = 0
    cost: float | None = None
    seconds: float | None = None
    on_frontier: bool = False


class ChangedVerdict(Record, frozen=True):
    """A labelled outcome on which the current and the chosen judge differ. A verdict of None could not be read."""

    key: str
    people: bool
    before: bool | None
    after: bool | None


class JudgeChoice(Record, frozen=True, tag_field="kind", tag="judge choice"):
    """The judge that labels chose, and what it gains on labels that had no part in the choice.

    `searched` are all judges on the labels that chose, so that their numbers flatter. `before` is the current judge and
    `after` the chosen one, both on the labels of the test. `gain` is the loss of the current judge less that of the
    chosen one. `verdict` is about this gain. `floors` are the least sensitivity and specificity that the user wants,
    and `holds` says of each whether the test shows that the chosen judge reaches it: None if the labels do not decide.
    `changes` are the options of the criterion that make the chosen judge of the current one. `tests` counts the tests
    of this criterion with these labels, this one included. It is not included if the current judge stays and no floor
    is asked for, because nothing is claimed then. `spent` is in US dollars, and
    None if it is not known. `runs` are those that were read, and `labels_digest` is the SHA-256 of the labels.
    """

    criterion: str
    searched: tuple[JudgeOnLabels, ...]
    before: JudgeOnLabels
    after: JudgeOnLabels
    gain: Estimate
    verdict: RowVerdict
    search_labels: int
    test_labels: int
    changes: dict[str, Json] = {}
    changed: tuple[ChangedVerdict, ...] = ()
    languages: dict[str, tuple[JudgeOnLabels, JudgeOnLabels]] = {}
    false_pass_cost: float = 1.0
    false_fail_cost: float = 1.0
    floors: dict[str, float] = {}
    holds: dict[str, bool | None] = {}
    seed: int = 1
    tests: int = 1
    calls: int = 0
    spent: float | None = None
    runs: tuple[str, ...] = ()
    labels_digest: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_better(self) -> bool:
        """Whether the test shows that the chosen judge loses less than the current one."""
        return self.verdict == "better"

    @property
    def holds_all(self) -> bool:
        """Whether the test shows every floor that the user wants."""
        return all(self.holds.values())
