"""Progress and final numbers of a run. Both are in the store, whatever ends the process."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.aggregation import SummaryBuilder, aggregate
from fairtrial.api.stored_runs import clustered
from fairtrial.api.stores import measure_stored
from fairtrial.errors import StoreError
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.run import now
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.analysis.agent_versions import AgentVersions
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.case import EvalCase
    from fairtrial.records.gate import GateDecision
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import SkillUse, Summary
    from fairtrial.store import Lease, Store


class RunProgress:
    """The progress of a run. It is stored with the results, because the process may be killed at any moment."""

    def __init__(self, store: Store, info: RunInfo, lease: Lease, earlier: Sequence[CaseResult] | None = None) -> None:
        self._store = store
        self._lease = lease
        self._info = info
        self._started = time.monotonic()
        self._has_new_results = True
        self._earlier = deque(earlier or ())
        # Results of an earlier part of the run that are not given are counted at the end, when the store is read.
        is_complete = earlier is not None or not store.count_results(info.id)
        self._builder = SummaryBuilder(info.attempt_rules) if is_complete else None

    @property
    def info(self) -> RunInfo:
        """The run with its duration so far. The duration of a resumed run is the sum of its parts."""
        seconds = (self._info.seconds or 0.0) + time.monotonic() - self._started
        return replace(self._info, seconds=round(seconds, 3))

    def add(self, result: CaseResult, recording: Recording, case: EvalCase) -> Verdict:
        """Add a result to the store and to the numbers, and return its verdict."""
        verdicts = result.verdicts
        verdict = result.combine_verdicts(verdicts)
        finding = None
        if verdict in (Verdict.FAILED, Verdict.ERROR):
            from fairtrial.analysis.failures.run_failures import find_failure  # most runs have few failures, or none

            with suppress(Exception):  # a run never ends because of it: without a finding, it is looked for again
                finding = find_failure(result, recording, case, verdicts)
        self._store.add_result(self._info.id, result, verdicts, finding)
        if self._builder is not None:
            self._add_earlier(self._builder, (result.position, result.attempt))
            self._builder.add(result, verdicts)
        self._has_new_results = True
        return verdict

    def _add_earlier(self, builder: SummaryBuilder, end: tuple[float, int]) -> None:
        """Count the earlier results that come before a position and attempt in file order."""
        while self._earlier and (self._earlier[0].position, self._earlier[0].attempt) < end:
            builder.add(self._earlier.popleft())

    def commit(self) -> None:
        """Commit the results that wait, and the duration of the run. Raises StoreError if another process has it."""
        self._lease.renew()
        self._store.commit()
        if self._has_new_results:
            self._has_new_results = False
            self._store.begin(self.info)

    @asynccontextmanager
    async def committed_often(self) -> AsyncIterator[None]:
        """Commit at regular intervals during the block, also if no new result is ready, and at its end.

        A commit that fails ends the block: an agent would work for a run that cannot keep its replies.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                committing = tasks.create_task(self._commit_often())
                yield
                committing.cancel()
        except BaseExceptionGroup as group:
            error = group.exceptions[0]
            raise error from error.__cause__
        finally:
            self.commit()

    async def _commit_often(self) -> None:
        while True:
            await asyncio.sleep(self._store.seconds)
            self.commit()

    def finish(
        self,
        ballots: Mapping[str, Ballot],
        *,
        versions: AgentVersions,
        decision: GateDecision | None = None,
        notes: Sequence[str] = (),
        alarms: Sequence[str] = (),
    ) -> tuple[Summary, RunInfo]:
        """Store the end of the run, and return its numbers over all its results.

        A run with `alarms` about its judges does not pass: it is unscored, and the alarms are its reasons.
        """
        summary = clustered(self._summarize(ballots), self._store, self.info)
        leads, skill_uses = self._variant_notes() if info_has_variants(self._info) else ([], ())
        leads = [*leads, *summary.notes, *notes]
        summary = replace(summary, decision=decision, notes=tuple(leads), skill_uses=skill_uses).with_alarms(alarms)
        info = replace(
            self.info,
            finished=now(),
            verdict=summary.verdict,
            pass_rate=_pass_rate(summary),
            models=versions.models,
            agents=versions.agents,
        )
        self._store.finish(info, summary)
        return summary, info

    def _variant_notes(self) -> tuple[list[str], tuple[SkillUse, ...]]:
        """Return the sentences about the variants of a skill, and which skills were used."""
        from fairtrial.api.skills.variant_notes import variant_notes  # only runs of skills have variants

        store, info = self._store, self._info
        cases, results, recordings = store.cases(info.id), store.results(info.id), store.recordings(info.id)
        return variant_notes(measure_stored(store, info, whole=True), cases, results, recordings)

    def _summarize(self, ballots: Mapping[str, Ballot]) -> Summary:
        """Return the numbers of the run over all its results. Raises StoreError if a result cannot be read."""
        store, info = self._store, self._info
        # Models answer out of order, and a gate returns to each case. Then the store is read in file order.
        if self._builder is not None and self._builder.is_in_file_order:
            self._add_earlier(self._builder, (math.inf, 0))
            return self._builder.summary(ballots.values(), informs=info.informs, defaults=info.defaults)
        store.forget_skipped("result")  # an earlier result that could not be read was replaced meanwhile
        summary = aggregate(
            store.results(info.id),
            ballots.values(),
            informs=info.informs,
            defaults=info.defaults,
            rules=info.attempt_rules,
        )
        if skipped := store.count_skipped_results():
            raise StoreError(f"{count(skipped, 'result')} of this run cannot be read again")
        return summary


def info_has_variants(info: RunInfo) -> bool:
    """Whether a run tests variants of a skill."""
    return bool(info.config.get("variants"))


def _pass_rate(summary: Summary) -> float | None:
    """Return the share of the cases that passed, or None if all cases only inform."""
    deciding = {name: n for name, n in summary.case_verdicts.items() if name != Verdict.INFORMATIONAL.value}
    return deciding.get(Verdict.PASSED.value, 0) / sum(deciding.values()) if deciding else None
