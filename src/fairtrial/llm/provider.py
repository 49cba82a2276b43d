"""The models of providers, all called through pydantic-ai. The library is loaded when a model is first called."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from fairtrial.errors import ConfigError, nearest
from fairtrial.llm.library_models import OpenModel, open_model
from fairtrial.llm.library_settings import SETTINGS, settings_for
from fairtrial.llm.model import CallError, ExhaustedError, RefusedError, UnusableModelError, ignore
from fairtrial.llm.provider_refusals import UNUSABLE, make_failure
from fairtrial.llm.secrets import known_secrets, redact, without_credentials
from fairtrial.llm.token_counts import compute_price
from fairtrial.llm.unsent_settings import unsent_settings
from fairtrial.records.reply import Prompt, Reply

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model as ProviderModel

    from fairtrial.llm.address import Address
    from fairtrial.llm.provider_replies import ProviderReply
    from fairtrial.records.record import Json

CHECK_SECONDS = 20.0
_SCHEMA_REFUSED = re.compile(
    r"response_?format|json_?schema|response_?(json_?)?schema|response_?mime|output_config|structured|guided|grammar",
    re.IGNORECASE,
)
_PICTURES_REFUSED = re.compile(r"image|vision|audio|multi-?modal|modalit|mmproj", re.IGNORECASE)
_NO_PICTURES = "The pictures are not shown to you. Nothing is known about what they show."
_NO_SOUNDS = "The pictures and sounds are not given to you. Nothing is known about what they hold."
_ANY_PROMPT = Prompt(id="", version="", text="-")


@dataclass
class Provider:
    """A model at its provider. Enter it to hold its connections open, leave it to close them.

    Its name and settings are checked at once. Its key is read, and the library is loaded, when it is first used.
    """

    address: Address
    options: Mapping[str, Json] = field(default_factory=dict)
    structured: bool = True
    note: Callable[[str], None] = field(default=ignore, repr=False)
    _settings: dict[str, Any] = field(init=False, repr=False)
    _secrets: tuple[str, ...] = field(init=False, repr=False)
    _stack: AsyncExitStack = field(init=False, repr=False, default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._settings = settings_for(self.address.provider, self.options, self.address.known.protocol)
        self._open_model: OpenModel | None = None
        self._has_replied = False
        self._refuses_schemas = False
        self._has_refused_pictures = False
        self._secrets = (*self.address.secrets, *known_secrets())

    @property
    def _library(self) -> OpenModel:
        if self._open_model is None:
            self._open_model = open_model(self.address)
            for name in unsent_settings(self.address, self.options):
                self._settings.pop(SETTINGS.get(name, name), None)
        return self._open_model

    @property
    def _model(self) -> ProviderModel:
        return self._library.model

    @property
    def _takes_schemas(self) -> bool:
        """Whether the provider takes a JSON schema. For older models, the prompt describes the answer form."""
        takes_schemas = self.structured and not self._refuses_schemas
        return takes_schemas and bool(self._model.profile.get("supports_json_schema_output"))

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._model)
        if self._library.http is not None:
            await self._stack.enter_async_context(self._library.http)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def __call__(self, prompt: Prompt) -> Reply:
        """Call the model once. Raises `RefusedError` if the same call may succeed later, and `CallError` otherwise.

        Raises `UnusableModelError` if the key or the model is refused before the first reply. For example, `check`
        cannot find an unknown model at a server without a list of models.
        """
        return await self._request(prompt, self._make_settings(prompt))

    async def request_for(self, prompt: Prompt) -> httpx2.Request:
        """Return a call's request, which is not sent."""
        from fairtrial.llm.guarded_client import exchanged

        with exchanged() as exchange:
            try:
                await self(prompt)
            except Exception as error:
                # Each SDK has its own error for a connection that breaks. An earlier error is about the call itself.
                if exchange.request is None:
                    raise CallError(str(error)) from error
        assert exchange.request is not None  # noqa: S101  (without a response there is no reply)
        return exchange.request

    async def reply_from(self, status: int, content: bytes) -> Reply:
        """Return the reply that the response to a call holds. Raises as the call itself does."""
        from fairtrial.llm.guarded_client import exchanged

        with exchanged(status, content):
            # A larger limit of tokens would make an SDK expect a stream.
            return await self._request(_ANY_PROMPT, {**self._settings, "max_tokens": 1000})

    @property
    def client(self) -> httpx2.AsyncClient:
        """The request client."""
        if self._library.http is None:
            raise ConfigError(f"{self._where()}: its requests cannot be sent in batches")
        return self._library.http

    async def _request(self, prompt: Prompt, settings: dict[str, Any]) -> Reply:
        from pydantic_ai.exceptions import ContentFilterError

        from fairtrial.llm.guarded_client import arriving

        structured = prompt.schema is not None and self._takes_schemas
        with arriving() as arrival:
            error = await self._send(prompt, settings, structured=structured)
        if arrival.reply is not None:
            self._has_replied = True
            return self._reply(arrival.reply)
        error = arrival.error or error
        if isinstance(error, ContentFilterError):
            return Reply(text="", stop=self.clean(f"content_filter: {error}"))
        failure, status = self._classify_failure(error)
        # The library itself refuses sounds for providers that have no place for them, without a status.
        if prompt.pictures and (status is None or status >= 400) and _PICTURES_REFUSED.search(str(failure)):
            return await self._without_pictures(prompt, failure)
        if structured and status in {400, 422} and _SCHEMA_REFUSED.search(str(failure)):
            return await self._without_schema(prompt, failure)
        if (status in UNUSABLE or isinstance(failure, ExhaustedError)) and not self._has_replied:
            raise UnusableModelError(f"{self._where()}: {failure}") from None
        raise failure from None

    async def _send(self, prompt: Prompt, settings: dict[str, Any], *, structured: bool) -> Exception | None:
        """Send a call, and return the error from the library or the provider's SDK."""
        from pydantic_ai.direct import model_request

        try:
            await model_request(
                self._model,
                [_message(prompt)],
                model_settings=settings,  # type: ignore[arg-type]
                model_request_parameters=_parameters(prompt, structured=structured),
                instrument=False,
            )
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - any exception of a connection or an SDK means that this call got no reply
            return error
        return None

    def _classify_failure(self, error: Exception | None) -> tuple[CallError, int | None]:
        """Return the failure for a call without a reply, and the response status if there was one."""
        from pydantic_ai.exceptions import ModelHTTPError, UserError

        from fairtrial.llm.provider_replies import NoReplyError

        if isinstance(error, NoReplyError):
            return make_failure(error.status, {}, error.body, "the response holds no reply", self.clean), error.status
        if isinstance(error, ModelHTTPError):
            status = error.status_code
            return make_failure(status, error.headers or {}, error.body, f"HTTP {status}", self.clean), status
        text = self.clean(str(error))
        if isinstance(error, UserError):
            return CallError(text), None
        return RefusedError(f"{type(error).__name__}: {text}"), None

    async def _without_schema(self, prompt: Prompt, refusal: CallError) -> Reply:
        """Call the model again, and from now on, without a JSON schema. The prompt describes the reply form."""
        if not self._refuses_schemas:
            self._refuses_schemas = True
            self.note(
                f"{self._where()}: does not take JSON schemas ({refusal}), so the prompt alone describes the form of "
                "the replies; set structured_output to false to avoid the first request"
            )
        return await self(prompt)

    async def _without_pictures(self, prompt: Prompt, refusal: CallError) -> Reply:
        """Call the model again without the pictures of a prompt, which it may have refused for a broken picture."""
        has_sounds = any(part.mime_type.startswith("audio/") for part in prompt.pictures)
        kinds = "pictures or sounds" if has_sounds else "pictures"
        if not self._has_refused_pictures:
            self._has_refused_pictures = True
            self.note(f"{self._where()}: refuses {kinds} ({refusal}), so that it judges without those that it refuses")
        return await self(
            replace(prompt, pictures=(), text=f"{prompt.text}\n\n{_NO_SOUNDS if has_sounds else _NO_PICTURES}")
        )

    def _make_settings(self, prompt: Prompt) -> dict[str, Any]:
        """Return call settings. Each draw has its own seed, or all votes would be the same vote."""
        seed = self._settings.get("seed")
        return self._settings if seed is None else {**self._settings, "seed": (seed + _number(prompt.draw)) % 2**31}

    def _reply(self, reply: ProviderReply) -> Reply:
        counts, own_price = reply.counts, self.address.endpoint.price
        cost = reply.cost if own_price is None else None
        if cost is None and counts is not None:
            cost = compute_price(self.address, counts, reply.model)
        return Reply(
            text=redact(reply.text, self._secrets),
            model=redact(reply.model, self._secrets) or self.address.model,
            input_tokens=counts.input if counts else None,
            output_tokens=counts.output if counts else None,
            cost=cost,
            stop=self.clean(reply.stop),
        )

    def clean(self, text: str) -> str:
        """Return an error text without secrets, also in URLs."""
        return without_credentials(redact(text, self._secrets))

    async def check(self) -> None:
        """Check that calls can succeed, without a call that costs money.

        Raises `UnusableModelError` if the server does not answer, refuses the key, or does not list the model. If a
        server has no list of models, the model counts as usable.
        """
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._look_up()
        except TimeoutError:
            raise UnusableModelError(
                f"{self._where()}: no answer within {CHECK_SECONDS:g} s", code="no-answer"
            ) from None

    async def _look_up(self) -> None:
        models, name = self._library.models, self.address.model
        if models is None:
            return
        try:
            await (models.get(model=name) if self.address.known.protocol == "gemini" else models.retrieve(name))
        except Exception as error:  # noqa: BLE001 - each SDK has its own errors, but all have a status
            status = getattr(error, "status_code", None) or getattr(error, "code", None)
            if not isinstance(status, int):
                raise UnusableModelError(
                    self.clean(f"{self._where()}: no answer ({error})"), code="no-answer"
                ) from None
            if status in {401, 403} or "API key" in str(error):
                raise UnusableModelError(
                    self.clean(f"{self._where()}: the key was refused ({error})"), code="request-refused"
                ) from None
            if status == 404:
                await self._look_through(models)

    async def _look_through(self, models: Any) -> None:
        try:
            names = [str(model.id if hasattr(model, "id") else model.name) async for model in await _pages(models)]
        except Exception:  # noqa: BLE001 - the server has no list of models
            return
        models_there = [name.removeprefix("models/") for name in names]
        if models_there and self.address.model not in models_there:
            raise UnusableModelError(
                f"{self._where()}: there is no such model (it has {', '.join(sorted(models_there)[:20])})"
                f"{nearest(self.address.model, models_there)}",
                code="unknown-name",
            )

    def _where(self) -> str:
        return f"model {self.address.provider}/{self.address.model} at {self.address.base_url or 'its provider'}"


async def _pages(models: Any) -> Any:
    listed = models.list()
    return await listed if inspect.isawaitable(listed) else listed


def _number(draw: str) -> int:
    """Return a draw's number. A draw by a user or a tool is no number, so its hash is taken."""
    return int(draw) if draw.isdecimal() else int(hashlib.sha256(draw.encode()).hexdigest()[:8], 16)


def _message(prompt: Prompt) -> Any:
    from pydantic_ai.messages import BinaryContent, ModelRequest, SystemPromptPart, UserPromptPart

    system = [SystemPromptPart(prompt.system)] if prompt.system else []
    pictures = [BinaryContent(base64.b64decode(part.data), media_type=part.mime_type) for part in prompt.pictures]
    return ModelRequest(parts=[*system, UserPromptPart([prompt.text, *pictures] if pictures else prompt.text)])


def _parameters(prompt: Prompt, *, structured: bool) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if prompt.schema is None or not structured:
        return ModelRequestParameters()
    shape = OutputObjectDefinition(json_schema=prompt.schema, name="answers", strict=True)
    return ModelRequestParameters(output_mode="native", output_object=shape, allow_text_output=False)
