"""Ask a model for plainer names of failure modes, from excerpts of conversations around their decisive steps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from fairtrial.analysis.failures.events import Conversation, event_text
from fairtrial.analysis.failures.named_failures import first_line
from fairtrial.llm.model import CallError, NamedModel
from fairtrial.llm.model_pool import ModelPool
from fairtrial.llm.prompts import Templates
from fairtrial.llm.structured import read_json
from fairtrial.records.decoding import convert
from fairtrial.records.failure_mode import FailedAttempt, FailureMode
from fairtrial.records.trace import Trace
from fairtrial.system.event_loop import blocking
from fairtrial.text.display import visible_line
from fairtrial.text.language import detect_language
from fairtrial.text.redaction.redact import redact

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.records.record import Json

TEMPLATES = Templates("fairtrial.api.failure_modes")
LONGEST_NAME = 120
_BEFORE, _AFTER = 6, 2
"""The numbers of events before and after the decisive step that the model sees."""
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

Example = tuple[FailedAttempt, Trace]
"""A failed attempt of a mode with its conversation."""


class _Answer(msgspec.Struct, frozen=True):
    name: str


def propose_names(
    modes: Sequence[FailureMode], examples: Mapping[int, Sequence[Example]], judges: Judges
) -> dict[int, str]:
    """Return a name for each mode whose examples are given, by its number. Unreadable answers are left out.

    The first model of the judges writes the names.
    """
    names: dict[int, str] = blocking(_propose([own for own in modes if examples.get(own.number)], examples, judges))
    return names


async def _propose(
    modes: Sequence[FailureMode], examples: Mapping[int, Sequence[Example]], judges: Judges
) -> dict[int, str]:
    async with ModelPool(replace(judges.models, batch=None)) as pool:
        writer = pool.connected(judges.judge().panel[0])
        await pool.check()
        names = await asyncio.gather(*(_ask(writer, mode, examples[mode.number]) for mode in modes))
    return {mode.number: name for mode, name in zip(modes, names, strict=True) if name}


async def _ask(writer: NamedModel, mode: FailureMode, examples: Sequence[Example]) -> str:
    texts = {f"excerpt_{place}": _excerpt(*own) for place, own in enumerate(examples, 1)}
    language = detect_language(" ".join(trace.invocations[0].query for _, trace in examples if trace.invocations))
    excerpts: list[Json] = [*texts]
    prompt = TEMPLATES.render(
        "mode_name", {"found": mode.name, **texts}, language=language, schema=_SCHEMA, excerpts=excerpts
    )
    try:
        answer = await writer(prompt)
        name = convert(read_json(answer.text, is_cut_off=bool(answer.stop)), _Answer).name
    except (CallError, ValueError):
        return ""
    line = visible_line(redact(first_line(name), emails=True)[0])
    return line if len(line) <= LONGEST_NAME else ""


def _excerpt(failed: FailedAttempt, trace: Trace) -> str:
    """Return the events around the decisive step, and the reason."""
    events = Conversation(trace).events
    at = len(events) - 1 if failed.step is None else failed.step.ordinal - 1
    lines = [f"{own.kind}: {event_text(own)}" for own in events[max(0, at - _BEFORE) : at + 1 + _AFTER]]
    return "\n".join([*lines, f"reason: {failed.reason}"])
