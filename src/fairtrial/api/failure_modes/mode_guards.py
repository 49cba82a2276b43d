"""Write a criterion that notices a failure mode, and the cases of a mode as an eval set."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.analysis.failures.guard_config import make_guard
from fairtrial.analysis.failures.named_failures import ReadFailure, name_key, weighted_share
from fairtrial.api.eval_files import save_eval_set
from fairtrial.api.failure_modes.mode_evidence import ModeEvidence, mode_evidence
from fairtrial.errors import UsageError
from fairtrial.formats.adk.write import with_extra_as_metadata
from fairtrial.loading.criteria import criteria_in
from fairtrial.records.case import EvalSet
from fairtrial.records.failure_mode import FailureMode, Failures, GuardCheck
from fairtrial.records.label import FAILURES
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.summary import Estimate
from fairtrial.scoring import as_score
from fairtrial.stats.clustered import mean_of_rates
from fairtrial.stats.interval import WILSON
from fairtrial.store import DEFAULT_URL
from fairtrial.system.event_loop import blocking
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.reports.transcript import Transcript


def write_guard(run: Run | str | Path, failures: Failures, mode: FailureMode, path: Path) -> GuardCheck:
    """Write the configuration of a criterion that notices a mode, and try it on the attempts whose conversations exist.

    `run` may be a folder of results, which keeps failed conversations only. A criterion that asks a judge is not tried.
    Notes of people on the mode are examples of its rubric. Raises UsageError for a mode that no criterion could notice,
    and for a file that cannot be written.
    """
    evidence = mode_evidence(run, DEFAULT_URL)
    notes = () if isinstance(run, str | Path) else notes_on(run, failures, mode)
    guard = make_guard(mode, evidence.tools(), notes)
    content = msgspec.json.format(msgspec.json.encode(guard.config), indent=2) + b"\n"
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", code="unwritable-file") from None
    criterion = next(own for own in criteria_in(path).criteria if own.name == guard.criterion)
    return GuardCheck(guard.criterion, judged=True) if guard.judged else _try_guard(evidence, failures, mode, criterion)


MOST_NOTES = 3
_LONGEST_NOTE = 200


def notes_on(run: Run, failures: Failures, mode: FailureMode) -> tuple[str, ...]:
    """Return the notes of people about the failures of a mode, each text once, the last first."""
    members = {(own.position, own.attempt) for own in failures.failed if own.mode == mode.number}
    labels = [label for label in run.labels if label.criterion == FAILURES and label.part is None and label.value]
    positions = {own.key: own.position for own in run.expected} if labels else {}
    notes = (
        shorten(" ".join(label.note.split()), _LONGEST_NOTE)
        for label in reversed(labels)
        if (positions.get(label.case), label.attempt) in members
    )
    names = _names(failures, mode)
    return tuple(dict.fromkeys(note for note in notes if note and name_key(note) not in names))[:MOST_NOTES]


def _names(failures: Failures, mode: FailureMode) -> set[str]:
    """Return the names of a mode, by which people may call it. A judge's opinion on names does not count."""
    of_people = {own.name for own in failures.names if own.mode == mode.number and not own.judged}
    return {name_key(mode.name), f"mode {mode.number}"} | of_people


def write_cases(run: Run | str | Path, failures: Failures, mode: FailureMode, path: Path) -> int:
    """Write the cases of a mode as an eval set, and return their number. Equal ids get the names of the run.

    `run` may be a folder of results, which keeps some of the failed conversations. A case that expects nothing gets the
    messages of the user.
    """
    evidence = mode_evidence(run, DEFAULT_URL)
    expected = evidence.cases(failures, mode.number)
    ids = [own.case.id for own in expected]
    counts = Counter(ids)
    names = Counter(own.name for own in expected if counts[own.case.id] > 1)
    number_of_name: Counter[str] = Counter()
    cases = []
    for own in expected:
        name = own.case.id if counts[own.case.id] == 1 else own.name
        number_of_name[name] += 1
        name = f"{name}-{number_of_name[name]}" if names[name] > 1 else name
        cases.append(msgspec.structs.replace(with_extra_as_metadata(own.case), id=name))
    save_eval_set(EvalSet(f"{evidence.id}-mode-{mode.number}", tuple(cases), description=mode.name), path)
    return len(cases)


def _try_guard(evidence: ModeEvidence, failures: Failures, mode: FailureMode, criterion: Criterion) -> GuardCheck:
    """Return how many attempts of the mode the criterion fails, and how many attempts that passed.

    Failed attempts that people labelled are tried too.
    """
    readings = evidence.readings(failures)
    caught: dict[int, tuple[int, int]] = {}
    alarms: dict[int, tuple[int, int]] = {}
    verdicts: dict[tuple[int, int], bool] = {}
    for place, own, number in evidence.attempts(failures):
        group = caught if number == mode.number else alarms if own.result.verdict is Verdict.PASSED else None
        if (group is None and place not in readings) or (failed := _fails(criterion, own)) is None:
            continue
        if place in readings:
            verdicts[place] = failed
        if group is not None:
            earlier = group.get(place[0], (0, 0))
            group[place[0]] = (earlier[0] + failed, earlier[1] + 1)
    spared = {place: (total - failed, total) for place, (failed, total) in alarms.items()}
    check = GuardCheck(
        criterion.name,
        judged=False,
        caught=sum(failed for failed, _ in caught.values()),
        members=sum(total for _, total in caught.values()),
        alarms=sum(failed for failed, _ in alarms.values()),
        passes=sum(total for _, total in alarms.values()),
        sensitivity=_rate(caught),
        specificity=_rate(spared),
    )
    return _calibrate(check, _names(failures, mode), verdicts, readings)


def _calibrate(
    check: GuardCheck,
    names: Collection[str],
    verdicts: Mapping[tuple[int, int], bool],
    readings: Mapping[tuple[int, int], ReadFailure],
) -> GuardCheck:
    """Return a guard with its sensitivity and specificity against people, if any of them named the mode."""
    of_mode = {place: failed for place, failed in verdicts.items() if not readings[place].names.isdisjoint(names)}
    of_other_modes = {
        place: not failed for place, failed in verdicts.items() if place not in of_mode and readings[place].names
    }
    if not of_mode:
        return check
    return msgspec.structs.replace(
        check,
        labels=len(of_mode) + len(of_other_modes),
        labelled_sensitivity=weighted_share(of_mode, readings),
        labelled_specificity=weighted_share(of_other_modes, readings),
    )


def _fails(criterion: Criterion, own: Transcript) -> bool | None:
    """Return whether an attempt fails a criterion, or None if it has no verdict."""
    if own.recording is None or own.case is None:
        return None
    result: Any = criterion.metric(own.recording.trace, own.case)
    if inspect.iscoroutine(result):
        result = blocking(result)
    outcome = Outcome(
        criterion.name,
        as_score(result),
        criterion.threshold,
        criterion.lower_is_better,
        criterion.range,
        criterion.aggregation,
    )
    return {Verdict.FAILED: True, Verdict.PASSED: False, Verdict.NOT_APPLICABLE: False}.get(outcome.verdict)


def _rate(counts: dict[int, tuple[int, int]]) -> Estimate:
    rate = mean_of_rates([{"": own} for own in counts.values()])
    if rate is None:
        return Estimate()
    value, ends = rate
    return Estimate(value) if ends is None else Estimate(value, *ends, WILSON)
