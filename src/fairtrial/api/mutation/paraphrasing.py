"""Ask a model for paraphrases of replies, and keep those that the facts prove."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.llm.model import CallError, NamedModel
from fairtrial.llm.model_pool import ModelPool, check_model
from fairtrial.llm.prompts import Templates
from fairtrial.llm.structured import read_json
from fairtrial.mutations.paraphrases import NAME, doubt, paraphrase_operator
from fairtrial.records.decoding import convert
from fairtrial.records.mutation import ParaphraseCount
from fairtrial.system.event_loop import blocking
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.mutations.operator import Operator
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json

_TEMPLATES = Templates("fairtrial.mutations")
_LONGEST = 6000
"""The number of characters of the longest reply that is paraphrased."""
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"paraphrase": {"type": "string"}},
    "required": ["paraphrase"],
    "additionalProperties": False,
}


class _Answer(msgspec.Struct, frozen=True):
    paraphrase: str


@dataclass(frozen=True)
class Paraphrases:
    """The proven paraphrases by their replies, and the number of answers that were dropped, by the reason."""

    proven: dict[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def operator(self) -> Operator:
        """The operator that plants the paraphrases."""
        return paraphrase_operator(self.proven)

    @property
    def manifest(self) -> dict[str, Any]:
        """Counts and a digest for the run's manifest. A continued run must have the same paraphrases."""
        texts = hashlib.sha256(msgspec.json.encode(sorted(self.proven.items()))).hexdigest()
        paraphrases = ParaphraseCount(len(self.proven), dict(sorted(self.dropped.items())))
        return {"paraphrases": msgspec.to_builtins(paraphrases), "paraphrase_digest": texts}


def write_paraphrases(recordings: Iterable[Recording], judges: Judges) -> Paraphrases:
    """Return paraphrases of the replies of some recordings by the judge model.

    Raises UsageError if no model is named, or if it cannot be called.
    """
    if judges.model is None:
        raise UsageError(f"operator {NAME} asks a model for paraphrases; name it with {spell('judge_model')} MODEL")
    model = NamedModel(judges.model.split(",")[0].strip())
    check_model(model, judges.models)
    replies = dict.fromkeys(turn.reply for recording in recordings for turn in recording.trace.invocations)
    texts = [reply for reply in replies if reply.strip() and len(reply) <= _LONGEST]
    written: Paraphrases = blocking(_write(texts, model, judges))
    return written


async def _write(replies: list[str], model: NamedModel, judges: Judges) -> Paraphrases:
    paraphrases = Paraphrases()
    async with ModelPool(replace(judges.models, batch=None)) as pool:
        writer = pool.connected(model)
        await pool.check()
        answers = await asyncio.gather(*(_ask(writer, reply) for reply in replies))
    for reply, answer in zip(replies, answers, strict=True):
        problem = "no answer" if answer is None else doubt(reply, answer)
        if problem or answer is None:
            paraphrases.dropped[problem] += 1
        else:
            paraphrases.proven[reply] = answer
    return paraphrases


async def _ask(model: NamedModel, reply: str) -> str | None:
    prompt = _TEMPLATES.render("paraphrase", {"reply": reply}, language=detect_language(reply), schema=_SCHEMA)
    try:
        answer = await model(prompt)
        text = convert(read_json(answer.text, is_cut_off=bool(answer.stop)), _Answer).paraphrase.strip()
    except (CallError, ValueError):
        return None
    return text or None
