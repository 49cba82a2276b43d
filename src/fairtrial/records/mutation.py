"""Changes that were planted in recordings, and the share of them that an evaluation caught."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record

Direction = Literal["harmful", "harmless"]
"""A sound evaluation catches harmful changes, and does not mind harmless ones."""

Family = Literal["calls", "facts", "form"]
"""What a change concerns: the calls and turns of an agent, the facts of its reply, or the form of its reply."""

FEWEST_SCORES = 5
"""The smallest number of cases, and of values on each side, that can show a better threshold."""


class Mutation(Record, frozen=True):
    """A change that an operator planted in a recording. `invocation` counts from 1.

    `language` is the language of the reply that was changed, or empty if the change does not depend on a language.
    `weight` orders survivors: the most harmful change has the highest. `tool` is the tool whose answers were degraded.
    It is empty if the recording itself was changed. `family` says what the change concerns.
    """

    operator: str
    direction: Direction
    invocation: int
    language: str = ""
    weight: int = 1
    tool: str = ""
    family: Family = "facts"


class CatchRate(Record, frozen=True):
    """How many mutants were caught, of how many that got a verdict. `low` and `high` end a 95 % interval over cases.

    `name` is an operator, or a criterion. A mutant is `unscored` if the evaluation could not say whether it passes.
    """

    name: str
    caught: int
    mutants: int
    unscored: int = 0
    rate: float | None = None
    low: float | None = None
    high: float | None = None


class OperatorRate(Record, frozen=True):
    """The mutants of one operator: caught by any criterion, and by each criterion."""

    operator: str
    direction: Direction
    overall: CatchRate
    criteria: tuple[CatchRate, ...] = ()
    languages: tuple[CatchRate, ...] = ()


class CriterionRole(Record, frozen=True):
    """The part of one criterion: harmful mutants that it caught, that nothing else caught, and its false alarms.

    `sensitivity` is the rate over harmful mutants, `false_alarms` over harmless ones. With `judged`, the criterion asks
    a model: its rates say how good that judge is at planted errors, and `operators` holds its rates by operator and
    language.
    """

    criterion: str
    judged: bool
    sensitivity: CatchRate
    false_alarms: CatchRate
    caught_alone: int = 0
    operators: tuple[OperatorRate, ...] = ()


class MutantScore(Record, frozen=True):
    """The score of a mutant by one criterion, beside the threshold."""

    criterion: str
    value: float | None
    threshold: float | None
    verdict: str


Kind = Literal["vacuous", "blind", "brittle"]
"""Why a mutant was judged wrongly. Vacuous: no score moved, so that no criterion looks at what changed. Blind: a score
moved, and every verdict stayed. Brittle: a harmless change failed."""


class MutantFinding(Record, frozen=True):
    """A mutant that the evaluation judged wrongly: a harmful one that survived, or a harmless one that was caught.

    `kind` says why. `diff` holds the lines of the baseline and of the mutant that differ, with "-" and "+" before them.
    """

    case: str
    mutation: Mutation
    diff: tuple[str, ...]
    scores: tuple[MutantScore, ...]
    hint: str = ""
    kind: Kind = "blind"


class BestThreshold(Record, frozen=True):
    """The threshold of a criterion that separates harmful mutants from harmless ones and baselines best.

    `low` and `high` end a 95 % interval over resampled cases. `youden` is sensitivity plus specificity minus 1 at this
    threshold, and `youden_now` at the configured one.
    """

    criterion: str
    threshold: float
    low: float
    high: float
    youden: float
    youden_now: float


class Redundancy(Record, frozen=True):
    """Two criteria that judge the same mutants alike. `phi` is the correlation of their verdicts, -1..1."""

    first: str
    second: str
    phi: float
    mutants: int


class Fix(Record, frozen=True):
    """A criterion that was added and really run: the survivors that it caught, and its new false alarms.

    `harmless` counts the harmless mutants and baselines that passed before, and `false_alarms` those that it fails.
    """

    criterion: str
    threshold: float
    caught: int
    survivors: int
    false_alarms: int
    harmless: int


class ParaphraseCount(Record, frozen=True):
    """The paraphrases by a model whose facts prove them. `unproven` counts those that were dropped, by the reason."""

    proven: int
    unproven: dict[str, int] = {}


class Coverage(Record, frozen=True):
    """Everything that the baselines exercise, and everything that is declared and never expected.

    `tools` and `arguments` count expected calls, for example `book` and `book.day`. `errors` are tools whose results
    failed. `turns` counts cases by their number of invocations.
    """

    tools: dict[str, int] = {}
    arguments: dict[str, int] = {}
    errors: tuple[str, ...] = ()
    languages: dict[str, int] = {}
    turns: dict[int, int] = {}
    personas: tuple[str, ...] = ()
    unexpected_tools: tuple[str, ...] = ()
    unexpected_arguments: tuple[str, ...] = ()


class MutationReport(Record, frozen=True, tag_field="kind", tag="mutation"):
    """The result of mutation testing: how much a green build is worth.

    `score` is the mean of the rates of the harmful operators, each with equal weight. `false_alarm_rate` is the mean
    over the harmless operators. `exclusions` are cases whose baseline does not pass, each with the reason.
    `unused_operators` found nothing that they could change. `inert` counts mutants of an agent with the calls and
    replies of the baseline. They are in no rate. `families` are the scores of calls, facts and form, the worst first.
    `paraphrases` counts those of a model, if one was asked.
    """

    run: str
    started: str
    seed: int
    baselines: int
    exclusions: tuple[str, ...]
    score: CatchRate
    false_alarm_rate: CatchRate
    operators: tuple[OperatorRate, ...]
    criteria: tuple[CriterionRole, ...]
    survivors: tuple[MutantFinding, ...]
    false_alarms: tuple[MutantFinding, ...]
    coverage: Coverage
    unused_operators: tuple[str, ...] = ()
    inert: int = 0
    families: tuple[CatchRate, ...] = ()
    thresholds: tuple[BestThreshold, ...] = ()
    redundant: tuple[Redundancy, ...] = ()
    fixes: tuple[Fix, ...] = ()
    paraphrases: ParaphraseCount | None = None
