"""The summary of a run: estimates, and their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fairtrial.records.ballot import PairAgreement
from fairtrial.records.gate import GateDecision
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Displayed, Record
from fairtrial.records.result import Verdict
from fairtrial.records.run_comparison import PassK
from fairtrial.records.score import Range


class Estimate(Record, frozen=True):
    """A number with its 95 % interval. Without an interval, `low`, `high` and `method` are None."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None


class Valid(Record, frozen=True):
    """The numbers of a criterion over valid attempts only, passed or not. It applied to `n` of these attempts."""

    n: int
    mean: Estimate = Estimate()
    pass_rate: Estimate = Estimate()


class Cascade(Record, frozen=True):
    """How the criterion that is asked before a judge did over a run, in invocations.

    It made `decisions` about some, and the judge got `questions` about the others. It answered about `audited`
    decisions, and decided `overruled` of them otherwise: `error` is their share, the mean over cases.
    """

    criterion: str
    decisions: int = 0
    questions: int = 0
    audited: int = 0
    overruled: int = 0
    error: Estimate = Estimate()


class CriterionSummary(Record, frozen=True):
    """One criterion over all attempts: the mean of its values, its pass rate, and the number of each verdict.

    `self_agreement` is the agreement of a judge with itself, `panel_agreement` that of a panel's models with each
    other, and `pair_agreements` that of each two of them. Their intervals count each case once.
    `cost` leaves out the `unpriced_calls`. `errors` counts
    attempts whose outcome is unscored because the agent failed. They do not count in `unscored` again.
    `valid` is None if the results do not say which attempts are valid. `possible` is the range that the mean could have
    if everything was scored. It is None if nothing is unscored, or if the range of the criterion is unbounded.
    `cascade` is None if no criterion is asked before the judge.
    """

    criterion: str
    mean: Estimate = Estimate()
    pass_rate: Estimate = Estimate()
    passed: int = 0
    failed: int = 0
    unscored: int = 0
    not_applicable: int = 0
    informational: int = 0
    errors: int = 0
    threshold: float | None = None
    lower_is_better: bool = False
    self_agreement: float | None = None
    panel_agreement: float | None = None
    calls: int | None = None
    calls_saved: int | None = None
    abstentions: int | None = None
    cost: float | None = None
    unpriced_calls: int = 0
    pair_agreements: tuple[PairAgreement, ...] = ()
    valid: Valid | None = None
    range: Range = Range()
    possible: tuple[float, float] | None = None
    self_agreement_interval: tuple[float, float] | None = None
    panel_agreement_interval: tuple[float, float] | None = None
    cascade: Cascade | None = None


class RunUsage(Record, frozen=True):
    """The usage of models by each side over the whole run, or None if a side reported none."""

    agent: ModelUsage | None = None
    judge: ModelUsage | None = None
    simulator: ModelUsage | None = None
    environment: ModelUsage | None = None


class SkillUse(Record, frozen=True):
    """The skills that attempts used at queries that should trigger the skill `target`.

    `counts` holds the number of attempts by what they used: a skill, several joined by " + ", or "" for no skill.
    `target` is empty if no skill under test should be used. `variant` is `with`, `old`, or the name of a description.
    """

    variant: str
    target: str
    counts: dict[str, int]


class Summary(Displayed, frozen=True):
    """A run in numbers: its verdict with reasons, its criteria, and the usage of models.

    `cases` counts the attempts by their verdict, for example `{"passed": 9, "failed": 1}`. `case_verdicts` counts the
    cases by their verdict, which the rules of `attempt_rules` make of their attempts. `invalid` counts the
    attempts that say nothing about the agent, by the side that made them invalid. `pass_k` is empty unless every case
    has two attempts that passed or failed. `decision` is about the claims of `--until-decided`. `notes` are events
    of the run that people should know, for example that a server does not take JSON schemas.
    `skill_uses` say which skills were used for which queries, if skills compete.
    """

    verdict: Verdict
    criteria: tuple[CriterionSummary, ...] = ()
    cases: dict[str, int] = {}
    invalid: dict[str, int] = {}
    reasons: tuple[str, ...] = ()
    spending: RunUsage = RunUsage()
    pass_k: tuple[PassK, ...] = ()
    decision: GateDecision | None = None
    notes: tuple[str, ...] = ()
    case_verdicts: dict[str, int] = {}
    attempt_rules: tuple[str, ...] = ()
    skill_uses: tuple[SkillUse, ...] = ()

    def with_alarms(self, alarms: Sequence[str]) -> Summary:
        """Return the summary of a run whose judges have changed: it does not pass, and the alarms are its reasons."""
        if not alarms:
            return self
        verdict = Verdict.UNSCORED if self.verdict is Verdict.PASSED else self.verdict
        return replace(self, verdict=verdict, reasons=(*self.reasons, *alarms))
