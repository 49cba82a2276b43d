"""The records of failure analysis: decisive steps, failure modes, and how modes changed between runs."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, Literal

from fairtrial.errors import UsageError
from fairtrial.records.record import Displayed, Record
from fairtrial.records.score import FaultSide
from fairtrial.records.summary import Estimate

StepKind = Literal["user", "message", "thought", "call", "result", "reply"]
"""The content at a decisive step. `message` is a message of the agent before its reply."""

Evidence = Literal["side", "break", "expectation", "contrast", "symptom"]
"""The source of a finding: a side that is not the agent, an agent that broke, what the case expects, attempts at the
same case that passed, or a symptom in the conversation itself."""


class DecisiveStep(Record, frozen=True):
    """A step of a conversation. Invocations and steps count from 1.

    `step` is the place among the steps of the invocation. It is None for the message of the user and for the reply.
    `ordinal` is the place in the whole conversation, where each message, thought, call and result counts.
    """

    invocation: int
    step: int | None
    kind: StepKind
    ordinal: int
    text: str = ""

    @property
    def place(self) -> str:
        """The place in words, for example `invocation 2, step 3`."""
        if self.step is not None:
            return f"invocation {self.invocation}, step {self.step}"
        return f"invocation {self.invocation}, {'message of the user' if self.kind == 'user' else 'reply'}"


class Signature(Record, frozen=True):
    """What a person would say about a failure in one line, in fields.

    `kind` is the kind of the difference. `tool` and `field` name the tool and its argument, a key of the state or a
    rubric. `criterion` is the criterion that failed if nothing more is known. `template` is the text of an error with
    slots in place of ids, numbers and quotes.
    """

    kind: str
    tool: str = ""
    field: str = ""
    criterion: str = ""
    template: str = ""


class FailedAttempt(Record, frozen=True):
    """An attempt that did not pass: where it went wrong, and the mode that it belongs to.

    `step` is None if nothing known says where, and `reason` then says why. `evidence` is None in that case. `mode` is
    the number of the mode, or None if the failure stays alone. `length` counts the characters of the conversation.
    `judged_mode` is the mode that a judge chose for a failure without one, with the words that it quoted.
    """

    position: int
    case: str
    attempt: int
    signature: Signature
    side: FaultSide
    reason: str
    step: DecisiveStep | None = None
    evidence: Evidence | None = None
    criteria: tuple[str, ...] = ()
    mode: int | None = None
    length: int = 0
    judged_mode: int | None = None
    judged_quote: str = ""


class FoundFailure(Record, frozen=True, array_like=True):
    """What was found in a failed attempt when it was scored. It is stored beside the result, as a list without names.

    Attempts at the same case that passed were not known then. `signature` and `step` hold the fields of both records.
    `features` are the properties that failures may share, and `cluster` is that of the case. Findings of another
    `version` are not used: they are made again.
    """

    version: int
    signature: tuple[str, str, str, str, str]
    side: FaultSide
    reason: str
    step: tuple[int, int | None, StepKind, int, str] | None
    evidence: Evidence | None
    criteria: tuple[str, ...]
    length: int
    features: tuple[str, ...]
    cluster: str

    def place_at(self, position: int, case: str, attempt: int, signature: Signature) -> FailedAttempt:
        """Return the failed attempt at a case. `signature` is a record of its signature, which others may share."""
        return FailedAttempt(
            position,
            case,
            attempt,
            signature,
            self.side,
            self.reason,
            None if self.step is None else DecisiveStep(*self.step),
            self.evidence,
            self.criteria,
            length=self.length,
        )


class SharedFeature(Record, frozen=True):
    """A property that is more, or less, frequent in the cases of a mode than in the cases that passed.

    `failures` and `passes` are both rates over cases. `difference` is failures minus passes, with a 95 % interval. `q`
    is the p value of Fisher's exact test, corrected for all properties of all modes (Benjamini and Hochberg 1995).
    """

    feature: str
    failures: float
    passes: float
    difference: float
    low: float
    high: float
    q: float


class FailureMode(Record, frozen=True):
    """A kind of failure. Modes count from 1.

    `of_failures` is its share of the failed attempts, and `of_cases` the share of all cases that have it. Intervals
    count a case, or a cluster of cases, as one unit.
    `repaired` is the number of cases that would pass if the mode was repaired: cases whose every failed attempt has
    this mode. `median_step` is the median of the places of the decisive steps in their conversations. `examples` are
    the most typical attempt, the least typical one, and the shortest one, each as `(case, attempt)`. Several signatures
    are one mode if rare ones joined it. `judged` counts the failures without a mode that a judge assigned to it. They
    are not among its attempts. `judged_name` is the name that a model gave it, if votes on its examples confirmed it.
    """

    number: int
    name: str
    signatures: tuple[Signature, ...]
    side: FaultSide
    cases: int
    attempts: int
    repaired: int
    of_failures: Estimate
    of_cases: Estimate
    median_step: float | None = None
    examples: tuple[tuple[str, int], ...] = ()
    shared: tuple[SharedFeature, ...] = ()
    judged: int = 0
    judged_name: str = ""


class JudgedFailures(Record, frozen=True):
    """The `questions` to a judge about failures without a mode, of which its votes assigned some to a mode.

    There were also questions about so many `names` that people gave. A model `proposed` names of modes, of which votes
    `confirmed` some. `calls` counts the calls.
    """

    questions: int = 0
    assigned: int = 0
    names: int = 0
    calls: int = 0
    proposed: int = 0
    confirmed: int = 0


class NamedFailures(Record, frozen=True):
    """A name that people gave to failures: to `attempts` of those that they read, in so many cases.

    `share` estimates its share of all failed attempts, from the probabilities with which the read ones were drawn. The
    interval counts a case as one unit. `mode` is the mode that the name means, if it is the name of a mode, or if a
    judge decides so, as `judged` shows.
    """

    name: str
    attempts: int
    cases: int
    share: Estimate = Estimate()
    mode: int | None = None
    judged: bool = False


class Failures(Displayed, frozen=True, tag_field="kind", tag="failures"):
    """The failure modes of a run, sorted by the number of cases that repairing them would win.

    `cases` and `attempts` count the whole run, `failed_cases` and `failed_attempts` those that did not pass. `alone` is
    the number of failed attempts that belong to no mode, and `unplaced` that of attempts without a decisive step.
    `tried` is the number of properties that were tested for all modes together. `notes` say what could not be known.
    `names` are those that people gave to failed attempts, and `labels` is the number of attempts that they labelled.
    `judged` is about the questions to a judge, or None if there were none.
    """

    signature: str
    run: str
    cases: int
    attempts: int
    failed_cases: int
    failed_attempts: int
    modes: tuple[FailureMode, ...]
    failed: tuple[FailedAttempt, ...] = ()
    alone: int = 0
    unplaced: int = 0
    tried: int = 0
    notes: tuple[str, ...] = ()
    names: tuple[NamedFailures, ...] = ()
    labels: int = 0
    judged: JudgedFailures | None = None

    def mode(self, number: int) -> FailureMode:
        """Return the mode with a number. Raises KeyError if there is none."""
        for mode in self.modes:
            if mode.number == number:
                return mode
        raise KeyError(number)

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return the failed attempts as a data frame of pandas or Polars. By default, it is pandas if it is installed.

        Raises UsageError if the library is not installed.
        """
        rows = [
            {
                "case": own.case,
                "attempt": own.attempt,
                "mode": own.mode,
                "kind": own.signature.kind,
                "tool": own.signature.tool,
                "field": own.signature.field,
                "side": own.side,
                "evidence": own.evidence,
                "invocation": None if own.step is None else own.step.invocation,
                "step": None if own.step is None else own.step.step,
                "reason": own.reason,
            }
            for own in self.failed
        ]
        for name in ("pandas", "polars") if library is None else (library,):
            with suppress(ImportError):
                return import_module(name).DataFrame(rows)
        raise UsageError(
            f"to_frame needs {library or 'pandas or polars'}: pip install {library or 'pandas'}", code="missing-package"
        )


