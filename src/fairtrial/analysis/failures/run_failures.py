"""Collect the failures of a run, case by case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from fairtrial.analysis.failures.attempt_features import attempt_features, shared_set
from fairtrial.analysis.failures.call_differences import normal_key
from fairtrial.analysis.failures.detectors import find_decisive
from fairtrial.analysis.failures.events import Conversation
from fairtrial.analysis.failures.failure_tally import FailureTally
from fairtrial.analysis.failures.findings import Attempt, SharedByPasses
from fairtrial.analysis.failures.reply_comparison import collect_facts
from fairtrial.analysis.failures.shared_features import majority
from fairtrial.analysis.failures.tool_effects import read_hints
from fairtrial.records.attempt import Recording
from fairtrial.records.failure_mode import Evidence, FailedAttempt, FoundFailure, Signature
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.trace import ToolCall, Trace

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase

FAILED = (Verdict.FAILED, Verdict.ERROR)
"""The verdicts of failed attempts. An attempt without a verdict is counted in the notes."""
FINDINGS = 2
"""The version of the findings that are stored beside results. Raise it whenever a detector finds something else."""
BEFORE_PASSES: frozenset[Evidence | None] = frozenset(["side", "break", "expectation"])
"""The sources that count before attempts at the same case that passed."""
_NEARLY_ALL = 0.8
"""The share of the attempts that passed which has to share a call, if five or more passed."""
_FEW_PASSES = 5

Attempted = tuple[CaseResult, Recording | None]
"""The result of an attempt, with its recording if it is stored."""


class FoundAttempt(NamedTuple):
    """The place of an attempt, its verdict, and its finding if it failed and a finding is stored."""

    position: int
    case: str
    attempt: int
    verdict: Verdict
    finding: FoundFailure | None


@dataclass
class FailureCollector:
    """Collects the failures of a run case by case. It keeps no conversation."""

    failed: list[FailedAttempt] = field(default_factory=list)
    tally: FailureTally = field(default_factory=FailureTally)

    def add_case(self, attempts: Sequence[Attempted], case: EvalCase | None) -> None:
        """Add all attempts at a case."""
        tally = self.tally
        conversations = [Conversation(Trace() if own is None else own.trace) for _, own in attempts]
        by_outcome = [result.verdicts for result, _ in attempts]
        verdicts = [result.combine_verdicts(own) for (result, _), own in zip(attempts, by_outcome, strict=True)]
        tally.attempts += len(attempts)
        tally.unscored += verdicts.count(Verdict.UNSCORED)
        passed = [own for own, verdict in zip(conversations, verdicts, strict=True) if verdict is Verdict.PASSED]
        fails = any(verdict in FAILED for verdict in verdicts)
        shared = share_passes(passed) if fails and passed else None
        passing: list[frozenset[str]] = []
        failures: Counter[int] = Counter()
        for (result, recording), conversation, own, verdict in zip(
            attempts, conversations, by_outcome, verdicts, strict=True
        ):
            if verdict is Verdict.PASSED:
                passing.append(attempt_features(result, conversation, case))
            elif verdict in FAILED:
                hints = read_hints(conversation.trace.agents)
                failed = explain(Attempt(result, recording, case, shared, hints, own), conversation)
                self.failed.append(failed)
                tally.unstored += recording is None
                failures[tally.add(failed, attempt_features(result, conversation, case))] += 1
        tally.add_case(failures, "" if case is None else case.cluster or "")
        if passing:
            tally.passes[attempts[0][0].position] = majority(passing)

    def add_found(self, attempts: Sequence[FoundAttempt]) -> None:
        """Add all attempts at a case whose conversations are not read: failures by their findings, passes by number."""
        tally = self.tally
        tally.attempts += len(attempts)
        failures: Counter[int] = Counter()
        for position, case, number, verdict, finding in attempts:
            tally.unscored += verdict is Verdict.UNSCORED
            if finding is None:
                continue
            failed = finding.place_at(position, case, number, _shared(Signature(*finding.signature)))
            self.failed.append(failed)
            failures[tally.add(failed, shared_set(frozenset(finding.features)))] += 1
        tally.add_case(failures, next((own.finding.cluster for own in attempts if own.finding is not None), ""))


def find_failure(result: CaseResult, recording: Recording, case: EvalCase, verdicts: Sequence[Verdict]) -> FoundFailure:
    """Return the decisive step and the properties of a failed attempt, without any other attempt at the case."""
    conversation = Conversation(recording.trace)
    attempt = Attempt(result, recording, case, None, read_hints(recording.trace.agents), verdicts)
    failed = explain(attempt, conversation)
    return FoundFailure(
        FINDINGS,
        astuple(failed.signature),
        failed.side,
        failed.reason,
        None if failed.step is None else astuple(failed.step),
        failed.evidence,
        failed.criteria,
        failed.length,
        tuple(sorted(attempt_features(result, conversation, case))),
        case.cluster or "",
    )


def explain(attempt: Attempt, conversation: Conversation) -> FailedAttempt:
    """Return a failed attempt with its decisive step and its signature."""
    result, finding = attempt.result, find_decisive(attempt, conversation)
    return FailedAttempt(
        result.position,
        result.title,
        result.attempt,
        _shared(finding.signature),
        finding.side,
        finding.reason,
        None if finding.place is None else conversation.make_step(finding.place),
        None if finding.place is None else finding.evidence,
        tuple(outcome.criterion for outcome, verdict in attempt.verdicts if verdict is Verdict.FAILED),
        length=conversation.length,
    )


@lru_cache(maxsize=4096)
def _shared(signature: Signature) -> Signature:
    """Return one record for equal signatures, so that many failures of a kind need the memory of one."""
    return signature


def share_passes(passed: Sequence[Conversation]) -> SharedByPasses:
    """Return the calls and the facts that attempts at a case share, all of them or at least 80 % of five or more."""
    needed = len(passed) if len(passed) < _FEW_PASSES else math.ceil(_NEARLY_ALL * len(passed))
    calls = [[own.call_at(place) for place in own.calls] for own in passed]
    counts = [Counter(map(normal_key, own)) for own in calls]
    made = frozenset(key for own in counts for key in own)
    shared = Counter({key: _shared_count(key, counts, needed) for key in made})
    first = max(calls, key=lambda own: sum(shared[normal_key(call)] > 0 for call in own))
    ordered: list[ToolCall] = []
    for call in first:
        if shared[key := normal_key(call)] > 0:
            ordered.append(call)
            shared[key] -= 1
    facts_by_pass = [collect_facts(own.reply_texts) for own in passed]
    numbers = Counter(key for own in facts_by_pass for key in own)
    facts = {key: text for own in reversed(facts_by_pass) for key, text in own.items() if numbers[key] >= needed}
    return SharedByPasses(len(passed), tuple(ordered), made, facts)


def _shared_count(key: str, counts: Sequence[Counter[str]], needed: int) -> int:
    """Return how often at least `needed` attempts made a call."""
    return sorted((own[key] for own in counts), reverse=True)[needed - 1]
