"""Let a model write the text of an attack again that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from fairtrial.llm.model import CallError
from fairtrial.llm.prompts import Templates
from fairtrial.llm.structured import read_json
from fairtrial.records.decoding import convert
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.attack import PlantedAttack
    from fairtrial.records.record import Json

_TEMPLATES = Templates("fairtrial.simulate")
_LONGEST, _LONGEST_REPLY = 3_000, 2_000
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class _Answer(msgspec.Struct, frozen=True):
    text: str


async def rewrite_text(model: Model, attack: PlantedAttack, goal: str, replies: Sequence[str]) -> str:
    """Return another text for an attack, or an empty text if the model did not write one. `goal` is the goal in words.

    The model sees the text that failed and what the agent replied. It does not see the conversation.
    """
    texts = {
        "goal": goal,
        "place": f"the result of {attack.tool}" if attack.tool else f"a text of the user ({attack.place})",
        "planted": shorten(f"{attack.text}\n{attack.second}".strip(), _LONGEST),
        "replies": shorten("\n\n".join(replies), _LONGEST_REPLY) or "(no reply)",
    }
    prompt = _TEMPLATES.render("adapted_attack", texts, language=attack.language, schema=_SCHEMA)
    try:
        answer = await model(prompt)
        text = convert(read_json(answer.text, is_cut_off=bool(answer.stop)), _Answer).text.strip()
    except (CallError, ValueError):
        return ""
    return text[:_LONGEST]
