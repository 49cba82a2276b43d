"""Open the label queue of a run, and draw the outcomes of a new queue."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.labels.label_sampling import (
    Candidate,
    Sample,
    draw_failures,
    draw_random,
    draw_strata,
    draw_uncertain,
    measure_closeness,
    overlapping,
)
from fairtrial.api.run_parts.collected_failures import find_failures
from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError, nearest, spell
from fairtrial.records.attempt_row import CriterionTerms
from fairtrial.records.label import FAILURES, Label, LabelQueue
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import Score, part_text
from fairtrial.reports.views.view_labels import labelable_parts
from fairtrial.store import QueueItem

if TYPE_CHECKING:
    from fairtrial.records.keys import CaseKey
    from fairtrial.store import Store

MOST_ANSWERS = 9
"""An answer has a key from 1 to 9."""
_MOST_ITEMS = 100_000

LabelledPlace = tuple[int, int, str]
"""The position of a case, the number of an attempt, and the text of the key of a part."""


def open_queue(store: Store, run_id: str, queue: LabelQueue) -> int:
    """Return the number of a queue, which is drawn if the run has none with the same options.

    Raises UsageError if the options do not fit the run, or if there is nothing to label.
    """
    _check(store, run_id, queue)
    queues = store.label_queues(run_id)
    for number, own in reversed(queues.queues().items()):
        is_same = replace(own, population=0) == replace(queue, population=0)
        # Further labels bring further disagreements, so that a queue of disagreements that is done is drawn again.
        if is_same and (own.by != "disagreement" or any(not item.done for item in queues.items(number))):
            return number
    if queue.by == "failures":
        return _open_failures(store, run_id, queue)
    candidates = list(_candidates(store, run_id, queue))
    if not candidates:
        raise UsageError(_nothing_to_label(run_id, queue))
    source = random.Random(queue.seed)  # noqa: S311  (a sample, not a secret)
    sample = _draw(store, run_id, queue, candidates, source)
    return queues.add(replace(queue, population=len(candidates)), list(_items(sample, queue, source)))


def _open_failures(store: Store, run_id: str, queue: LabelQueue) -> int:
    """Draw failed attempts, and return the number of the queue."""
    summary = store.summary(run_id)
    if summary is None:
        raise UsageError(f"{spell('failures')}: run {run_id} is not finished", code="unusable-run")
    failures = find_failures(Run(store.run(run_id), summary, store))
    by_mode: defaultdict[int | None, list[Candidate]] = defaultdict(list)
    for own in failures.failed:
        by_mode[own.mode].append(Candidate(own.position, own.attempt))
    if not by_mode:
        raise UsageError(
            f"{spell('failures')}: no attempt of run {run_id} failed; there is nothing to label", code="too-little-data"
        )
    modes = sorted(failures.modes, key=lambda mode: (-mode.attempts, mode.number))
    source = random.Random(queue.seed)  # noqa: S311  (a sample, not a secret)
    sample = draw_failures([by_mode[mode.number] for mode in modes], by_mode[None], queue.sample, source)
    population = replace(queue, population=len(failures.failed))
    return store.label_queues(run_id).add(population, list(_items(sample, queue, source)))


def queue_terms(store: Store, run_id: str) -> dict[str, CriterionTerms]:
    """Return what labels can be about: the criteria of a run, and its failures."""
    return {FAILURES: CriterionTerms(FAILURES, 1.0), **store.criterion_terms(run_id)}


def _check(store: Store, run_id: str, queue: LabelQueue) -> None:
    terms = queue_terms(store, run_id)
    if (queue.by == "failures") != (queue.criterion == FAILURES) or (queue.by == "failures" and queue.part is not None):
        raise UsageError(
            f"{spell('failures')}: labels whole attempts, whatever criterion failed; leave out other ways",
            code="options-conflict",
        )
    if queue.criterion not in terms:
        hint = nearest(queue.criterion, terms) or f"; the run has {', '.join(terms) or 'no criteria'}"
        raise UsageError(
            f"{spell('criterion')}: run {run_id} has no criterion {queue.criterion!r}{hint}", code="unknown-name"
        )
    if not 1 <= queue.sample <= _MOST_ITEMS:
        raise UsageError(f"{spell('sample')}: must be a number from 1 to {_MOST_ITEMS}, got {queue.sample}")
    if not 0 <= queue.overlap <= 1:
        raise UsageError(f"{spell('overlap')}: must be a share from 0 to 1, got {queue.overlap:g}")
    if not 2 <= queue.labelers <= MOST_ANSWERS:
        raise UsageError(f"{spell('labelers')}: must be a number from 2 to {MOST_ANSWERS}, got {queue.labelers}")
    if abs(queue.seed) >= 2**53:
        raise UsageError(f"{spell('seed')}: must be between -2^53 and 2^53, got {queue.seed}")
    if len(queue.answers) > MOST_ANSWERS:
        raise UsageError(
            f"{spell('answers')}: at most {MOST_ANSWERS} answers, since each has a key; got {len(queue.answers)}"
        )
    scale = terms[queue.criterion].range
    for name, value in queue.answers.items():
        if not name.strip() or not math.isfinite(value) or value not in scale:
            problem = f"must be NAME=VALUE with a number {scale}, got {name!r}={value:g}"
            raise UsageError(f"{spell('answers')}: {problem}")


def _nothing_to_label(run_id: str, queue: LabelQueue) -> str:
    if queue.by == "disagreement":
        return (
            f"{spell('by')} disagreement: run {run_id} has no further outcome of "
            f"{queue.criterion!r} on which people disagree; "
            f"several people label the same outcomes with {spell('overlap')}"
        )
    if queue.part is not None:
        return (
            f"{spell('part')}: run {run_id} has no scored {queue.part} of {queue.criterion!r} that a label could name"
        )
    return f"{spell('criterion')}: run {run_id} has no scored outcome of {queue.criterion!r}; there is nothing to label"


def _candidates(store: Store, run_id: str, queue: LabelQueue) -> Iterator[Candidate]:
    """Yield the scored outcomes of the criterion, or their parts, in file order. Bodies are read only for parts."""
    found = _disagreements(store, run_id, queue) if queue.by == "disagreement" else None
    if queue.part is None and queue.by != "uncertain":
        for position, attempt, value, verdict in store.scores(run_id, queue.criterion):
            is_wanted = found is None or (position, attempt, "") in found
            if value is not None and verdict is not Verdict.UNSCORED and is_wanted:
                yield Candidate(position, attempt, passed=verdict is Verdict.PASSED)
        return
    ballots = store.ballots(run_id)
    for result in store.results(run_id):
        for outcome in result.outcomes:
            if outcome.criterion != queue.criterion:
                continue
            for part, score in _scores(outcome, queue):
                if found is None or (result.position, result.attempt, part) in found:
                    passed = replace(outcome, score=score).verdict is Verdict.PASSED
                    closeness = measure_closeness(score, ballots) if queue.by == "uncertain" else 0.0
                    # A criterion with a single vote has no closeness, and `_draw` refuses it.
                    number = -1.0 if closeness is None else closeness
                    yield Candidate(result.position, result.attempt, part, passed, number)


def _scores(outcome: Outcome, queue: LabelQueue) -> Iterator[tuple[str, Score]]:
    """Yield what can be labelled of an outcome, with the text of the key of the part."""
    if queue.part is not None:
        for key, part in labelable_parts(outcome.score).items():
            if key.kind == queue.part:
                yield part_text(key), part
    elif outcome.score.value is not None and outcome.verdict is not Verdict.UNSCORED:
        yield "", outcome.score


def _disagreements(store: Store, run_id: str, queue: LabelQueue) -> set[LabelledPlace]:
    """Return the places on which people disagree, without the places of earlier queues of disagreements."""
    answers: defaultdict[LabelledPlace, dict[str, float | None]] = defaultdict(dict)
    for place, label in labels_by_place(store, run_id, queue.criterion):
        answers[place][label.author] = label.value
    queues = store.label_queues(run_id)
    earlier = {
        (item.position, item.attempt, item.part)
        for number, own in queues.queues().items()
        if own.by == "disagreement" and own.criterion == queue.criterion
        for item in queues.items(number)
    }
    return {place for place, own in answers.items() if len({*own.values()} - {None}) > 1} - earlier


def labels_by_place(store: Store, run_id: str, criterion: str) -> Iterator[tuple[LabelledPlace, Label]]:
    """Yield the labels of a criterion with their places, in the order in which they were added."""
    labels = [label for label in store.labels(run_id) if label.criterion == criterion]
    positions = position_of_keys(store.case_keys(run_id)) if labels else {}
    for label in labels:
        if label.case in positions:
            yield (positions[label.case], label.attempt, part_text(label.part)), label


def position_of_keys(keys: Iterable[tuple[int, CaseKey, str]]) -> dict[CaseKey, int]:
    """Return the first position of each case."""
    return {key: position for position, key, _ in reversed(list(keys))}


def _draw(
    store: Store, run_id: str, queue: LabelQueue, candidates: list[Candidate], source: random.Random
) -> Sample[Candidate]:
    if queue.by == "stratum":
        passed = [candidate for candidate in candidates if candidate.passed]
        others = [candidate for candidate in candidates if not candidate.passed]
        return draw_strata(passed, others, min(queue.sample, len(candidates)), source)
    if queue.by == "uncertain":
        if all(candidate.closeness < 0 for candidate in candidates):
            problem = f"no outcome of {queue.criterion!r} has two votes of a judge or more"
            raise UsageError(f"{spell('by')} uncertain: {problem}; use {spell('by')} random")
        return draw_uncertain(candidates, queue.sample, source)
    sample = draw_random(candidates, queue.sample, source)
    if queue.by == "random":
        return sample
    # A label of a third person stands for as many outcomes as the labels before it.
    earlier = {place: label.probability or 1.0 for place, label in labels_by_place(store, run_id, queue.criterion)}
    return [(own, earlier[own.position, own.attempt, own.part]) for own, _ in sample]


def _items(sample: Sample[Candidate], queue: LabelQueue, source: random.Random) -> Iterator[QueueItem]:
    """Yield the items of a sample in random order, with a copy for each person who labels the item."""
    source.shuffle(sample)
    shared = overlapping(range(len(sample)), queue.overlap, source)
    for number, (own, probability) in enumerate(sample):
        for copy in range(queue.labelers if number in shared else 1):
            yield QueueItem(number + 1, copy, own.position, own.attempt, own.part, probability)