class GuardCheck(Record, frozen=True):
    """A criterion that was made from a mode, and its verdicts on the attempts of the run.

    It fails `caught` of the `members` of the mode, and `alarms` of the `passes`. `sensitivity` is the share of members
    that it fails, `specificity` the share of passes that it does not fail. A `judged` criterion was not tried.

    People labelled `labels` failed attempts. Of those with the name of the mode, the criterion fails a share of
    `labelled_sensitivity`, and of the others it does not fail a share of `labelled_specificity`.
    """

    criterion: str
    judged: bool
    caught: int = 0
    members: int = 0
    alarms: int = 0
    passes: int = 0
    sensitivity: Estimate = Estimate()
    specificity: Estimate = Estimate()
    labels: int = 0
    labelled_sensitivity: Estimate = Estimate()
    labelled_specificity: Estimate = Estimate()


ModeChangeKind = Literal["new", "gone", "grown", "shrunk", "unchanged"]


class ModeChange(Record, frozen=True):
    """A mode in an earlier run and in this run. `before` and `now` are shares of cases, over the cases of both runs.

    `p` is the p value of McNemar's exact test, corrected for all modes of both runs (Holm 1979). A mode is `new`,
    `gone`, `grown` or `shrunk` only if `p` is below 0.05. `difference` is now minus before, with a 95 % interval.
    """

    change: ModeChangeKind
    name: str
    number: int | None
    cases_before: int
    cases_now: int
    before: float
    now: float
    difference: float
    low: float
    high: float
    p: float


class ModeChanges(Record, frozen=True, tag_field="kind", tag="failure-changes"):
    """The modes of two runs, the earlier run first. `cases` is the number of cases that both runs hold."""

    signature: str
    earlier: str
    run: str
    cases: int
    changes: tuple[ModeChange, ...]
    notes: tuple[str, ...] = ()


class LastingFailure(Record, frozen=True):
    """Since which run the typical case of the most frequent mode is `broken` or `flaky`, in the series of the run.

    `started` is the time of that run, and `runs` is the number of runs of the series with the case.
    """

    case: str
    state: Literal["broken", "flaky"]
    run: str
    started: str
    runs: int
