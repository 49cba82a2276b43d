"""Collect the distinct prompts that a ballot's calls sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.records.ballot import SentPrompt

if TYPE_CHECKING:
    from fairtrial.records.reply import Prompt


class SentPrompts:
    """The prompts of a ballot, each once, in the order in which they were sent."""

    def __init__(self) -> None:
        self._numbers: dict[SentPrompt, int] = {}

    def number(self, prompt: Prompt) -> int:
        """Return the index of a prompt, and note the prompt if it is new."""
        return self._numbers.setdefault(SentPrompt(prompt.system, prompt.text), len(self._numbers))

    def all(self) -> tuple[SentPrompt, ...]:
        """Return the prompts."""
        return tuple(self._numbers)
