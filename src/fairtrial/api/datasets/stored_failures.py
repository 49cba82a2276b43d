"""Store the run of a data set with the attempts that did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from fairtrial.api.result_folders.dataset_tables import OWN_CASE
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import open_store
from fairtrial.api.temporary_store import temporary_store
from fairtrial.errors import UsageError
from fairtrial.judge.ballot_costs import collect_ballot_ids

if TYPE_CHECKING:
    from fairtrial.api.datasets.shard_scoring import FailedAttempt
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.label import Label
    from fairtrial.records.reply import Reply
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import Summary
    from fairtrial.store.store import Store


def store_failures(
    failures: Iterator[FailedAttempt],
    info: RunInfo,
    summary: Summary,
    store: str | None,
    replies: Mapping[str, Reply],
    ballots: Mapping[str, Ballot],
) -> Run:
    """Store a run with the attempts that did not pass. Attempts at the same case stand under one position."""
    run_store = open_store(store) if store is not None else temporary_store()
    positions: dict[object, int] = {}
    attempts: Counter[int] = Counter()
    labels = _forget(run_store, info.id)
    run_store.begin(info)
    for number, attempt in enumerate(failures):
        case = attempt.expected
        position = positions.setdefault(case.position if case.position != OWN_CASE else ("own", number), len(positions))
        attempts[position] += 1
        place = attempts[position]
        run_store.add_cases(info.id, [msgspec.structs.replace(case, position=position)])
        recording = msgspec.structs.replace(attempt.recording, attempt=place)
        run_store.add_recording(info.id, position, recording, may_wait=True)
        run_store.add_result(info.id, msgspec.structs.replace(attempt.result, position=position, attempt=place))
        names = (name for outcome in attempt.result.outcomes for name in collect_ballot_ids(outcome.score))
        for ballot in (ballots[name] for name in names if name in ballots):
            run_store.ballots(info.id)[ballot.id] = ballot
            for call in ballot.calls:
                if call.key in replies:  # a call that failed has no reply
                    run_store.replies(info.id)[call.key] = replies[call.key]
    if labels:
        run_store.add_labels(info.id, labels)
    run_store.finish(info, summary)
    return Run(info, summary, run_store)


def _forget(run_store: Store, run_id: str) -> list[Label]:
    """Remove a run that was stored before late spans came, and return the labels that people gave to it."""
    try:
        run_store.run(run_id)
    except UsageError:
        return []
    labels = run_store.labels(run_id)
    run_store.remove(run_id)
    return labels
