"""Notice the requests to models that are answered in this process, and those that fail, whoever makes them.

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
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from fairtrial.agents.outages import ReportedOutageError, find_outage, is_outage
from fairtrial.system.replaced_methods import replace_method, replacing
from fairtrial.text.display import describe_error, shorten

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
_NOTE = "_fairtrial_note"
"""The attribute of a watched method that holds what is called after each answered request."""
_INNER: ContextVar[list[str] | None] = ContextVar("_INNER", default=None)
"""The paths of the requests to models that the client sends by other clients, while it sends one."""
_FAILED: ContextVar[dict[str, Exception] | None] = ContextVar("_FAILED", default=None)
"""The requests to models that failed in this conversation, by URL."""


class ModelDownError(ReportedOutageError):
    """A model did not answer, as the client of HTTP saw it."""


@contextmanager
def failed_requests() -> Iterator[dict[str, Exception]]:
    """Yield the requests to models that fail in the block, by URL. One that is answered later takes its URL away.

    An agent may catch the error of its client, so that nobody else hears of it.
    """
    failed: dict[str, Exception] = {}
    with replacing():
        watch_requests(None)
        token = _FAILED.set(failed)
        try:
            yield failed
        finally:
            _FAILED.reset(token)


def watch_requests(note: Callable[[], None] | None) -> None:
    """Call `note` after each request to a model that is answered, in the context of the request.

    Watches the clients of the libraries that are loaded, each once. Our own clients, which ask the models of simulated
    environments, do not count. A client that sends by another one, as LiteLLM does by aiohttp, counts once.
    """
    for module, owner, method, is_async in _CLIENTS:
        kind = getattr(sys.modules.get(module), owner, None)
        if kind is not None:
            replace_method(kind, method, _watch_async if is_async else _watch)
            watched = vars(kind)[method]
            if note is not None and hasattr(watched, _NOTE):
                setattr(watched, _NOTE, note)


def _watch(original: Any) -> Any:
    @functools.wraps(original)
    def send(client: Any, *args: Any, **options: Any) -> Any:
        with _sending(client, args, options) as inner:
            response = original(client, *args, **options)
        _count(response, options, inner, None if _is_own(client) else getattr(send, _NOTE))
        return response

    setattr(send, _NOTE, None)
    return send


def _watch_async(original: Any) -> Any:
    @functools.wraps(original)
    async def send(client: Any, *args: Any, **options: Any) -> Any:
        with _sending(client, args, options) as inner:
            response = await original(client, *args, **options)
        _count(response, options, inner, None if _is_own(client) else getattr(send, _NOTE))
        return response

    setattr(send, _NOTE, None)
    return send


def _is_own(client: Any) -> bool:
    return type(getattr(client, "_transport", None)).__module__.startswith("fairtrial.")


@contextmanager
def _sending(client: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield a list that gets the paths of the requests to models in the block. Note one that gets no response."""
    outer, inner = _INNER.get(), list[str]()
    _INNER.set(inner)
    try:
        yield inner
    except Exception as error:
        request = args[0] if args and hasattr(args[0], "url") else _AiohttpRequest(*(*args, "", "")[:2])
        if not _is_own(client) and find_outage(error) is not None and _path_in(request, options):
            _note_failure(request.url, error)
        raise
    finally:
        _INNER.set(outer)


def _count(response: Any, options: Mapping[str, Any], inner: list[str], note: Callable[[], None] | None) -> None:
    request, status = _read_response(response)
    path, outer = _path_in(request, options), _INNER.get()
    failed = _FAILED.get()
    if path and failed is not None and status is not None:
        if is_outage(status):
            _note_failure(request.url, ModelDownError(f"HTTP {status}", status))
        else:
            failed.pop(_shorten_url(request.url), None)
    path = path if status == 200 else ""
    if path and outer is not None:
        outer.append(path)
    if path and path not in inner and note is not None:
        note()


class _AiohttpRequest(NamedTuple):
    """A request of aiohttp, whose client makes it itself."""

    method: str
    url: Any


def _read_response(response: Any) -> tuple[Any, int | None]:
    """Return the request of a response, and its status."""
    try:
        request = getattr(response, "request", response)
    except RuntimeError:  # a response that a test made has no request
        return None, None
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    return request, status if isinstance(status, int) else None


def _note_failure(url: Any, error: Exception) -> None:
    failed = _FAILED.get()
    if failed is not None:
        failed[_shorten_url(url)] = error


def _shorten_url(url: Any) -> str:
    """Return a URL without a password and without its query, which may hold a key."""
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def describe_failed(failed: Mapping[str, Exception]) -> str:
    """Return the first request to a model that failed in words."""
    url, error = next(iter(failed.items()))
    cause = str(error) if isinstance(error, ModelDownError) else shorten(describe_error(error), 200)
    return f"a request to the model at {url} failed ({cause})"


def _path_in(request: Any, options: Mapping[str, Any]) -> str:
    """Return the path of a request to a model, or an empty text for any other request."""
    try:
        path = unquote(urlsplit(str(request.url)).path)
    except (AttributeError, ValueError):
        return ""
    match = _MODEL.search(path)
    if match is None or getattr(request, "method", "POST") != "POST":
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
