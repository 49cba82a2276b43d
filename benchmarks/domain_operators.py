"""Operators that know what makes an answer right in their domain. Each is planted beside the operators of the package.

For EVOUNA, every question has short references, such as "Wilhelm Conrad Röntgen". A reply that holds the short
reference is right, and a reply that holds that of another question is wrong. For tau-bench, a conversation is right if
it leaves the right data behind: calls that only read change nothing. No operator looks at an answer that people judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from fairtrial.mutations.operator import Invocations, Operator, Plant, Scene
from fairtrial.records.mutation import Family
from fairtrial.records.trace import Invocation, ToolCall

_READS = 3
"""The number of reading calls that are added."""


def answer_operators(short: Mapping[str, str]) -> tuple[Operator, ...]:
    """Return operators for cases whose right answer in a few words is known. `short` holds it by the id of a case."""

    def short_answer(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
        return scene.with_reply(short[scene.case.id])

    def short_answer_wrong(scene: Scene, random: Random) -> Invocations | None:
        answers = [short[other.id] for other in scene.other_cases]
        unknown = [answer for answer in answers if answer.casefold() not in scene.reply.casefold()]
        return scene.with_reply(random.choice(unknown)) if unknown else None

    return (
        _operator("short_answer", short_answer, is_harmful=False),
        _operator("short_answer_wrong", short_answer_wrong, is_harmful=True),
    )


def call_operators(reading: frozenset[str]) -> tuple[Operator, ...]:
    """Return operators for cases in which calls of some tools change nothing."""

    def is_reading(step: object) -> bool:
        return isinstance(step, ToolCall) and step.name in reading

    def reads_dropped(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
        return scene.with_steps([step for step in scene.steps if not is_reading(step)])

    def reads_added(scene: Scene, random: Random) -> Invocations | None:
        elsewhere = [step for case in scene.other_cases for turn in case.conversation or () for step in _reads(turn)]
        if not elsewhere:
            return None
        return scene.with_steps([*random.sample(elsewhere, min(_READS, len(elsewhere))), *scene.steps])

    def writes_lost(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
        return scene.with_steps([step for step in scene.steps if is_reading(step)])

    def _reads(turn: Invocation) -> list[ToolCall]:
        return [step for step in turn.steps or () if isinstance(step, ToolCall) and step.name in reading]

    return (
        _operator("reads_dropped", reads_dropped, is_harmful=False, family="calls"),
        _operator("reads_added", reads_added, is_harmful=False, family="calls"),
        _operator("writes_lost", writes_lost, is_harmful=True, family="calls"),
    )


def _operator(name: str, plant: Plant, *, is_harmful: bool, family: Family = "facts") -> Operator:
    return Operator(name, "harmful" if is_harmful else "harmless", plant, ("", ""), family=family)
