"""Ask the judges of an ordinary run in batches. All questions go out in waves before anything is scored.

A run that is interrupted meanwhile goes on if it is started again: its replies are in the store, and its batches are
in a file beside the store, whose name says which run they belong to.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_pool import find_models
from fairtrial.scoring import score_case
from fairtrial.system.event_loop import own_tasks

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.llm.batch_outbox import BatchOutbox
    from fairtrial.llm.model_options import ModelOptions
    from fairtrial.planned_case import PairedRecordings, PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.reply import Reply
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store

OnBatch = Callable[[str], None]
"""Receives what happens to a batch, in words."""


class CountsDeferrals(Protocol):
    """Counts the calls so far whose replies will come in a later batch."""

    deferred: int


async def ask_in_wave(case: PlannedCase, recording: Recording, counter: CountsDeferrals) -> bool:
    """Ask the questions about a conversation that can be asked now. Return whether a reply is missing."""
    deferred = counter.deferred
    other_tasks = own_tasks()
    await score_case(case, recording)
    # A metric ends at its first missing reply. Its other questions still go out, and belong to the same wave.
    if unfinished := own_tasks() - other_tasks:
        await asyncio.wait(unfinished)
    return counter.deferred > deferred


async def ask_all(pairs: PairedRecordings, connect: Callable[[PlannedCase], PlannedCase], outbox: BatchOutbox) -> None:
    """Ask every question about recordings, and keep the replies. A wave asks what the replies before it leave open."""
    waiting = set(range(len(pairs)))
    while waiting:
        for number, (case, recording) in enumerate(pairs):
            if number in waiting and not await ask_in_wave(_make_judged(connect(case)), recording, outbox):
                waiting.remove(number)
        if waiting:
            await outbox.exchange()
    outbox.is_closed = True


def _make_judged(case: PlannedCase) -> PlannedCase:
    """Return a case with those of its criteria that ask models."""
    judged = tuple(criterion for criterion in case.criteria if find_models(criterion.metric))
    return msgspec.structs.replace(case, criteria=judged)


def check_batches(plan: Plan, store: str | None) -> None:
    """Raise UsageError if the judges of a plan cannot be asked in batches, but are to be."""
    if plan.judges.models.batch is None:
        return
    if plan.agent is not None:
        raise UsageError(
            f"{spell('batch_api')}: needs conversations that are recorded; use `fairtrial "
            "record`, then `fairtrial score`"
        )
    if store is None:
        raise UsageError(
            f"{spell('batch_api')}: needs a store, which keeps the run while its batches are at a provider"
        )
    check_canaries(plan.judges.models, plan.judges.canaries)


def check_canaries(models: ModelOptions, canaries: int | None) -> None:
    """Raise UsageError if a judge is to be checked during a run whose calls go into batches."""
    if models.batch is not None and canaries:
        raise UsageError(
            f"{spell('canaries')}: does not go with {spell('batch_api')}; check the "
            "judge with `fairtrial judge check` first",
            code="options-conflict",
        )


def with_earlier_id(plan: Plan, store: Store) -> Plan:
    """Return a plan with the id of the run that its batches belong to, if it was interrupted before."""
    for path in sorted(_choose_folder(store).glob(f"{_prefix(plan.info)}*.db")):
        earlier = path.stem.removeprefix(_prefix(plan.info))
        return dataclasses.replace(plan, info=msgspec.structs.replace(plan.info, id=earlier))
    return plan


@contextmanager
def open_outbox(
    plan: Plan, store: Store, replies: MutableMapping[str, Reply], note: OnBatch
) -> Iterator[BatchOutbox | None]:
    """Yield the outbox of a run whose judges are asked in batches. Its file is removed when the run has ended."""
    options = plan.judges.models
    if options.batch is None:
        yield None
        return
    from fairtrial.llm.batch_book import BatchBook
    from fairtrial.llm.batch_outbox import BatchOutbox

    path = _choose_folder(store) / f"{_prefix(plan.info)}{plan.info.id}.db"
    with BatchBook(path) as book:
        yield BatchOutbox(
            book, replies, options.budget or Budget(), options.batch.most_requests, options.batch.poll, note
        )
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()


def _prefix(info: RunInfo) -> str:
    """Return the beginning of the name of the file for all runs with the same inputs and options."""
    config: Mapping[str, object] = {name: value for name, value in info.config.items() if name not in ("git", "ci")}
    content = msgspec.json.encode([info.kind, config, info.signatures], order="sorted")
    return f"batches-{hashlib.sha256(content).hexdigest()[:16]}-"


def _choose_folder(store: Store) -> Path:
    """Return the folder of the file of a store, or the default folder if the store is on a server."""
    from sqlalchemy import make_url

    from fairtrial.store import DEFAULT_URL

    url = make_url(store.url)
    file = url.database if url.get_backend_name() == "sqlite" else make_url(DEFAULT_URL).database
    return Path(file or "").parent
