"""Calibrate the judges of a run from the labels that count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.analysis.judge_calibration import (
    Place,
    assume_calibration,
    calibrate_criterion,
    disagreeing_outcomes,
    labelled_pairs,
    make_unchecked,
)
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.keys import CaseKey, outcome_key
from fairtrial.records.label import Label
from fairtrial.records.summary import CriterionSummary, Summary
from fairtrial.stats.correction import NO_CLUSTERS

if TYPE_CHECKING:
    from fairtrial.records.result import Outcome
    from fairtrial.records.run import RunInfo
    from fairtrial.records.trace import Trace
    from fairtrial.stats.judge_agreement import Pair
    from fairtrial.store import Store

ByPlace = dict[Place, list[Label]]
_BATCH = 500


def calibrations(store: Store, info: RunInfo, summary: Summary, *, alone: bool = False) -> Iterator[Calibration]:
    """Yield the calibration of each criterion of a run that was judged or labelled.

    A criterion without labels is corrected by the labels of another run with the same judge if there are any, unless
    `alone`.
    """
    own, elsewhere = store.labels(info.id), [] if alone else list(store.labels_elsewhere(info.id))
    labels = _labels_by_place(store, info.id, own, [label for _, label in elsewhere])
    for criterion in summary.criteria:
        name = criterion.criterion
        judge = name_judge(info.signatures.get(name), name)
        calibration = _make_labelled(store, info, criterion, judge, labels[name]) if labels.get(name) else None
        if calibration is None:
            runs = Counter(run for run, label in elsewhere if label.criterion == name)
            calibration = _assume_calibration(
                store, info, make_unchecked(criterion, judge), [run for run, _ in runs.most_common()]
            )
        if calibration is None and criterion.calls is not None:
            calibration = make_unchecked(criterion, judge)
        if calibration is not None:
            yield _without_clusters(calibration) if "clusters" in info.config else calibration


def _without_clusters(calibration: Calibration) -> Calibration:
    """Return a calibration of cases in clusters, whose corrected number says that its interval does not count them."""
    method = calibration.corrected.method
    if method is None:
        return calibration
    return replace(calibration, corrected=replace(calibration.corrected, method=method + NO_CLUSTERS))


def disagreements(store: Store, run: str) -> Iterator[tuple[str, Place, bool]]:
    """Yield the labelled outcomes of a run on which people and the judge disagree, with the verdict of people."""
    for criterion, labels in sorted(_labels_by_place(store, run, store.labels(run), ()).items()):
        outcomes = outcomes_at(store, run, criterion, labels)
        if outcomes:
            for place, passed in disagreeing_outcomes(labels, store.scores(run, criterion), outcomes):
                yield criterion, place, passed


def name_judge(signature: Any, criterion: str) -> str:
    """Return the name of a judge, from the signature of its criterion: its models, or else the metric."""
    return ", ".join(voter["name"] for voter in list_panel(signature)) or criterion


def list_panel(signature: Any) -> list[dict[str, Any]]:
    """Return the options of the models that judge a criterion, from its signature. Each has a `name`."""
    options = signature.get("options", {}) if isinstance(signature, dict) else {}
    judge = options.get("judge", {}) if isinstance(options, dict) else {}
    panel = judge.get("options", {}).get("panel", []) if isinstance(judge, dict) else []
    return [voter["options"] for voter in panel if "name" in voter.get("options", {})]


def unchecked_judges(signatures: Mapping[str, Any], criteria: Iterable[str]) -> dict[str, Calibration]:
    """Return the calibrations of the judged criteria of a run that people have not labelled."""
    return {
        name: Calibration(name, name_judge(signatures[name], name), JudgeState.UNCHECKED)
        for name in criteria
        if isinstance(signature := signatures.get(name), dict)
        and isinstance(signature.get("options"), dict)
        and "judge" in signature["options"]
    }


def labelled_outcomes(store: Store, info: RunInfo, calibrations: Iterable[Calibration]) -> dict[str, dict[Place, Pair]]:
    """Return the labelled outcomes of each criterion that people have labelled, with the values of both sides."""
    names = [calibration.criterion for calibration in calibrations if calibration.labels]
    if not names:
        return {}
    elsewhere = [label for _, label in store.labels_elsewhere(info.id)]
    labels = _labels_by_place(store, info.id, store.labels(info.id), elsewhere)
    return {
        name: labelled_pairs(labels[name], store.scores(info.id, name), outcomes_at(store, info.id, name, labels[name]))
        for name in names
    }


def label_runs(store: Store, info: RunInfo, criterion: str) -> list[str]:
    """Return the ids of the runs whose labels of a criterion count in a run. The run itself is the first."""
    elsewhere = [(run, label) for run, label in store.labels_elsewhere(info.id) if label.criterion == criterion]
    by_place = _labels_by_place(store, info.id, (), [label for _, label in elsewhere])
    label_keys = {label.key for labels in by_place[criterion].values() for label in labels}
    return list(dict.fromkeys([info.id, *(run for run, label in elsewhere if label.key in label_keys)]))


def _make_labelled(
    store: Store, info: RunInfo, criterion: CriterionSummary, judge: str, labels: ByPlace
) -> Calibration | None:
    outcomes = outcomes_at(store, info.id, criterion.criterion, labels)
    if not outcomes:
        return None
    scores = store.scores(info.id, criterion.criterion)
    return calibrate_criterion(criterion, judge, labels, scores, outcomes, store.ballots(info.id))


def calibrate_runs(
    store: Store, runs: Sequence[str], criterion: str, omitted_places: Collection[tuple[str, Place]]
) -> Calibration | None:
    """Return the calibration of a criterion over the outcomes of several runs, without those that are left out.

    Each run has its own labels. It is None if none of them is about these outcomes.
    """
    labels: ByPlace = {}
    outcomes: dict[Place, Outcome] = {}
    for number, run in enumerate(runs):
        by_place = _labels_by_place(store, run, store.labels(run), ())[criterion]
        labels_of_run = {place: own for place, own in by_place.items() if (run, place) not in omitted_places}
        labels |= {_place_in(number, place): own for place, own in labels_of_run.items()}
        outcomes_of_run = outcomes_at(store, run, criterion, labels_of_run) if labels_of_run else {}
        outcomes |= {_place_in(number, place): outcome for place, outcome in outcomes_of_run.items()}
    if not outcomes:
        return None
    scores = (
        (*_place_in(number, (position, attempt)), value, verdict)
        for number, run in enumerate(runs)
        for position, attempt, value, verdict in store.scores(run, criterion)
        if (run, (position, attempt)) not in omitted_places
    )
    return calibrate_criterion(CriterionSummary(criterion), criterion, labels, scores, outcomes, {})


def _place_in(number: int, place: Place) -> Place:
    """Return a place that no other of several runs has."""
    return (number << 32) + place[0], place[1]


def outcomes_at(store: Store, run: str, criterion: str, places: Collection[Place]) -> dict[Place, Outcome]:
    """Return the outcomes of a criterion at some places of a run."""
    outcomes: dict[Place, Outcome] = {}
    for positions in _batches(sorted({position for position, _ in places})):
        for result in store.results(run, positions=positions):
            place = (result.position, result.attempt)
            for outcome in result.outcomes:
                if place in places and outcome.criterion == criterion:
                    outcomes[place] = outcome
    return outcomes


def traces_at(store: Store, run: str, positions: Iterable[int]) -> Iterator[tuple[int, int, Trace]]:
    """Yield position, attempt and trace of the recordings at some positions."""
    for batch in _batches(sorted(positions)):
        for position, recording in store.recordings(run, positions=batch):
            yield position, recording.attempt, recording.trace


def _batches(positions: list[int]) -> Iterator[list[int]]:
    return (positions[start : start + _BATCH] for start in range(0, len(positions), _BATCH))


def _labels_by_place(store: Store, run: str, own: Iterable[Label], elsewhere: Iterable[Label]) -> dict[str, ByPlace]:
    """Return the labels of whole outcomes of a run, by criterion and outcome, in the order in which they were added."""
    by_place: dict[str, ByPlace] = defaultdict(lambda: defaultdict(list))
    whole, foreign = [label for label in own if label.part is None], list(elsewhere)
    if whole or foreign:
        positions = [(position, key) for position, key, _ in store.case_keys(run)]
        _add_foreign(by_place, store, run, foreign, positions)
        _add_own(by_place, whole, positions)
    return by_place


def _add_own(by_place: dict[str, ByPlace], labels: Iterable[Label], positions: Iterable[tuple[int, CaseKey]]) -> None:
    """Add the labels of the run itself, which name their case and their attempt."""
    position_of = {key: position for position, key in reversed(list(positions))}
    for label in labels:
        if label.case in position_of:
            by_place[label.criterion][position_of[label.case], label.attempt].append(label)


def _add_foreign(
    by_place: dict[str, ByPlace],
    store: Store,
    run: str,
    labels: Iterable[Label],
    positions: Iterable[tuple[int, CaseKey]],
) -> None:
    """Add the labels of other runs whose key is that of an outcome here. Only recordings of their cases are read."""
    by_digest: defaultdict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_digest[label.case.digest].append(label)
    digests = {position: key.digest for position, key in positions if key.digest in by_digest}
    for position, attempt, trace in traces_at(store, run, digests):
        for label in by_digest[digests[position]]:
            if label.key == outcome_key(label.criterion, digests[position], trace):
                by_place[label.criterion][position, attempt].append(label)


def _assume_calibration(
    store: Store, info: RunInfo, calibration: Calibration, runs: Iterable[str]
) -> Calibration | None:
    """Return a calibration that is corrected by the labels of the first other run with the same judge, or None."""
    name = calibration.criterion
    signature = info.signatures.get(name)
    for run in runs:
        info_of_run, summary = store.run(run), store.summary(run)
        if signature is None or summary is None or info_of_run.signatures.get(name) != signature:
            continue
        for own in calibrations(store, info_of_run, summary, alone=True):
            corrected = (
                assume_calibration(calibration, own, run, store.scores(info.id, name))
                if own.criterion == name
                else None
            )
            if corrected is not None:
                return corrected
    return None
