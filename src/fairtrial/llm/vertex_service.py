"""Vertex AI's Gen AI evaluation service, called through Google's SDK. The SDK is loaded at the first call."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.llm.model import CallError, RefusedError, UnusableModelError
from fairtrial.llm.provider import CHECK_SECONDS
from fairtrial.llm.provider_refusals import OVERLOAD, TRANSIENT, retry_after
from fairtrial.llm.secrets import known_secrets, redact
from fairtrial.records.reply import Prompt, Reply

if TYPE_CHECKING:
    from fairtrial.records.record import Json

NAME = "vertex"
PROJECT, LOCATION, ENDPOINT = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL"
_MODULES = ("agentplatform", "pandas", "tqdm", "yaml")
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_COHERENCE = "coherence"
_PROBE: dict[str, Any] = {
    "exact_match_input": {"metric_spec": {}, "instances": [{"prediction": "a", "reference": "a"}]}
}


def installed() -> bool:
    """Return whether the extra `vertex` is installed."""
    return all(importlib.util.find_spec(module) is not None for module in _MODULES)


def configured() -> bool:
    """Return whether the environment names a project and a location. An API key names neither."""
    return bool(os.environ.get(PROJECT) and os.environ.get(LOCATION))


def vertex_prompt(metric: str, instance: dict[str, Json]) -> Prompt:
    """Return the prompt for a call that evaluates an instance by a metric. Both use SDK names."""
    text = json.dumps({"metric": metric, "instance": instance}, ensure_ascii=False, sort_keys=True)
    return Prompt(id=NAME, version=metric, text=text)


@dataclass
class Vertex:
    """The service. Enter it to hold its connections open, leave it to close them.

    `metrics` are the metrics that a run uses. A reply's text is one metric's result, as JSON. Credentials are
    Google's application default credentials.
    """

    project: str
    location: str
    metrics: set[str] = field(default_factory=set)
    endpoint: str | None = None
    _secrets: tuple[str, ...] = field(init=False, repr=False, default_factory=known_secrets)
    _coherence_metric: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._sdk_client: Any = None

    @classmethod
    def from_environment(cls) -> Self:
        """Return the service for the project and location in the environment. Raises `ConfigError` without them."""
        if not installed():
            raise ConfigError(lacks_extra("backend 'vertex'", "vertex"))
        missing = [name for name in (PROJECT, LOCATION) if not os.environ.get(name)]
        if missing:
            raise ConfigError(f"backend 'vertex' needs a project and a location; set {' and '.join(missing)}")
        return cls(os.environ[PROJECT], os.environ[LOCATION], endpoint=os.environ.get(ENDPOINT))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._sdk_client is not None:
            await self._sdk_client.aio.aclose()

    async def __call__(self, prompt: Prompt) -> Reply:
        """Call the service once. Raises `RefusedError` if the same call may succeed later, else `CallError`."""
        request = json.loads(prompt.text)
        try:
            client = await self._client()
            metric = await self._coherence(client) if request["metric"] == _COHERENCE else {"name": request["metric"]}
            call = {"metrics": [metric], "instance": _validate_instance(request["instance"])}
            response = await client.aio.evals.evaluate_instances(metric_config=call)
        except Exception as error:  # noqa: BLE001 - any exception of a connection or the SDK means that this call got no reply
            raise self._failure(error) from None
        results = [result.model_dump(mode="json", exclude_none=True) for result in response.metric_results or ()]
        text = json.dumps(results[0] if results else {}, ensure_ascii=False)
        return Reply(text=redact(text, self._secrets), model=f"{NAME}/{request['metric']}")

    async def check(self) -> None:
        """Check the credentials, project, location and permission, without any model call.

        Raises `UnusableModelError` if calls cannot succeed.
        """
        try:
            client = await self._client()  # a busy machine may import the SDK for longer than an answer takes
            async with asyncio.timeout(CHECK_SECONDS):
                if _COHERENCE in self.metrics:
                    await self._coherence(client)
                await client.aio.evals.evaluate_instances(metric_config=_PROBE)
        except TimeoutError:
            raise UnusableModelError(
                f"{self._where()}: no answer within {CHECK_SECONDS:g} s", code="no-answer"
            ) from None
        except Exception as error:  # noqa: BLE001 - three libraries with different errors are involved
            if getattr(error, "code", None) not in TRANSIENT:
                raise UnusableModelError(f"{self._where()}: {self._describe(error)}") from None

    async def _client(self) -> Any:
        if self._sdk_client is None:
            self._sdk_client = await asyncio.to_thread(self._open)
        return self._sdk_client

    def _open(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the SDK's own deprecations do not concern the user
            import agentplatform
            import google.auth

            credentials, _ = google.auth.default(scopes=[_SCOPE])
            client = agentplatform.Client(
                project=self.project,
                location=self.location,
                credentials=credentials,
                http_options={"base_url": self.endpoint} if self.endpoint else None,
            )
            _ = client.aio.evals
        return client

    async def _coherence(self, client: Any) -> Any:
        """Return the metric whose prompt is a file at the service. The SDK reads the file from Cloud Storage."""
        if self._coherence_metric is None:
            from agentplatform import types

            lazy = types.PrebuiltMetric.COHERENCE
            self._coherence_metric = await asyncio.to_thread(lazy.resolve, client._api_client)  # noqa: SLF001 - as the SDK does
        return self._coherence_metric

    def _failure(self, error: Exception) -> CallError:
        if isinstance(error, CallError):
            return error
        status = getattr(error, "code", None)
        if isinstance(status, int) and status not in TRANSIENT:
            return CallError(self._describe(error))
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        after = retry_after(headers, getattr(error, "details", None))
        return RefusedError(self._describe(error), overload=status in OVERLOAD, after=after)

    def _describe(self, error: Exception) -> str:
        status, message = getattr(error, "code", None), getattr(error, "message", None)
        description = f"HTTP {status}: {message}" if isinstance(status, int) else f"{type(error).__name__}: {error}"
        return redact(description[:500], self._secrets)

    def _where(self) -> str:
        return f"Vertex AI, project {self.project} in {self.location}"


def _validate_instance(instance: Json) -> Any:
    from agentplatform import types

    try:
        return types.EvaluationInstance.model_validate(instance)
    except ValueError as problem:
        raise CallError(f"the service refuses the instance: {str(problem)[:300]}") from None
