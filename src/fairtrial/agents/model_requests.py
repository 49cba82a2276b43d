"""Notice the requests to models that are answered in this process, whoever makes them.

An agent inside a tool reports its requests. A tool may also ask a model itself, as `AdvisorTools` of Agno does, which
no framework reports. The clients of HTTP are watched for it, and the paths of the providers' protocols.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import unquote, urlsplit

from fairtrial.system.replaced_methods import replace_method

_CLIENTS = (
    ("httpx", "Client", "send", False),
    ("httpx", "AsyncClient", "send", True),
    ("httpx2", "Client", "send", False),
    ("httpx2", "AsyncClient", "send", True),
    ("aiohttp", "ClientSession", "_request", True),
    ("requests", "Session", "send", False),
    ("botocore.httpsession", "URLLib3Session", "send", False),
)
"""Classes of clients by module, with the method that every request passes, and whether it is async."""
_MODEL = re.compile(
    r"/(completions|responses|v1/messages|api/(chat|generate))$"
    r"|(?P<named>/deployments/[^/]+/.*completions|/converse(-stream)?|/model/[^/]+/invoke[\w-]*"
    r"|:(generate|streamGenerate)Content)$"
)
"""The paths of the protocols of OpenAI, Anthropic, Ollama, Amazon and Google.

Other services have such paths, too. A path that has not `named` the model needs a body that does.
"""
_INNER: ContextVar[list[str] | None] = ContextVar("_INNER", default=None)
"""The paths of the requests to models that the client sends by other clients, while it sends one."""


def watch_requests(note: Callable[[], None]) -> None:
    """Call `note` after each request to a model that is answered, in the context of the request.

    Watches the clients of the libraries that are loaded, each once. Our own clients, which ask the models of simulated
    environments, do not count. A client that sends by another one, as LiteLLM does by aiohttp, counts once.
    """
    for module, owner, method, is_async in _CLIENTS:
        kind = getattr(sys.modules.get(module), owner, None)
        if kind is not None:
            replace_method(kind, method, functools.partial(_watch_async if is_async else _watch, note))


def _watch(note: Callable[[], None], original: Any) -> Any:
    @functools.wraps(original)
    def send(client: Any, *args: Any, **options: Any) -> Any:
        with _sending() as inner:
            response = original(client, *args, **options)
        _count(response, options, inner, None if _is_own(client) else note)
        return response

    return send


def _watch_async(note: Callable[[], None], original: Any) -> Any:
    @functools.wraps(original)
    async def send(client: Any, *args: Any, **options: Any) -> Any:
        with _sending() as inner:
            response = await original(client, *args, **options)
        _count(response, options, inner, None if _is_own(client) else note)
        return response

    return send


def _is_own(client: Any) -> bool:
    return type(getattr(client, "_transport", None)).__module__.startswith("fairtrial.")


@contextmanager
def _sending() -> Iterator[list[str]]:
    """Yield a list that gets the paths of the requests to models in the block."""
    outer, inner = _INNER.get(), list[str]()
    _INNER.set(inner)
    try:
        yield inner
    finally:
        _INNER.set(outer)


def _count(response: Any, options: Mapping[str, Any], inner: list[str], note: Callable[[], None] | None) -> None:
    path, outer = _path_of_model(response, options), _INNER.get()
    if path and outer is not None:
        outer.append(path)
    if path and path not in inner and note is not None:
        note()


def _path_of_model(response: Any, options: Mapping[str, Any]) -> str:
    """Return the path of a request to a model that was answered, or an empty text for any other request."""
    try:
        request = getattr(response, "request", response)
        status = getattr(response, "status_code", None) or getattr(response, "status", None)
        path = unquote(urlsplit(str(request.url)).path)
    except (AttributeError, RuntimeError, ValueError):  # a response that a test made has no request
        return ""
    match = _MODEL.search(path)
    if match is None or status != 200 or getattr(request, "method", "POST") != "POST":
        return ""
    return path if match["named"] or _may_name_model(request, options) else ""


def _may_name_model(request: Any, options: Mapping[str, Any]) -> bool:
    """Return whether the body of a request names a model, or cannot be read a second time."""
    try:
        bodies = (options.get("json"), options.get("data"), getattr(request, "content", getattr(request, "body", None)))
    except RuntimeError:  # httpx streams it
        return True
    body = next((body for body in bodies if isinstance(body, Mapping | str | bytes)), None)
    if body is None:
        return True
    return (b'"model"' if isinstance(body, bytes) else '"model"' if isinstance(body, str) else "model") in body
