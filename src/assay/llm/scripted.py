"""A model that says what it was told to say: for tests, of this package and of its users."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from assay.llm.model import CallError, Prompt, Reply

Line = str | Reply | Exception
"""One thing to say; an exception is raised."""

Script = Callable[[Prompt], "Line | Awaitable[Line]"]


@dataclass
class Scripted:
    """Answers prompts from a list, in order, or by a function of the prompt; keeps the prompts that it was sent."""

    script: Iterable[Line] | Script
    prompts: list[Prompt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = None if callable(self.script) else iter(self.script)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Say the next line; `CallError` where the script is at its end."""
        self.prompts.append(prompt)
        line = await self._line(prompt)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(text=line, model="scripted")

    async def _line(self, prompt: Prompt) -> Line:
        if self._lines is None:
            said = self.script(prompt)  # type: ignore[operator]
            return await said if inspect.isawaitable(said) else said
        return next(self._lines, CallError("the script has no further line"))
