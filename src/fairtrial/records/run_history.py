"""The records of a series of runs: a row for each run, and the steps between them."""

from __future__ import annotations

from fairtrial.records.failure_mode import DecisiveStep
from fairtrial.records.record import Displayed, Record
from fairtrial.records.run_comparison import IntervalEstimate


class HistoryStep(Record, frozen=True):
    """A change of a measure that holds. `change` is the mean difference of the cases that both sides share.

    `first` is the id of the first run after the step, and `seen_in` the id of the run that raised the alarm. `cases` is
    the number of shared cases. `evidence` is the e-value of the step.
    """

    first: str
    before: str
    seen_in: str
    evidence: float
    cases: int
    change: IntervalEstimate


class HistoryRow(Record, frozen=True):
    """A run of a series. `value` is None if no case has a value.

    `compared` is the number of cases that an earlier run of the segment has, too. `new_segment` says why the run is not
    comparable with the run before, or is empty. `date` is the author date of the commit, and `ci` the job of continuous
    integration with its page `ci_url`. `cost` is in US dollars, of all models together, and None if a part of
    it is not known. `seconds` is the time that the run took. `changed` are the models, instructions and tools that
    differ from the run before, as far as both runs know them: `model`, `instructions of AGENT` and `tools of AGENT`.
    """

    id: str
    started: str
    value: IntervalEstimate
    cases: int
    compared: int
    commit: str = ""
    dirty: bool = False
    models: tuple[str, ...] = ()
    seconds: float | None = None
    cost: float | None = None
    new_segment: str = ""
    step: HistoryStep | None = None
    date: str = ""
    ci: str = ""
    ci_url: str = ""
    tags: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class CaseLine(Record, frozen=True):
    """A case along the rows of a history: `passed` of `attempts` for each row, 0 of 0 if the run lacks the case.

    `edited` are the places of the rows before which the case was edited. `state` and `since` are those of CaseHistory.
    """

    case: str
    eval_set: str
    state: str
    since: str
    passed: tuple[int, ...]
    attempts: tuple[int, ...]
    edited: tuple[int, ...] = ()


class RunHistory(Displayed, frozen=True, tag_field="kind", tag="history"):
    """The runs of a series, the oldest first, and how often a step is false: at most one run in `false_every`.

    `series` names what the runs share, for example `{"agent": "shop.agent:reply"}`. `earlier` is the number of older
    runs that are left out. `notes` say what is not known. `cases` are ordered by when they broke: broken cases, then
    flaky ones, each with the latest first, then all others.
    """

    series: dict[str, str]
    measure: str
    is_rate: bool
    false_every: float
    rows: tuple[HistoryRow, ...]
    earlier: int = 0
    notes: tuple[str, ...] = ()
    cases: tuple[CaseLine, ...] = ()


class CaseFailure(Record, frozen=True):
    """A way in which attempts at a case failed: the decisive step, or None if nothing known says where, and why."""

    reason: str
    step: DecisiveStep | None = None
    attempts: int = 1


class CaseRun(Record, frozen=True):
    """The attempts at a case in a run. `expectation_changed` says that the case was edited since the run before.

    `failures` are the findings of failed attempts, the most frequent first, as they were made when the attempts were
    scored: attempts at the same case that passed play no part in them.
    """

    id: str
    started: str
    commit: str
    passed: int
    attempts: int
    missing: int = 0
    expectation_changed: bool = False
    failures: tuple[CaseFailure, ...] = ()


class CaseHistory(Displayed, frozen=True, tag_field="kind", tag="case_history"):
    """The attempts at a case along a series, the oldest first.

    `state` is that of the last run with the case: `broken` if no attempt passed, `flaky` if some passed, `passing` if
    all passed. It is `flaky`, too, if the runs went back and forth and the last three are not alike, and `unknown`
    without an attempt that passed or failed. `since` is the first run of that state. `pass_rate` is over the attempts
    since the case was edited. `later_runs` is the number of runs after the last one with the case.
    """

    case: str
    series: dict[str, str]
    state: str
    since: str
    pass_rate: IntervalEstimate
    runs: tuple[CaseRun, ...]
    later_runs: int = 0


class BisectedCommit(Record, frozen=True):
    """A commit that may have brought a change, with its probability and the attempts that it ran.

    `problem` says why it cannot be tested, or is empty.
    """

    commit: str
    date: str
    author: str
    title: str
    probability: float
    passed: int = 0
    attempts: int = 0
    problem: str = ""


class BisectedCase(Record, frozen=True):
    """The expected pass rates of a case before and after the change, and the probability that they differ."""

    case: str
    before: float
    after: float
    changed: float


class Bisection(Displayed, frozen=True, tag_field="kind", tag="bisection"):
    """Which commit changed the outcomes of cases. `found` is empty if no commit reached `confidence`.

    `probability` is that of the most probable commit. `commits` are in an order in which no commit comes before its
    parents, and `cases` begin with those that changed most probably. `notes` say why no commit is found.
    """

    good: str
    bad: str
    found: str
    probability: float
    confidence: float
    attempts: int
    commits: tuple[BisectedCommit, ...]
    cases: tuple[BisectedCase, ...]
    notes: tuple[str, ...] = ()


class WatchedMeasure(Record, frozen=True):
    """A measure of production traffic. `reference` is its first mean, with the interval that later values must leave.

    `count` is the number of conversations, and `recent` the mean of the last 100. `evidence` raises the alarm when it
    reaches the number of conversations between false alarms. `state` is `reference` until the reference is full, then
    `steady`, and `higher` or `lower` after an alarm. Without an alarm, it is `unknown` if most conversations have no
    value. `since` is the run with the first conversation after the change, and `seen_in` the run that raised the alarm.
    `judge` is `steady` or `drifted`, from recordings that several runs scored, and `unknown` without them.

    `corrected` is the mean of all conversations that people would give, from `labels` of them. If the labels are pass
    or fail, it is a pass rate. `repeated` conversations were scored before, and count once. `left_out` conversations
    have no outcome of the measure.
    """

    measure: str
    state: str
    count: int
    reference: IntervalEstimate
    recent: float | None = None
    evidence: float = 0
    since: str = ""
    seen_in: str = ""
    judge: str = "unknown"
    corrected: IntervalEstimate = IntervalEstimate(None)
    labels: int = 0
    repeated: int = 0
    left_out: int = 0


class WatchedTraffic(Displayed, frozen=True, tag_field="kind", tag="watched_traffic"):
    """The measures of the runs of a series of production traffic, and how rare false alarms are.

    At most one conversation in `false_every` raises a false alarm, on average and for each measure. `reference` is the
    number of conversations of the reference.
    """

    series: dict[str, str]
    reference: int
    false_every: float
    runs: int
    measures: tuple[WatchedMeasure, ...]
    notes: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[WatchedMeasure, ...]:
        """The measures that raised an alarm."""
        return tuple(measure for measure in self.measures if measure.state in ("higher", "lower"))
