"""Measure judges on labelled outcomes: from stored replies, or with calls within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.analysis.alignment.judge_selection import Candidate, ChoiceTerms, measure_judge
from fairtrial.api.alignment.judge_candidates import (
    ChangedJudge,
    Voter,
    count_votes,
    distinct_voters,
    list_criterion_voters,
    list_run_voters,
    list_thresholds,
)
from fairtrial.api.alignment.rescoring import Place, Rescored, Rescoring, StoredOnly, with_threshold
from fairtrial.errors import UsageError
from fairtrial.judge.ballot_costs import Reusable
from fairtrial.judge.judges import Judges
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.analysis.alignment.label_split import LabelledOutcome
    from fairtrial.api.alignment.criterion_config import CriterionConfig
    from fairtrial.api.alignment.labelled_run import LabelledRun
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.judging.judge_choice import JudgeOnLabels
    from fairtrial.records.record import Json

CURRENT = ChangedJudge("the current judge")
_VERDICTS = {Verdict.PASSED: True, Verdict.FAILED: False}
_FIRST_PART = 3
"""Many judges that cost calls are first measured on one outcome of so many."""


@dataclass(frozen=True)
class Measurement:
    """A judge with its outcomes, and its numbers on the labels on which it was measured."""

    judge: ChangedJudge
    rescored: Rescored
    candidate: Candidate
    numbers: JudgeOnLabels


class JudgeSearch:
    """The judges of a criterion on the labelled outcomes of a run.

    Without `judges` no model is called: replies come from the stored runs alone. A judge whose replies are missing, or
    are not made because the budget is used up, is left out.
    """

    def __init__(
        self,
        config: CriterionConfig,
        runs: Sequence[Run],
        labelled: LabelledRun,
        terms: ChoiceTerms,
        judges: Judges | None = None,
        models: Sequence[str] = (),
    ) -> None:
        self.config = config
        self.labelled = labelled
        self.terms = terms
        self.omissions: list[str] = []
        of_runs: list[Voter] = [voter for run in runs for voter in list_run_voters(run.info, config.name)]
        of_runs += [{"model": name} for name in models]
        self._judges = judges or _stored_only(of_runs)
        self.criterion = config.criterion(self._judges)
        self.votes = count_votes(self.criterion)
        if not self.votes:
            raise UsageError(f"{config.origin}: {config.name} asks no judge")
        self.voters = distinct_voters((*list_criterion_voters(self.criterion), *of_runs))
        self._judges = judges or _stored_only(self.voters)
        self._rescoring = Rescoring(labelled.recordings, [Reusable(run.replies, run.ballots) for run in runs])

    def measure(self, judge: ChangedJudge, outcomes: Sequence[LabelledOutcome]) -> Measurement | None:
        """Return a judge on some outcomes, or None if replies are missing."""
        rescored = self.rescore(judge.changes, self.labelled.find_places(outcomes))
        if rescored.missing:
            self.omissions.append(f"{judge.name}: {rescored.missing:,} of its replies missing")
            return None
        return self._make_measurement(judge, rescored, outcomes)

    def measure_current(self, outcomes: Sequence[LabelledOutcome]) -> Measurement:
        """Return the judge of the configuration. Raises UsageError if its replies are not stored and it may not ask."""
        measured = self.measure(CURRENT, outcomes)
        if measured is None:
            raise UsageError(
                f"{self.config.origin}: replies of its judge are not in the runs ({self.omissions.pop()}); give the "
                "configuration with which the first run was judged, or a number of calls"
            )
        return measured

    def measure_each(
        self, judges: Sequence[ChangedJudge], outcomes: Sequence[LabelledOutcome], *, halve: bool = False
    ) -> list[Measurement]:
        """Return the judges that could be measured. With `halve`, the worse half leaves after a part of the outcomes.

        It is one round of successive halving (Jamieson and Talwalkar 2016, arXiv 1502.07943).
        """
        if halve and len(judges) > 2:
            part = outcomes[::_FIRST_PART]
            first = [own for judge in judges if (own := self.measure(judge, part)) is not None]
            first.sort(key=lambda own: own.numbers.loss)
            judges = [own.judge for own in first[: -(-len(first) // 2)]]
        return [own for judge in judges if (own := self.measure(judge, outcomes)) is not None]

    def at_thresholds(self, own: Measurement, outcomes: Sequence[LabelledOutcome]) -> Iterator[Measurement]:
        """Yield a judge with the thresholds that decide some outcomes differently."""
        for threshold in list_thresholds(own.rescored.outcomes.values(), self.criterion.threshold):
            rescored = with_threshold(own.rescored, threshold)
            changes = {**own.judge.changes, "threshold": threshold}
            judge = ChangedJudge(f"{own.judge.name}, threshold {threshold:g}", changes)
            measured = self._make_measurement(judge, rescored, outcomes)
            if measured.candidate.verdicts != own.candidate.verdicts:
                yield measured

    def rescore(self, changes: Mapping[str, Json], places: frozenset[Place]) -> Rescored:
        """Return the outcomes of the criterion with other options."""
        result: Rescored = blocking(self._rescoring.outcomes(self.find(changes), self._judges.models, places))
        return result

    def find(self, changes: Mapping[str, Json]) -> Criterion:
        """Return the criterion with other options."""
        return self.config.with_changes(changes).criterion(self._judges) if changes else self.criterion

    def name_verdicts(self, outcomes: Mapping[Place, Outcome]) -> dict[str, bool | None]:
        """Return the verdicts by the keys of outcomes. A verdict of None could not be read."""
        return {self.labelled.places[place]: _VERDICTS.get(own.verdict) for place, own in outcomes.items()}

    def _make_measurement(
        self, judge: ChangedJudge, rescored: Rescored, outcomes: Sequence[LabelledOutcome]
    ) -> Measurement:
        verdicts = self.name_verdicts(rescored.outcomes)
        candidate = Candidate(judge.name, verdicts, rescored.cost, rescored.seconds, judge.changes)
        return Measurement(judge, rescored, candidate, measure_judge(candidate, outcomes, self.terms))


def _stored_only(voters: Iterable[Voter]) -> Judges:
    """Return the options of judges that are never called."""
    return Judges(models=ModelOptions(custom_models={str(voter["model"]): StoredOnly() for voter in voters}))
