"""The interface of mutation operators. One operator plants one change in one invocation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult
from fairtrial.text.json_schemas import find_parameters
from fairtrial.text.language import Language, detect_language, is_traditional

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.mutation import Direction, Family

Invocations = tuple[Invocation, ...]

LANGUAGES: tuple[Language, ...] = ("en", "ko", "ja", "zh")


def _same_name(actual: ToolCall, expected: ToolCall) -> bool:
    return actual.name == expected.name and actual.args == expected.args


@dataclass(frozen=True)
class Rules:
    """The differences that the criteria of a case allow. An operator never asks a criterion for a score.

    `same_call` says whether two calls are the same call. `order` is the strictest order of calls that a criterion asks
    for, or empty if none compares calls. `privacy` says whether a criterion is about private data, and `grounding`
    whether a criterion compares the reply with the results of tools. `tolerance` is the largest relative difference of
    numbers in a reply that a criterion allows.
    """

    same_call: Callable[[ToolCall, ToolCall], bool] = _same_name
    order: Literal["", "EXACT", "IN_ORDER", "ANY_ORDER"] = ""
    optional_tools: frozenset[str] = frozenset()
    privacy: bool = False
    grounding: bool = False
    tolerance: float = 0.0

    def allows(self, number: str, replacement: str) -> bool:
        """Return whether the criteria allow one number for another in a reply. Both are texts such as "1250"."""
        try:
            right, new = float(number), float(replacement)
        except ValueError:
            return False
        return abs(new - right) <= self.tolerance * abs(right)


@dataclass(frozen=True)
class Scene:
    """One invocation of a conversation that passes, with everything that an operator may look at.

    `tools` are the declarations of the tools by their names. `other_cases` are the other cases of the eval set.
    """

    case: EvalCase
    invocations: Invocations
    index: int
    rules: Rules = field(default_factory=Rules)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    other_cases: Sequence[EvalCase] = ()

    @property
    def invocation(self) -> Invocation:
        """The invocation that changes."""
        return self.invocations[self.index]

    @property
    def reply(self) -> str:
        """The reply that changes."""
        return self.invocation.reply

    @property
    def expected(self) -> Invocation | None:
        """The invocation that the case expects at this place, or None."""
        conversation = self.case.conversation or ()
        return conversation[self.index] if self.index < len(conversation) else None

    @property
    def reference(self) -> str:
        """The reply that the case expects, or an empty text."""
        return "" if self.expected is None else self.expected.reply

    @cached_property
    def language(self) -> Language:
        """The language of the reply."""
        return detect_language(self.reply)

    @cached_property
    def variety(self) -> str:
        """The language of the reply, or "zh-Hant" for Chinese in traditional characters."""
        is_written_so = self.language == "zh" and is_traditional(f"{self.reply}\n{self.grounds}")
        return "zh-Hant" if is_written_so else self.language

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps before the reply."""
        return self.invocation.steps or ()

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of tools up to this invocation."""
        so_far = self.invocations[: self.index + 1]
        return tuple(step for invocation in so_far for step in invocation.steps or () if isinstance(step, ToolResult))

    @cached_property
    def result_texts(self) -> tuple[str, ...]:
        """The values in the results of tools, as texts."""
        return tuple(text for result in self.results for _, text in leaves(result.response))

    @cached_property
    def grounds(self) -> str:
        """The texts that a fact may come from: the reference, the messages of the user, and the results of tools."""
        messages = (invocation.query for invocation in self.invocations[: self.index + 1])
        return "\n".join((self.reference, *messages, *self.result_texts, self.case.context))

    def with_reply(self, text: str) -> Invocations:
        """Return the conversation with another reply in this invocation. Nothing else changes."""
        message = self.invocation.final_response or Message("")
        return self.with_invocation(replace(self.invocation, final_response=replace(message, text=text)))

    def with_steps(self, steps: Sequence[Step]) -> Invocations:
        """Return the conversation with other steps in this invocation."""
        return self.with_invocation(replace(self.invocation, steps=tuple(steps)))

    def with_invocation(self, invocation: Invocation) -> Invocations:
        """Return the conversation with another invocation in this place."""
        return (*self.invocations[: self.index], invocation, *self.invocations[self.index + 1 :])


Plant = Callable[[Scene, Random], Invocations | None]
"""Returns the conversation with one change, or None if the change does not apply. Equal seeds give equal changes."""


@dataclass(frozen=True)
class Operator:
    """A change with a name, a direction and an example (before, after).

    `languages` are the languages whose replies it can change. An operator on calls or turns does not depend on one.
    `weight` orders survivors: the most harmful change has the highest. `family` says what it changes: calls, facts, or
    the form of a reply. `defect` is the real defect that it stands for, or the reason why it is harmless. With
    `keeps_twins` its mutants count even if another operator makes the same text.
    """

    name: str
    direction: Direction
    plant: Plant
    example: tuple[str, str]
    languages: tuple[Language, ...] = ()
    weight: int = 1
    family: Family = "facts"
    defect: str = ""
    keeps_twins: bool = False

    def mutate(self, scene: Scene, seed: str) -> Invocations | None:
        """Return the conversation with one change, or None. The result differs from the conversation."""
        if self.languages and (not scene.reply or scene.language not in self.languages):
            return None
        mutant = self.plant(scene, Random(f"{seed}:{self.name}"))  # noqa: S311  (choices that can be repeated, no secret)
        return None if mutant is None or _equal(mutant, scene.invocations) else mutant


def _equal(mutant: Invocations, baseline: Invocations) -> bool:
    """Return whether two conversations are written alike. Objects with their keys in another order are not."""
    return mutant == baseline and msgspec.json.encode(mutant) == msgspec.json.encode(baseline)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a JSON value, each with the nearest key above it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, key)
    elif isinstance(value, str):
        yield key, value
    elif value is not None and not isinstance(value, bool):
        yield key, json.dumps(value)


def read_parameters(declaration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas of the arguments that a tool declares, by their names."""
    properties = find_parameters(declaration).get("properties")
    return properties if isinstance(properties, Mapping) else {}


def shuffle(items: Sequence[Any], random: Random) -> list[Any]:
    """Return the items in an order that the seed decides."""
    return random.sample(list(items), len(items))
