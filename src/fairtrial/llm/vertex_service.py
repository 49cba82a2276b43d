"""How is Vertex AI's Gen AI evaluation service asked? Through Google's SDK, which is loaded when it is first used."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Self

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.llm.model import CallError, RefusedError, UnusableModelError
from fairtrial.llm.provider import CHECK_SECONDS, OVERLOAD, TRANSIENT, retry_after
from fairtrial.llm.secrets import known_secrets, redact
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply

NAME = "vertex"
PROJECT, LOCATION, ENDPOINT = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL"
_NEEDED = ("agentplatform", "pandas", "tqdm", "yaml")
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_COHERENCE = "coherence"
_PROBE: dict[str, Any] = {
    "exact_match_input": {"metric_spec": {}, "instances": [{"prediction": "a", "reference": "a"}]}
}


def installed() -> bool:
    """Whether the extra `vertex` is there."""
    return all(importlib.util.find_spec(module) is not None for module in _NEEDED)


def configured() -> bool:
    """Whether the environment says which project and location to use; a key says neither."""
    return bool(os.environ.get(PROJECT) and os.environ.get(LOCATION))


def vertex_prompt(metric: str, instance: dict[str, Json]) -> Prompt:
    """Return the call that has an instance evaluated by a metric of the service; both by the names of its SDK."""
    text = json.dumps({"metric": metric, "instance": instance}, ensure_ascii=False, sort_keys=True)
    return Prompt(id=NAME, version=metric, text=text)


@dataclass
class Vertex:
    """The service. Enter it to hold its connections open, leave it to close them.

    `metrics` are those that a run asks for. A reply's text is the service's result on one metric, as JSON. Credentials
    are Google's application default credentials.
    """

    project: str
    location: str
    metrics: set[str] = field(default_factory=set)
    endpoint: str | None = None
    _secrets: tuple[str, ...] = field(init=False, repr=False, default_factory=known_secrets)
    _prompted: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._opened: Any = None

    @classmethod
    def from_environment(cls) -> Self:
        """Return the service of the environment's project and location; `ConfigError` for what is missing."""
        if not installed():
            raise ConfigError(lacks_extra("backend 'vertex'", "vertex"))
        missing = [name for name in (PROJECT, LOCATION) if not os.environ.get(name)]
        if missing:
            raise ConfigError(f"backend 'vertex' needs a project and a location; set {' and '.join(missing)}")
        return cls(os.environ[PROJECT], os.environ[LOCATION], endpoint=os.environ.get(ENDPOINT))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.aio.aclose()

    async def __call__(self, prompt: Prompt) -> Reply:
        """Ask once; `RefusedError` where the same call may succeed later, `CallError` where it will not."""
        asked = json.loads(prompt.text)
        try:
            client = await self._client()
            metric = await self._coherence(client) if asked["metric"] == _COHERENCE else {"name": asked["metric"]}
            call = {"metrics": [metric], "instance": _checked(asked["instance"])}
            said = await client.aio.evals.evaluate_instances(metric_config=call)
        except Exception as error:  # noqa: BLE001 - whatever a connection or the SDK raises, this call got no reply
            raise self._failure(error) from None
        results = [one.model_dump(mode="json", exclude_none=True) for one in said.metric_results or ()]
        text = json.dumps(results[0] if results else {}, ensure_ascii=False)
        return Reply(text=redact(text, self._secrets), model=f"{NAME}/{asked['metric']}")

    async def check(self) -> None:
        """Find out, without asking a model, whether calls can succeed: credentials, project, location, permission.

        Raises `UnusableModelError` where they cannot.
        """
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                client = await self._client()
                if _COHERENCE in self.metrics:
                    await self._coherence(client)
                await client.aio.evals.evaluate_instances(metric_config=_PROBE)
        except TimeoutError:
            raise UnusableModelError(f"{self._where()}: no answer within {CHECK_SECONDS:g} s") from None
        except Exception as error:  # noqa: BLE001 - three libraries, three trees of errors
            if getattr(error, "code", None) not in TRANSIENT:
                raise UnusableModelError(f"{self._where()}: {self._said(error)}") from None

    async def _client(self) -> Any:
        if self._opened is None:
            self._opened = await asyncio.to_thread(self._open)
        return self._opened

    def _open(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the SDK's own deprecations, which concern nobody here
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
        """The one metric that the service keeps as a file with its prompt; the SDK reads it from Cloud Storage."""
        if self._prompted is None:
            from agentplatform import types

            lazy = types.PrebuiltMetric.COHERENCE
            self._prompted = await asyncio.to_thread(lazy.resolve, client._api_client)  # noqa: SLF001 - as the SDK does
        return self._prompted

    def _failure(self, error: Exception) -> CallError:
        if isinstance(error, CallError):
            return error
        status = getattr(error, "code", None)
        if isinstance(status, int) and status not in TRANSIENT:
            return CallError(self._said(error))
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        after = retry_after(headers, getattr(error, "details", None))
        return RefusedError(self._said(error), overload=status in OVERLOAD, after=after)

    def _said(self, error: Exception) -> str:
        status, message = getattr(error, "code", None), getattr(error, "message", None)
        what = f"HTTP {status}: {message}" if isinstance(status, int) else f"{type(error).__name__}: {error}"
        return redact(what[:500], self._secrets)

    def _where(self) -> str:
        return f"Vertex AI, project {self.project} in {self.location}"


def _checked(instance: Json) -> Any:
    from agentplatform import types

    try:
        return types.EvaluationInstance.model_validate(instance)
    except ValueError as problem:
        raise CallError(f"the service does not take it: {str(problem)[:300]}") from None
