"""How do the instructions of an agent get worse on purpose? One sentence is dropped, or its modal is weakened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fairtrial.protocols import Real
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall, ToolResult
from fairtrial.simulate.environment import InstructionEdit
from fairtrial.text.sentences import sentences


@dataclass(frozen=True)
class EditedInstructions:
    """The environment of every conversation in which only the instructions change. The tools themselves answer."""

    edit: InstructionEdit

    def __call__(self, case: EvalCase, attempt: int) -> EditedInstructions:  # noqa: ARG002
        """Return the environment of one conversation, which does not have a state."""
        return self

    def rewrite_instructions(self, text: str) -> str:
        """Return instructions with the edit."""
        return self.edit.apply(text)

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:  # noqa: ARG002
        """Answer a call with the tool itself."""
        return ToolResult(call.name, await real(), call.id)


_WEAKER = {
    "must not": "should preferably not",
    "must": "may",
    "never": "seldom",
    "always": "usually",
    "do not": "try not to",
    "don't": "try not to",
    "only": "preferably",
    "반드시": "가능하면",
    "절대": "되도록",
    "항상": "보통",
    "해야 합니다": "해도 됩니다",
    "해야 한다": "해도 된다",
    "必ず": "できれば",
    "決して": "なるべく",
    "常に": "普段は",
    "しなければなりません": "してもかまいません",
    "必须": "可以",
    "务必": "可以",
    "绝不": "尽量不",
    "不得": "尽量不要",
    "始终": "通常",
}
"""Words that oblige, and weaker words of the same language. A longer phrase stands before its beginning."""
_MODAL = re.compile("|".join(rf"\b{word}\b" if word.isascii() else word for word in _WEAKER), re.IGNORECASE)


@dataclass(frozen=True)
class InstructionDegradation:
    """A degradation of instructions with an example (before, after). `edits` yields one edit for each mutant.

    `weight` orders survivors, the most harmful first.
    """

    name: str
    edits: Callable[[str], Iterator[InstructionEdit]]
    example: tuple[str, str]
    weight: int


def _drop(instructions: str) -> Iterator[InstructionEdit]:
    """Yield an edit for each sentence, which leaves the sentence out."""
    for sentence in dict.fromkeys(sentences(instructions)):
        yield InstructionEdit(sentence, "")


def _weaken(instructions: str) -> Iterator[InstructionEdit]:
    """Yield an edit for each sentence that obliges. Its first modal becomes weaker."""
    for sentence in dict.fromkeys(sentences(instructions)):
        modal = _MODAL.search(sentence)
        if modal is not None:
            weaker = _WEAKER[modal.group().lower()]
            weaker = weaker.capitalize() if modal.group()[0].isupper() else weaker
            yield InstructionEdit(sentence, sentence[: modal.start()] + weaker + sentence[modal.end() :])


INSTRUCTION_DEGRADATIONS: dict[str, InstructionDegradation] = {
    degradation.name: degradation
    for degradation in (
        InstructionDegradation("instruction_dropped", _drop, ("Look it up. Be kind.", "Be kind."), 9),
        InstructionDegradation("instruction_weakened", _weaken, ("You must look it up.", "You may look it up."), 6),
    )
}
