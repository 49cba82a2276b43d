"""Propose rules about tools from recorded conversations that passed and that failed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from fairtrial.api.eval_files import load_recordings
from fairtrial.api.stores import open_store
from fairtrial.errors import UsageError
from fairtrial.metrics.tool_rules.mined_rules import LEAST_SUPPORT, Conversation, MinedRule, mine_rules
from fairtrial.records.record import without_defaults
from fairtrial.records.result import Verdict
from fairtrial.store import DEFAULT_URL

_MOST = 2_000
"""The most conversations that are read. Of more, a sample is drawn."""


def propose_rules(sources: Sequence[str | Path], store: str = DEFAULT_URL, *, seed: int = 0) -> tuple[MinedRule, ...]:
    """Return rules that all passing conversations kept, and that failing ones broke.

    `sources` are files and folders of recordings, or one stored run. A conversation of a run passed if its outcome did.
    A recording passed by its reward or by the outcome that its benchmark gave. Raises UsageError if too few passed, or
    if none failed.
    """
    conversations = list(_conversations(sources, store))
    if len(conversations) > _MOST:
        conversations = random.Random(seed).sample(conversations, _MOST)  # noqa: S311  (no secret)
    passed = sum(conversation.passed for conversation in conversations)
    failed = len(conversations) - passed
    if passed < LEAST_SUPPORT or not failed:
        raise UsageError(
            f"rules need at least {LEAST_SUPPORT} conversations that passed and one that failed, got {passed} and "
            f"{failed}. A run has verdicts; a recording needs a reward or an outcome"
        )
    return mine_rules(conversations)


def rules_config(rules: Sequence[MinedRule]) -> dict[str, Any]:
    """Return a configuration with the proposed rules."""
    entries = [msgspec.to_builtins(_as_json(mined)) for mined in rules]
    return {"criteria": {"tool_rules_v1": {"threshold": 1.0, "rules": entries}}}


def _as_json(mined: MinedRule) -> dict[str, Any]:
    rule = without_defaults(mined.rule)
    return {**rule, mined.rule.form: without_defaults(mined.rule.options)}


def _conversations(sources: Sequence[str | Path], store: str) -> Iterator[Conversation]:
    if len(sources) == 1 and not Path(sources[0]).exists():
        yield from _read_run(str(sources[0]), store)
        return
    for recording in load_recordings([*sources]):
        trace = recording.trace
        if recording.failure is not None:
            continue
        if trace.reward is not None:
            yield Conversation(trace, trace.reward >= 1, recording.case_id)
        elif trace.outcome:
            yield Conversation(trace, trace.outcome == "success", recording.case_id)


def _read_run(name: str, store: str) -> Iterator[Conversation]:
    with closing(open_store(store, create=False)) as run_store:
        info = run_store.run(name)
        verdicts = {(result.position, result.attempt): result for result in run_store.results(info.id)}
        for position, recording in run_store.recordings(info.id):
            result = verdicts.get((position, recording.attempt))
            verdict = None if result is None else result.verdict
            if verdict in (Verdict.PASSED, Verdict.FAILED):
                yield Conversation(recording.trace, verdict is Verdict.PASSED, str(position))
