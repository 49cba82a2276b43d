"""What is a language model, seen from here: something that answers one prompt with one reply."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from fairtrial.errors import CaseError, UsageError
from fairtrial.protocols import Model
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply

DEFAULT_MODEL = "gemini-2.5-flash"
"""The model that judges, plays users and tools, and writes scenarios, where none is named."""


class CallError(CaseError):
    """A call got no reply, and asking again now would not help."""


class UnsentError(CallError):
    """A call was not made at all: the budget is used up, or the other side does not answer any more."""


class RefusedError(CallError):
    """A call got no reply this time; the same call may succeed later.

    `overload` says that the other side asked for fewer calls; `after` is how many seconds it asked to wait.
    """

    def __init__(self, cause: str, *, overload: bool = False, after: float | None = None) -> None:
        super().__init__(cause)
        self.overload = overload
        self.after = after


class UnusableModelError(UsageError):
    """No call to this model can succeed: no key, no such model, no server."""


@dataclass(frozen=True)
class NamedModel:
    """A model under the name and the settings that its numbers are stored with."""

    name: str
    model: Model = field(repr=False, compare=False)
    settings: Mapping[str, Json] = field(default_factory=dict)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Pass the prompt on."""
        return await self.model(prompt)

    @property
    def signature(self) -> dict[str, Json]:
        """Name and settings: what a number made with this model depends on."""
        return {"model": self.name, "settings": dict(self.settings)}

    def through(self, wrap: Callable[[Model], Model]) -> NamedModel:
        """Return the same name and settings with something put before the model."""
        return NamedModel(self.name, wrap(self.model), self.settings)


def call_key(signature: Mapping[str, Json], prompt: Prompt) -> str:
    """Return what identifies a call: SHA-256 of (model, settings, schema, prompt), then draw and ask."""
    content = [signature, prompt.schema, prompt.system, prompt.text]
    digest = hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
    return f"{digest}.{prompt.draw}.{prompt.ask}"
