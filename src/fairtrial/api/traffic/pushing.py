"""Push the scores of a run to the service that keeps its traces, and pull human labels back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.api.traffic.score_places import yield_scores
from fairtrial.errors import UsageError
from fairtrial.platforms.otlp_labels import EvaluationFile
from fairtrial.platforms.services import Wait, label_source, score_target
from fairtrial.records.keys import CaseKey, outcome_key
from fairtrial.records.label import Label
from fairtrial.records.score import invocation_key

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.platforms.platform import GivenLabel, LabelSource, PushedScore
    from fairtrial.records.result import Outcome
    from fairtrial.records.trace import Trace

_NO_TRACES = (
    "its recordings do not say in which traces they were made; score traces that were pulled, received or exported "
    "as spans"
)


class LabelReport(NamedTuple):
    """The number of labels that were added, and the names of scores that are of no criterion of the run."""

    added: int
    unknown_names: tuple[str, ...]


def scores_to_push(run: Run) -> tuple[PushedScore, ...]:
    """Return the scores and the labels of a run with their places in the traces. Raises UsageError without any."""
    scores = tuple(yield_scores(run))
    if not scores:
        raise UsageError(f"run {run.info.id} has nothing to push: {_NO_TRACES}", code="too-little-data")
    return scores


def push(
    scores: tuple[PushedScore, ...], target: str, *, url: str = "", project: str = "", wait: Wait = time.sleep
) -> None:
    """Send scores to a service: otlp, langfuse, phoenix, langsmith or mlflow. A second push changes nothing.

    Raises UsageError.
    """
    with closing(score_target(target, url=url, project=project, wait=wait)) as service:
        service.push(scores)


def pull_labels(
    run: Run,
    source: str,
    *,
    url: str = "",
    project: str = "",
    names: Mapping[str, str] | None = None,
    wait: Wait = time.sleep,
) -> LabelReport:
    """Add the scores that people gave elsewhere as labels of a run.

    `source` is a service, or a file of OTLP with events `gen_ai.evaluation.result`. `names` maps names of scores to
    criteria of the run; a score with the name of a criterion needs no entry. Raises UsageError.
    """
    service: LabelSource
    if Path(source).is_file():
        service = EvaluationFile(Path(source))
    else:
        service = label_source(source, url=url, project=project, wait=wait)
    scores = scores_to_push(run)
    places = _LabelPlaces(run)
    store = run._store  # noqa: SLF001  (the run and this module are one: api)
    stored_values = {_identity(label): label.value for label in run.labels}
    unknown_names: Counter[str] = Counter()
    count = 0
    with closing(service):
        for foreign in service.labels(scores):
            criterion = (names or {}).get(foreign.name, foreign.name)
            label = places.make_label(foreign, criterion)
            if label is None:
                unknown_names[foreign.name] += 1
            elif stored_values.get(_identity(label)) != label.value:
                store.add_label(run.info.id, label)
                count += 1
    return LabelReport(count, tuple(unknown_names))


def _identity(label: Label) -> tuple[object, ...]:
    return label.case, label.attempt, label.criterion, label.part, label.author


class _LabelPlaces:
    """The attempts and invocations of a run by the traces, the spans and the sessions of their source."""

    def __init__(self, run: Run) -> None:
        cases = {case.position: CaseKey(case.eval_set, case.case.id, case.digest) for case in run.expected}
        self._outcomes: dict[tuple[int, int], dict[str, Outcome]] = {
            (result.position, result.attempt): {outcome.criterion: outcome for outcome in result.outcomes}
            for result in run.cases
        }
        self._attempts: dict[tuple[int, int], tuple[CaseKey, Trace]] = {}
        self._by_place: dict[str, tuple[int, int, int | None]] = {}
        for position, recording in run.recordings:
            attempt = (position, recording.attempt)
            self._attempts[attempt] = cases[position], recording.trace
            count = len(recording.trace.invocations)
            for number, invocation in enumerate(recording.trace.invocations):
                if invocation.origin is not None:
                    place = (*attempt, None if count == 1 else number)
                    self._by_place.setdefault(invocation.origin.trace_id, place)
                    self._by_place.setdefault(invocation.origin.span_id, place)
            if recording.trace.session_id:
                self._by_place.setdefault(recording.trace.session_id, (*attempt, None))

    def make_label(self, foreign: GivenLabel, criterion: str) -> Label | None:
        """Return a score of a person as a label, or None without a place in the run or a value of the criterion."""
        names = (foreign.span_id, foreign.trace_id, foreign.session_id)
        place = next((self._by_place[name] for name in names if name and name in self._by_place), None)
        if place is None:
            return None
        position, attempt, number = place
        outcome = self._outcomes.get((position, attempt), {}).get(criterion)
        if outcome is None or foreign.value is None or foreign.value not in outcome.range:
            return None
        case, trace = self._attempts[position, attempt]
        part = None if number is None else invocation_key(number)
        # A label on a part counts in its own run only, because a key names a whole outcome.
        key = outcome_key(criterion, case.digest, trace) if part is None else ""
        return Label(case, attempt, criterion, part, foreign.value, foreign.author, foreign.at, foreign.note, key)
