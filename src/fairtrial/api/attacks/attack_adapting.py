"""Let a model adapt the attacks of an earlier run that failed to the replies of the agent."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.attacks.attack_candidates import goal_words
from fairtrial.api.attacks.attack_choice import AdaptedAttack
from fairtrial.errors import UsageError
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import ModelPool, check_model
from fairtrial.records.attack import ADAPTED, SUCCESS, PlantedAttack
from fairtrial.records.attempt import Recording
from fairtrial.simulate.attacks.rewritten_text import rewrite_text
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.judge.judges import Judges
    from fairtrial.records.result import CaseResult

_Failed = tuple[str, str, PlantedAttack, Recording]


def adapt_attacks(run: Run, attacker: str, judges: Judges, *, sample: int) -> tuple[AdaptedAttack, ...]:
    """Return attacks whose texts a model wrote again after they failed in a run, at most `sample` of them.

    The calls of the model are paid from the budget of `judges`, and are recorded in its cassette. Raises UsageError if
    the run holds no attack that failed, if the model cannot be called, or if it wrote no text.
    """
    failed = _failed_attacks(run)[:sample]
    if not failed:
        raise UsageError(
            f"run {run.info.id} holds no attack that the agent read and did not obey", code="other-content"
        )
    model = NamedModel(attacker)
    check_model(model, judges.models)
    adapted: tuple[AdaptedAttack, ...] = blocking(_write(failed, model, judges))
    if not adapted:
        raise UsageError(f"{attacker} wrote no text for {len(failed)} attacks")
    return adapted


def _failed_attacks(run: Run) -> list[_Failed]:
    """Return the attacks without success whose text the agent read, each with its conversation."""
    if run.info.kind != "attack":
        raise UsageError(
            f"{run.info.id}: is a run of `fairtrial {run.info.kind}`, and holds no attacks", code="unusable-run"
        )
    recordings = dict(run.recordings)
    failed = {result.position for result in run.cases if _has_failed(result)}
    return [
        (expected.eval_set.rpartition("@")[0], expected.case.id, expected.case.attack, recordings[expected.position])
        for expected in run.expected
        if expected.position in failed and expected.position in recordings and expected.case.attack is not None
    ]


def _has_failed(result: CaseResult) -> bool:
    scores = [outcome.score for outcome in result.outcomes if outcome.criterion == SUCCESS]
    return any(score.applicable and score.value == 0 for score in scores)


async def _write(failed: list[_Failed], model: NamedModel, judges: Judges) -> tuple[AdaptedAttack, ...]:
    async with ModelPool(dataclasses.replace(judges.models, batch=None)) as pool:
        writer = pool.connected(model)
        await pool.check()
        texts = await asyncio.gather(*(_rewrite(writer, attack, recording) for _, _, attack, recording in failed))
    return tuple(
        AdaptedAttack(eval_set, case_id, replace(attack, template=ADAPTED, text=text, second=""))
        for (eval_set, case_id, attack, _), text in zip(failed, texts, strict=True)
        if text
    )


async def _rewrite(model: NamedModel, attack: PlantedAttack, recording: Recording) -> str:
    goal = "" if attack.goal is None else goal_words(attack.goal, attack.language)
    replies = [turn.reply for turn in recording.trace.invocations if turn.reply]
    return await rewrite_text(model, attack, goal, replies)
