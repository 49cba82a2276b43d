"""A language model under its name, its errors, and call keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from fairtrial.errors import CaseError, UsageError
from fairtrial.llm.endpoint import USUAL, Endpoint
from fairtrial.llm.known_providers import canonical

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.record import Json
    from fairtrial.records.reply import Prompt, Reply

DEFAULT_MODEL = "gemini-2.5-flash"
"""The model that judges, plays users and tools, and writes scenarios, if the user names no other model."""


class CallError(CaseError):
    """A call got no reply, and a second attempt would not help."""

    code = "call-failed"


class UnsentError(CallError):
    """A call was not made, for example because the budget is used up."""


class RefusedError(CallError):
    """A call got no reply this time, but the same call may succeed later.

    `overload` is True if the server asks for fewer calls. `after` is the wait in seconds that the server asks for.
    """

    def __init__(self, cause: str, *, overload: bool = False, after: float | None = None) -> None:
        super().__init__(cause)
        self.overload = overload
        self.after = after


class ExhaustedError(CallError):
    """A call was refused because the account has no money left, so every further call would be refused too."""


class DeferredCallError(Exception):
    """The reply to a call comes later, with a batch. It is not a call failure, which is made again then."""


class UnusableModelError(UsageError):
    """No call of this model can succeed, for example because its key is missing."""

    code = "unusable-model"


@dataclass(frozen=True)
class NamedModel:
    """A model under the name and the settings that its numbers are stored with.

    If `model` is None, the name stands for a provider's model or for an entry of `custom_models`, and a run connects
    it. `endpoint` is another address than the one that the provider or the environment names. If `structured` is False,
    only the prompt describes the reply form. For example, some local servers do not support JSON schemas. `timeout` is
    in seconds per call.
    """

    name: str
    model: Model | None = field(default=None, repr=False, compare=False)
    settings: Mapping[str, Json] = field(default_factory=dict)
    endpoint: Endpoint = USUAL
    structured: bool = True
    timeout: float | None = None

    async def __call__(self, prompt: Prompt) -> Reply:
        """Pass the prompt on."""
        if self.model is None:
            raise UsageError(
                f"model {self.name!r} is not connected; `evaluate` and `score` connect it for their run",
                code="unusable-model",
            )
        return await self.model(prompt)

    @property
    def signature(self) -> dict[str, Json]:
        """Name and settings: a number made with this model depends on both, and not on the endpoint."""
        return {"model": canonical(self.name), "settings": dict(self.settings)}

    def through(self, model: Model) -> NamedModel:
        """Return the same name and settings with another model behind them."""
        return replace(self, model=model)


def ignore(text: str) -> None:
    """Ignore a note about a model."""


def call_key(signature: Mapping[str, Json], prompt: Prompt) -> str:
    """Return the key that identifies a call: SHA-256 of (model, settings, schema, prompt), then draw and ask."""
    content = [signature, prompt.schema, prompt.system, prompt.text]
    content += [part.data for part in prompt.pictures]
    digest = hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
    return f"{digest}.{prompt.draw}.{prompt.ask}"
