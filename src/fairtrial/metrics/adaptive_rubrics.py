"""Make rubrics for a user message with a judge, if nobody has written any."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from fairtrial.llm.structured import read_json
from fairtrial.metrics.judge_context import Texts, agents_at, instructions, tools, user_message
from fairtrial.metrics.judged_metric import TEMPLATES
from fairtrial.records.decoding import convert
from fairtrial.records.rubric import Rubric
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.judge.judge import Judge
    from fairtrial.records.trace import Trace

TEMPLATE = "adaptive_rubrics"
RUBRIC_LIMIT = 10
"""The largest number of rubrics for one user message."""
LENGTH_LIMIT = 1000
"""The largest number of characters of a rubric. A longer text is not one property."""

Aspect = Literal["general", "text", "instructions", "reply", "tool use"]
"""The subject of the rubrics."""

_SHAPE = {
    "type": "object",
    "properties": {"rubrics": {"type": "array", "items": {"type": "string"}}},
    "required": ["rubrics"],
    "additionalProperties": False,
}


class AdaptiveRubrics(NamedTuple):
    """The rubrics that a judge made, the ids of the ballots, and the problem if it made none."""

    rubrics: tuple[Rubric, ...]
    ballots: tuple[str, ...]
    problem: str = ""


async def make_rubrics(judge: Judge, aspect: Aspect, trace: Trace, index: int, version: str = "") -> AdaptiveRubrics:
    """Let the first model of a judge make rubrics for the invocation at `index`, with a version of the prompt.

    The model sees the user messages, the instructions and the tools, and nothing that the agent did. Every attempt of
    a case therefore has the same prompt, and the same rubrics from the store of calls.
    """
    texts = _texts(trace, index)
    prompt = TEMPLATES.render(
        TEMPLATE,
        texts,
        language=detect_language(trace.invocations[index].query),
        schema=_SHAPE,
        version=version,
        aspect=aspect,
        limit=RUBRIC_LIMIT,
        context_names=list(texts),
    )
    rubrics, ballot = await judge.write(prompt, _parse)
    return AdaptiveRubrics(rubrics or (), (ballot.id,), ballot.votes[0].problems.get(prompt.id, ""))


def _texts(trace: Trace, index: int) -> Texts:
    agents = agents_at(trace, index)
    texts = instructions(agents) | tools(agents)
    for place, invocation in enumerate(trace.invocations[: index + 1]):
        texts |= user_message(invocation, place)
    return texts


def _parse(reply: str) -> tuple[Rubric, ...]:
    """Return the usable rubrics of a reply, at most ten. Raises ValueError if there are none."""
    try:
        lines = convert(read_json(reply), dict[str, list[str]])["rubrics"]
    except KeyError:
        raise ValueError("the reply has no 'rubrics'") from None
    except msgspec.ValidationError as problem:
        raise ValueError(f"the rubrics cannot be read: {problem}") from None
    texts = dict.fromkeys(" ".join(line.split()) for line in lines)
    usable = [text for text in texts if text and len(text) <= LENGTH_LIMIT]
    if not usable:
        raise ValueError(f"the reply has no rubric of 1 to {LENGTH_LIMIT} characters")
    return tuple(Rubric(_id(text), text) for text in usable[:RUBRIC_LIMIT])


def _id(text: str) -> str:
    """Return an id that follows from the text, so that parts of two runs are equal only if their rubrics are."""
    return f"adaptive {hashlib.sha256(text.encode()).hexdigest()[:8]}"
